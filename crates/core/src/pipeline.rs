//! The step pipeline: how a story gets from its first scenario to a commit.
//!
//! [`advance()`] is the whole of it: rules, where a story stands and what happened go in, a decision
//! comes out. Files, clocks and processes are not known here; [`judge()`] turns what an executor
//! claims and what was measured into one report, and [`prompt`] fills a template.

pub mod reason;
pub mod status;
pub mod step;
pub mod story;

pub mod rules;
pub mod state;

pub mod position;

pub mod advance;
pub mod claim;
pub mod decision;
pub mod input;
pub mod judge;
pub mod prompt;

pub use advance::advance;
pub use claim::Claim;
pub use decision::{Decision, Refusal, Said};
pub use input::{Input, Report, Verdict};
pub use judge::{Judged, judge};
pub use position::Position;
pub use reason::Reason;
pub use rules::{Rule, Rules};
pub use state::{Hold, Note, State, Tests};
pub use status::Status;
pub use step::Step;
pub use story::StoryId;
