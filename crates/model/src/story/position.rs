//! The position of a story, as stored in its task.
//!
//! The project's files own the state of a story. The task keeps a copy, so that the board, the
//! scheduler and the inbox need not read those files.

use serde::{Deserialize, Deserializer, Serialize};

use super::{Step, StepFailReason, StepStatus, StoryHold, StoryId};
use crate::encoding::lenient;
use crate::node_id::NodeId;

/// The position of a story in the pipeline: the content of `metadata.story` of its task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StoryPosition {
    /// The name of the story.
    #[serde(rename = "id")]
    pub story: StoryId,
    pub step: Step,
    /// How often the step was tried in a row, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub attempt: u32,
    /// How often the step may be tried in a row.
    #[serde(default = "one", deserialize_with = "attempts_max")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub max_attempts: u32,
    pub status: StepStatus,
    /// Whether the scheduler assigns its steps to agents.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub auto: bool,
    /// Whether its file asks for that, and the operator has not accepted what would be run.
    #[serde(
        default,
        skip_serializing_if = "std::ops::Not::not",
        deserialize_with = "lenient::or_default"
    )]
    pub unaccepted: bool,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::deserialize"
    )]
    pub reason: Option<StepFailReason>,
    /// Why the story waits for a person.
    #[serde(
        rename = "waitingFor",
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::deserialize"
    )]
    pub hold: Option<StoryHold>,
    /// The unfinished stories it depends on.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient::list")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub waits_for: Vec<StoryId>,
    /// The fence of the run that does the current step; absent if Adjutant did not start it.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::deserialize"
    )]
    pub fence: Option<u64>,
    /// The last error, in words.
    #[serde(
        rename = "lastError",
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::deserialize"
    )]
    pub error: Option<Box<str>>,
    /// What the executor of the last step said, in short.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::deserialize"
    )]
    pub said: Option<Box<str>>,
    /// The node of a fleet that has its files; absent on one machine.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::deserialize"
    )]
    pub node: Option<NodeId>,
}

const fn one() -> u32 {
    1
}

fn attempts_max<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    lenient::deserialize(deserializer).map(|attempts| attempts.unwrap_or(1))
}

impl StoryPosition {
    /// Returns whether the current step can be assigned to an agent.
    pub fn is_runnable(&self) -> bool {
        self.auto
            && self.status == StepStatus::Pending
            && self.waits_for.is_empty()
            && self.step != Step::Done
    }

    /// Returns whether the story waits for a person.
    pub fn needs_human(&self) -> bool {
        matches!(self.status, StepStatus::NeedsHuman | StepStatus::Timeout)
            && self.step != Step::Done
    }

    /// Returns the status of the current step as a sentence.
    pub fn in_words(&self) -> String {
        let text = |text: &Option<Box<str>>| {
            text.as_ref().map_or_else(String::new, |text| format!(": {text}"))
        };
        let (error, step) = (text(&self.error), self.step);
        let reason = || self.reason.map_or_else(String::new, |reason| format!(" ({reason})"));
        match self.status {
            _ if self.step == Step::Done => "the story is done".to_owned(),
            StepStatus::NeedsHuman => {
                let hold = self.hold.unwrap_or(StoryHold::Asked);
                // A review is about the work of earlier steps, not about what one executor said.
                let said = match hold {
                    StoryHold::Review => String::new(),
                    StoryHold::Stuck
                    | StoryHold::Limit
                    | StoryHold::Asked
                    | StoryHold::NoVerdict => text(&self.said),
                };
                format!("{step} {}{}{error}{said}", hold.meaning(), reason())
            }
            StepStatus::Timeout => format!("{step} timed out{error}"),
            StepStatus::Running => {
                format!("{step}, attempt {} of {}", self.attempt, self.max_attempts)
            }
            StepStatus::Pending => format!("{step} is next"),
            StepStatus::Pass => format!("{step} passed"),
            StepStatus::Failing => {
                format!("{step} failed{}{error}{}", reason(), text(&self.said))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn story_position_survives_badly_typed_fields() {
        for field in [r#""auto":"no""#, r#""waitsFor":null"#, r#""waitsFor":"US-004""#] {
            let text = format!(
                r#"{{"id":"US-005","step":"impl","attempt":1,"status":"pending",{field}}}"#
            );
            let position: StoryPosition = serde_json::from_str(&text).expect("it is a position");
            assert!(!position.auto && position.waits_for.is_empty(), "{text}");
            assert_eq!(position.max_attempts, 1);
        }
    }
}
