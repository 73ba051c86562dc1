//! The daemon's socket in the data folder, through which commands send requests
//! to a running daemon.
//!
//! One request per line and one answer per line, in JSON. A command that finds no daemon opens the
//! folder itself; its request takes the same path through the engine either way.

#[cfg(test)]
mod tests;

mod client;
pub mod reply;
mod server;
mod socket;

pub use client::{IpcClient, IpcError};
pub use server::IpcServer;

/// The path of the socket in the data folder.
pub const DAEMON_SOCKET: &str = "journal/door";

/// The longest line either side reads: a message of the largest size, with every byte escaped.
const LINE_BYTES_MAX: u64 = 8 << 20;
