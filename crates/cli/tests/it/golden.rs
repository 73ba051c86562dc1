//! Golden files of everything that users and programs see of the binary, checked in under `golden/`.
//!
//! `cargo xtask golden` renews them. A new command, schema, route, page or reason without a golden
//! file fails a test here.

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
