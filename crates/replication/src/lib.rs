//! A store that is replicated over the nodes of a fleet, and NATS `JetStream` as its commit log.
//!
//! [`replicated_store`] is a folder that follows a commit log; it knows no server. [`nats`] is the
//! commit log on NATS, and what else nodes say to each other.

pub mod nats;
pub mod replicated_store;

pub use replicated_store::{CommitLog, ReplicatedStore};
