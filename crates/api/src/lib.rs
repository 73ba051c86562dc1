//! Ways in for programs: what they can ask for, turned into requests, and the answers they get.
//!
//! Nothing here decides: every rule is in the core, and every request takes the one road.

pub mod board;
pub mod http;
pub mod mcp;
pub mod office;
