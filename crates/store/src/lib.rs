//! Storage of the event log and of the documents: the [`Store`] trait and its implementations.
//!
//! A store makes no decisions: it makes a batch durable, all or nothing, and reads it back.
//! [`MemoryStore`] is for tests and simulations, [`FileStore`] is a folder that people read and
//! edit. [`FleetStore`] is what the store of a fleet node does besides. [`plan`] defines for every store what a commit does to the documents.

#[cfg(not(unix))]
compile_error!("Adjutant runs on Linux and macOS; on Windows, build it inside WSL");

pub mod archive_summary;
pub mod batch;
pub mod document_paths;
pub mod event_log;
pub mod format;
pub mod frontmatter;
pub mod hash;
pub mod plan;
pub mod replicated_file;
mod run_documents;
pub mod store;
pub mod taskfile;
pub mod yaml;

pub mod file;
pub mod fleet_network;
pub mod fleet_store;
pub mod memory;

mod error_chain;
mod monotonic_clock;
mod par_map_cpu;

#[cfg(test)]
mod tests;

pub use batch::{CommitBatch, EffectId, PendingEffect, StoreVersion};
pub use error_chain::format_error_chain;
pub use file::FileStore;
pub use fleet_network::{FleetNetwork, LeadershipLease};
pub use fleet_store::FleetStore;
pub use memory::MemoryStore;
pub use monotonic_clock::monotonic_now;
pub use par_map_cpu::par_map_cpu;
pub use store::{EditScope, FileAvailability, LoadedStore, Store, StoreError, StoreUpdate};
