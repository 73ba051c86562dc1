//! The step pipeline: moves a story from its first scenario to a commit.
//!
//! [`advance_story()`] is the whole state machine: it takes the rules, the story's state and
//! an input, and returns a decision. It does not know files, clocks or processes.
//! [`judge_step()`] turns an executor's claim and the measured results into one report, and
//! [`prompt`] fills a prompt template.

pub mod rules;
pub mod state;

pub mod advance;
pub mod claim;
pub mod decision;
pub mod input;
pub mod judge;
pub mod message;
pub mod prompt;

pub use advance::{advance_story, report_refusal};
pub use claim::ExecutorClaim;
pub use decision::{AdvanceResult, StoryDecision, StoryRefusal};
pub use input::{MeasuredTests, StepReport, StepVerdict, StoryInput};
pub use judge::{StepJudgement, judge_step};
pub use message::ExecutorMessage;
pub use rules::{StepRule, StepRuleTable};
pub use state::{HumanNote, StoryState, TestTotals};

use adjutant_model::story::{Step, StepFailReason, StepStatus, StoryHold, StoryId, StoryPosition};
