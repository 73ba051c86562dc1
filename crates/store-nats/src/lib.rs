//! The fleet store: a folder on every node, and streams of NATS to order and carry what is
//! committed to them.
//!
//! [`Fleet`] is a connection that was checked; [`Commits`] is the stream of commits, one message
//! each, whose sequence is the version; [`NatsStore`] is a node's folder that follows it. Nothing
//! here decides anything, and nothing here replicates: the engine does.

mod ask;
mod check;
mod commits;
mod error;
mod fleet;
mod keys;
mod lease;
mod logs;
mod net;
mod objects;
mod options;
mod patience;
mod roster;
mod shape;
mod snapshot;
mod verify;

pub use commits::Commits;
pub use error::FleetError;
pub use fleet::Fleet;
pub use lease::{Lease, Term};
pub use logs::RunLog;

pub use options::{BadOptions, Durability, Options, Tls};

use adjutant_store::Mirror;

/// A node's folder, kept in step with all others by the stream of commits.
pub type NatsStore = Mirror<Commits>;
