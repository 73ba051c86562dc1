//! The fleet store: every node has a folder, and NATS `JetStream` orders commits and delivers
//! them to all folders.
//!
//! [`FleetConnection`] is a checked connection; [`CommitStream`] is the stream of commits, one
//! message each, whose sequence number is the version; [`NatsStore`] is a node's folder that
//! follows the stream. This crate makes no decisions: the engine does.

mod accepted_keys;
mod agreements;
mod commits;
mod error;
mod fleet;
mod join_archive;
mod leader_lease;
mod net;
mod node_key;
mod node_signer;
mod objects;
mod options;
mod refused_messages;
mod replay_guard;
mod request_reply;
mod retry;
mod roster;
mod run_logs;
mod server_check;
mod shared_secret;
mod signing;
mod stream_settings;
mod verify;

pub use accepted_keys::AcceptedKeys;
pub use commits::CommitStream;
pub use error::FleetError;
pub use fleet::FleetConnection;
pub use leader_lease::{LeaderLease, LeaderTerm};
pub use node_key::{BadKey, NodeKey, PublicNodeKey};
pub use node_signer::NodeSigner;
pub use run_logs::RunLog;

pub use options::{DurabilityLevel, FleetOptions, LoginSeed, OptionsError, TlsFiles};

use crate::replicated_store::ReplicatedStore;

/// A node's folder that follows the stream of commits.
pub type NatsStore = ReplicatedStore<CommitStream>;
