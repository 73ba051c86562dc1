//! What is to be done next: who gets which task, and what holds the others back.
//!
//! All of it is read from the world and what came in with the input. The queue is kept by the world
//! as tasks change, so that a plan costs what is to be done and not what there is.

mod action;
mod backoff;
mod dependency;
mod inbox;
mod judge;
mod lanes;
mod nodes;
mod plan;
mod purse;
mod queue;
mod slots;
mod why;

pub use action::{Action, Recovery};
pub use inbox::{Item, Kind, inbox, salvage};
pub use nodes::{Heard, RunKey, Start, doer, has_runs, is_seen_to_end, own_runs, run_of, runs_on};
pub use plan::{is_idle, next_time, plan, to_look_at, waiting};
pub use purse::{Closed, allowance, closed, overdrawn, spent_on};
pub use why::{Hold, why};

pub(crate) use backoff::not_before;
pub(crate) use dependency::waits_for_itself;
pub(crate) use judge::{is_due, recovery};
pub(crate) use plan::next_for;
pub(crate) use purse::{closed_on, parked_with};
pub(crate) use queue::Queue;
