//! Where the record is kept.
//!
//! A store holds no rule: it makes what was decided durable, all of it or nothing, and gives it
//! back. [`MemoryStore`] is for tests and simulations, [`FileStore`] is a folder that people read
//! and edit. What a commit does to the documents is written once, in [`plan`], for every store.

#[cfg(not(unix))]
compile_error!("Adjutant runs on Linux and macOS; on Windows, build it inside WSL");

pub mod batch;
pub mod document;
pub mod format;
pub mod frontmatter;
pub mod hash;
pub mod plan;
pub mod record;
pub mod store;
pub mod taskfile;
pub mod wire;
pub mod yaml;

pub mod conformance;
pub mod file;
pub mod memory;
pub mod mirror;
pub mod net;

pub mod story;

mod side_by_side;
mod steady;

#[cfg(test)]
mod golden_tests;

pub use batch::{Batch, EffectId, Owed, Version};
pub use file::FileStore;
pub use memory::MemoryStore;
pub use mirror::{Mirror, Sequence};
pub use net::{Lead, Net};
pub use side_by_side::side_by_side;
pub use steady::steady;
pub use store::{Caught, Company, Loaded, Presence, Scope, Store, StoreError};
