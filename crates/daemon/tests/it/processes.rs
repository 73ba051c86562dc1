//! Agents as real processes, well-behaved and otherwise: each ends as it should and leaves no
//! process.
//!
//! No test asserts how long something takes; every wait has a long timeout.

#![cfg(target_os = "linux")]

pub(crate) mod support;

mod ends;
mod full_disk;
mod heartbeat;
mod killed;
mod limits;
mod messages;
mod misbehaving;
mod orders;
mod output;
mod reports;
