//! Agents as real processes, well-behaved and otherwise: each ends as it should, and nothing of it
//! is left.
//!
//! Nothing here asserts how long something takes; what is waited for is waited for patiently.

#![cfg(target_os = "linux")]

mod support;

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
