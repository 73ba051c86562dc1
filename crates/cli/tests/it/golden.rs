//! Compares everything that users and programs see of the binary with files under `golden/`.
//!
//! `cargo xtask golden` updates the files. A new command, schema, route, page or refusal reason
//! without a golden file fails a test here.

mod commands;
mod mask;
mod mcp_session;
mod project;
mod server;
mod transcript;

mod board;
mod cases;
mod help;
mod http;
mod markup;
mod mcp;
mod output;
mod refusals;
mod schema;
