//! Where a story stands, as its task keeps it.
//!
//! The state of a story belongs to its project's files. What a task has of it is a copy, so that
//! the board, the scheduler and the inbox need to read no other file.

use serde_json::{Map, Value};

use super::{Hold, Reason, State, Status, Step, StoryId};
use crate::node::NodeId;

/// Where a story stands: what `metadata.story` of its task says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The story.
    pub story: StoryId,
    /// The present step.
    pub step: Step,
    /// Which try of it in a row this is.
    pub attempt: u32,
    /// How many there may be.
    pub max_attempts: u32,
    /// How the step stands.
    pub status: Status,
    /// Why it failed.
    pub reason: Option<Reason>,
    /// Why a person is waited for.
    pub hold: Option<Hold>,
    /// Whether its steps are given out to agents.
    pub auto: bool,
    /// The stories it waits for that are not done.
    pub waits_for: Vec<StoryId>,
    /// The fence of the run that does the present step, if it is one of ours.
    pub fence: Option<u64>,
    /// What went wrong last, in words.
    pub error: Option<Box<str>>,
    /// The node of a fleet that has its files; none on one machine.
    pub node: Option<NodeId>,
}

impl Position {
    /// Says whether the present step can be given to an agent.
    pub fn is_runnable(&self) -> bool {
        self.auto
            && self.status == Status::Pending
            && self.waits_for.is_empty()
            && self.step != Step::Done
    }

    /// Says whether a person is waited for.
    pub fn waits(&self) -> bool {
        matches!(self.status, Status::NeedsHuman | Status::Timeout) && self.step != Step::Done
    }

    /// Says in words how the present step stands.
    pub fn in_words(&self) -> String {
        let error = self.error.as_ref().map_or_else(String::new, |error| format!(": {error}"));
        let step = self.step;
        match self.status {
            _ if self.step == Step::Done => "the story is done".to_owned(),
            Status::NeedsHuman => {
                let hold = self.hold.unwrap_or(Hold::Asked);
                format!("{step} {}{error}", hold.meaning())
            }
            Status::Timeout => format!("{step} took too long{error}"),
            Status::Running => format!("{step}, attempt {} of {}", self.attempt, self.max_attempts),
            Status::Pending => format!("{step} is next"),
            Status::Pass => format!("{step} passed"),
            Status::Failing => {
                let reason = self.reason.map_or_else(String::new, |reason| format!(" ({reason})"));
                format!("{step} failed{reason}{error}")
            }
        }
    }

    /// Returns the state of the story, as far as this tells it.
    pub fn state(&self, project: &str) -> State {
        let mut state = State::begin(project, Some(self.story.clone()), self.step);
        state.attempt = self.attempt;
        state.status = self.status;
        state.reason = self.reason;
        state.hold = self.hold;
        state.last_error = self.error.as_deref().map(str::to_owned);
        state
    }

    /// Reads what the metadata of a task says; none if it makes no sense.
    pub fn read(value: &Value) -> Option<Self> {
        let object = value.as_object()?;
        let text = |key: &str| object.get(key).and_then(Value::as_str);
        let number = |key: &str| object.get(key).and_then(Value::as_u64);
        let small = |key: &str| number(key).and_then(|number| u32::try_from(number).ok());
        let stories = object.get("waitsFor").and_then(Value::as_array).into_iter().flatten();
        let stories =
            stories.filter_map(Value::as_str).filter_map(|text| StoryId::parse(text).ok());
        Some(Self {
            story: StoryId::parse(text("id")?).ok()?,
            step: Step::parse(text("step")?)?,
            attempt: small("attempt")?,
            max_attempts: small("maxAttempts").unwrap_or(1),
            status: Status::parse(text("status")?)?,
            reason: text("reason").and_then(Reason::parse),
            hold: text("waitingFor").and_then(Hold::parse),
            auto: object.get("auto").and_then(Value::as_bool).unwrap_or(false),
            waits_for: stories.collect(),
            fence: number("fence"),
            error: text("lastError").map(Into::into),
            node: text("node").and_then(|name| NodeId::parse(name).ok()),
        })
    }

    /// Returns what the metadata of a task says. What there is none of is left out.
    pub fn object(&self) -> Map<String, Value> {
        let mut object = Map::new();
        let mut put = |key: &str, value: Value| drop(object.insert(key.to_owned(), value));
        put("id", self.story.as_str().into());
        put("step", self.step.as_str().into());
        put("attempt", self.attempt.into());
        put("maxAttempts", self.max_attempts.into());
        put("status", self.status.as_str().into());
        put("auto", self.auto.into());
        if let Some(reason) = self.reason {
            put("reason", reason.as_str().into());
        }
        if let Some(hold) = self.hold {
            put("waitingFor", hold.as_str().into());
        }
        if !self.waits_for.is_empty() {
            put("waitsFor", self.waits_for.iter().map(StoryId::as_str).collect());
        }
        if let Some(fence) = self.fence {
            put("fence", fence.into());
        }
        if let Some(error) = &self.error {
            put("lastError", (&**error).into());
        }
        if let Some(node) = &self.node {
            put("node", node.as_str().into());
        }
        object
    }
}
