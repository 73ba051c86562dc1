//! The daemon's socket in the data folder, through which commands send requests
//! to a running daemon.
//!
//! One request per line and one answer per line, in JSON. A command that finds no daemon opens the
//! folder itself; its request takes the same path through the engine either way.

#[cfg(test)]
mod tests;

mod client;
mod client_registry;
mod refusal_log;
mod server;

pub use client::{IpcClient, IpcError, SilentProcess};
pub use server::IpcServer;

pub use adjutant_run_files::socket_protocol::DAEMON_SOCKET;
