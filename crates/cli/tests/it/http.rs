//! The daemon's HTTP server, called as any client could call it.

mod attacks;
mod board;
mod calls;
mod consent;
mod idempotency_keys;
mod large_project;
mod listening;
mod malicious_agent;
mod mcp;
pub(crate) mod project;
mod runs;
mod secrets;
mod sessions;
mod stories;
mod streams;
