//! A project's `.ai` folder: the files by which a story is driven, read and written as others
//! expect them.
//!
//! No rule is here: where a story goes is decided in the core. What is read is checked, what is
//! not known is kept, and nothing is written but whole files, under a lock between processes.

pub mod paper;
pub mod rules;
pub mod state;

pub mod folder;
pub mod history;

pub use folder::{Folder, FolderError, Lock, Slot};
pub use state::StateFile;
