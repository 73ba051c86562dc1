//! The rules for tasks, runs and stories, as pure decisions without IO.
//!
//! There is one path: an [`Input`] and the [`World`] go into [`decide()`], and events and
//! effects come out. Only [`World::apply`] changes the world. This crate reads no clock,
//! opens no file, starts no process and knows no store: the facts that a decision needs
//! from outside are part of its input.

pub mod resume;

pub mod input;
pub mod network;
pub mod notify;
pub mod permission;
pub mod protected_paths;
pub mod refusal_tally;
pub mod statistics;
pub mod world;

pub mod decide;
pub mod decision;
pub mod invariants;
pub mod schedule;

pub mod protocols;
pub mod story;

pub use decide::decide;
pub use decision::Decision;
pub use input::Input;
pub use world::World;
