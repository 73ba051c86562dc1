//! The engine: everything that happens takes one road through it.
//!
//! It turns requests into inputs, asks the core what they do, commits that to a store and answers.
//! It holds no rule: what a message does is decided in the core, what a commit does to files in
//! the store.

#[cfg(not(unix))]
compile_error!(
    "Adjutant supervises processes as Linux and macOS have them; on Windows, build it inside WSL"
);

pub mod config;

pub mod agent;
pub mod dialect;
pub mod document;
pub mod order;
pub mod papers;
pub mod process;
pub mod sandbox;
pub mod script;
pub mod shim;
pub mod supervisor;
pub mod token;
pub mod workspace;
pub mod worktree;

pub mod story;
pub mod testrun;

pub mod clock;
pub mod crew;
pub mod daemon;
pub mod door;
pub mod engine;
pub mod eyes;
pub mod facts;
pub mod fleet;
mod floods;
pub mod http_post;
mod mirror;
pub mod notifier;
mod refusals;
pub mod remote;
pub mod secretive;
pub mod service;
mod side_by_side;
pub mod telemetry;
pub mod tick;
mod whole_file;

#[cfg(test)]
mod golden_tests;

pub use clock::{Clock, FixedClock, SystemClock};
pub use engine::{Answered, Engine, Request};
pub use mirror::Mirror;
pub use service::{Asked, Client, Pulse, Service, Unanswered};
pub use tick::{Lives, NobodyKnows, Ticked};
