//! The HTTP server of a daemon, called as anybody could call it.

mod attacks;
mod board;
mod calls;
mod keys;
mod large;
mod listening;
mod malice;
mod mcp;
mod runs;
pub(crate) mod stage;
mod stories;
mod streams;
