//! Tests of the `adjutant` binary, started as a user starts it.
//!
//! One binary, because linking is most of the build. A module is a part that `cargo xtask test PART` can
//! run alone.

mod adapters;
mod commands;
mod docs;
mod fleet;
mod formats;
mod golden;
mod http;
mod schema;
mod story;
mod up;
