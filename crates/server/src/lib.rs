//! The server for programs and people: MCP, the HTTP API and the board.
//!
//! It contains no rules: every rule is in the core, and every change goes through the engine.

pub mod board;
pub mod http;
pub mod mcp;
pub mod project_access;
mod story_operation;
