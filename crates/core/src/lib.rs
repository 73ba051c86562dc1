//! What may happen to a task, decided without touching the world outside.
//!
//! The one road: an [`Input`] and the [`World`] go into [`decide()`], events and effects come out;
//! [`World::apply`] is the only thing that changes the world. This crate reads no clock, opens no
//! file, starts nothing and knows no store: what a decision needs from outside comes in with the
//! input.

pub mod id;
pub mod name;
pub mod node;
pub mod path;
pub mod priority;
pub mod status;
pub mod time;

pub mod account;
pub mod completion;
pub mod evidence;
pub mod handoff;
pub mod permit;
pub mod resume;
pub mod run;
pub mod span;
pub mod task;
pub mod trials;
pub mod work;
pub mod worklog;

mod fields;

pub mod constraints;
pub mod delegation;
pub mod dialect;
pub mod foreign;
pub mod mission;
pub mod order;

pub mod aof;

pub mod answer;
pub mod command;
pub mod effect;
pub mod event;
pub mod figures;
pub mod input;
pub mod notice;
pub mod policy;
pub mod world;

pub mod decide;
pub mod invariants;
pub mod schedule;

pub mod pipeline;

pub use answer::{Answer, Problem, Reason, Verdict};
pub use command::Command;
pub use decide::{Decision, decide};
pub use effect::Effect;
pub use event::{Event, EventId, Recorded};
pub use id::TaskId;
pub use input::Input;
pub use name::{Actor, AgentId};
pub use node::NodeId;
pub use policy::Policy;
pub use priority::Priority;
pub use status::Status;
pub use task::Task;
pub use time::{Stamp, Time};
pub use world::World;
