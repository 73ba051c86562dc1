//! Tests of the `adjutant` binary, started as a user starts it.
//!
//! There is one test binary, because linking is most of the build. `cargo xtask test PART` runs one
//! of its modules.

mod adapters;
mod commands;
mod docs;
mod fleet;
mod formats;
mod golden;
mod http;
mod plain_words;
mod schema;
mod story;
mod up;
