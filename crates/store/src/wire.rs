//! Disk and wire forms of the core's types: fields as the AOF family writes them.

mod account;
mod effect;
mod metadata;
pub(crate) mod permit;
mod run;
mod task;
pub mod work;

pub(crate) use account::{
    AllParkedWire, ParkedWire, SessionWire, SpentWire, UsageWire, dollars, millionths,
};
pub use effect::OwedWire;
pub use run::{HandoffWire, HeartbeatWire, RunResultWire, RunWire, mark_failed};
pub use task::TaskWire;

/// What is said of a text that somebody changed into something we cannot read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadWire(pub String);

impl std::fmt::Display for BadWire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadWire {}

/// Names the field that could not be read.
fn bad(field: &'static str) -> impl Fn() -> BadWire {
    move || BadWire(format!("{field} cannot be read"))
}
