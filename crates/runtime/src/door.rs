//! The door of a running daemon: a socket in the data folder, through which commands hand over
//! what they were asked to do.
//!
//! One request a line, one answer a line, in JSON. A command that finds no door opens the folder
//! itself; what it asks takes the same road either way.

mod command;
mod guest;
mod porter;
mod socket;
mod visitor;
pub(crate) mod wire;

pub use guest::{Guest, NoAnswer};
pub use porter::Porter;

/// The name of the socket in the data folder.
pub const DOOR: &str = "journal/door";

/// The longest line either side reads: a message of the largest size, with every byte escaped.
const LINE_BYTES_MAX: u64 = 8 << 20;
