//! The answer to a story command: where the story stands, what comes next, and what to do now.

use adjutant_core::story::{
    AdvanceResult, ExecutorMessage, StepRuleTable, StoryRefusal, StoryState,
};
use adjutant_model::story::{Step, StepFailReason, StepStatus, StoryHold, StoryId};
use serde_json::{Value, json};

/// What a command did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoryCommandResult {
    /// The answer of the state machine.
    Advance(AdvanceResult),
    /// The command changed nothing; it shows the status of the current step.
    Status(StepStatus),
    /// The hand-overs are about another attempt, so the step still runs.
    StaleHandOver,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoryCommandAnswer {
    pub state: StoryState,
    pub result: StoryCommandResult,
    /// The prompt, if an executor must be started.
    pub prompt: Option<String>,
    pub warnings: Vec<String>,
    pub max_attempts: u32,
    pub next_step: Option<Step>,
    /// Why the story waits for a person.
    pub hold: Option<StoryHold>,
    /// Whether agents do the story's steps.
    pub auto: bool,
}

impl StoryCommandResult {
    /// Returns the result of a command that only shows a story.
    pub fn of_status(state: &StoryState) -> Self {
        if state.is_done() {
            return Self::Advance(AdvanceResult::Done);
        }
        Self::Status(state.status)
    }

    /// Returns the stable word for scripts.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Advance(result) => result.as_str(),
            Self::Status(status) => status.as_str(),
            Self::StaleHandOver => "stale",
        }
    }
}

impl From<AdvanceResult> for StoryCommandResult {
    fn from(result: AdvanceResult) -> Self {
        Self::Advance(result)
    }
}

impl StoryCommandAnswer {
    pub fn new(
        rules: &StepRuleTable,
        state: StoryState,
        result: impl Into<StoryCommandResult>,
    ) -> Self {
        let waits = matches!(state.status, StepStatus::NeedsHuman) && !state.is_done();
        Self {
            result: result.into(),
            prompt: None,
            warnings: vec![],
            max_attempts: rules.get(state.step).map_or(1, |rule| rule.max_attempts),
            next_step: state.next_step(rules),
            hold: waits.then(|| state.hold(rules)),
            auto: false,
            state,
        }
    }

    pub fn refusal(&self) -> Option<StoryRefusal> {
        match self.result {
            StoryCommandResult::Advance(AdvanceResult::Refused(refusal)) => Some(refusal),
            _ => None,
        }
    }

    /// Returns the unfinished stories that the story waits for.
    fn blocked_by(&self) -> &[StoryId] {
        match &self.result {
            StoryCommandResult::Advance(AdvanceResult::Blocked(stories)) => stories,
            _ => &[],
        }
    }

    /// Returns what the caller should do or say now.
    pub fn caller_instruction(&self) -> String {
        let story = self.state.story.as_ref().map_or("the project", |story| story.as_str());
        let step = self.state.step;
        if self.state.is_without_story() {
            return "The project is set up. Call `adjutant story start ID` to start a story."
                .to_owned();
        }
        if self.result == StoryCommandResult::Advance(AdvanceResult::Dispatched) {
            return format!(
                "Start an executor for {story} with the prompt. The step {step} is not done yet: \
                 do not report it as done. When the executor has ended, call `adjutant story \
                 hook`."
            );
        }
        if !self.blocked_by().is_empty() {
            let names: Vec<&str> = self.blocked_by().iter().map(StoryId::as_str).collect();
            return format!("Wait: {story} continues when {} is done.", names.join(", "));
        }
        match self.state.status {
            StepStatus::Pending | StepStatus::Pass | StepStatus::Failing | StepStatus::Running
                if self.auto && !self.state.is_done() =>
            {
                let next = match self.state.status {
                    StepStatus::Pending | StepStatus::Running => step,
                    _ => self.next_step.unwrap_or(step),
                };
                format!(
                    "Wait: agents do the steps of {story}, and {next} is next. `adjutant up` \
                     assigns the steps."
                )
            }
            _ if self.state.is_done() => format!("{story} is done. There is nothing left to do."),
            StepStatus::Running => format!(
                "Wait: an executor is working on {step} of {story}. When it has ended, call \
                 `adjutant story hook`."
            ),
            StepStatus::Pending => {
                format!("Call `adjutant story next` to start {step} of {story}.")
            }
            StepStatus::Pass => {
                format!("{step} of {story} passed. Call `adjutant story next` to continue.")
            }
            StepStatus::Failing => format!(
                "{step} of {story} failed. Call `adjutant story next` to continue with {}.",
                self.next_step.unwrap_or(step)
            ),
            StepStatus::NeedsHuman => self.ask_text(story),
            StepStatus::Timeout => format!(
                "Ask a person: {step} of {story} timed out. `adjutant story approve` tries it \
                 again, `adjutant story reject REASON` moves the story to another step."
            ),
        }
    }

    fn ask_text(&self, story: &str) -> String {
        let step = self.state.step;
        let again = "`adjutant story approve --note TEXT` tries it again, `adjutant story reject \
                     REASON` moves the story to another step.";
        let said = self.said_text();
        match self.hold.unwrap_or(StoryHold::Asked) {
            StoryHold::Review => format!(
                "Ask a person to review {story}: `adjutant story approve` continues, `adjutant \
                 story reject REASON` sends it back. Do not review it yourself."
            ),
            StoryHold::NoVerdict => format!(
                "Ask a person: {step} of {story} ended without a result{said}. `adjutant story \
                 approve` counts it as passed, `adjutant story reject REASON` as failed."
            ),
            StoryHold::Stuck => {
                format!("Ask a person: {step} of {story} has used all its attempts{said}. {again}")
            }
            StoryHold::Limit => {
                format!("Ask a person: {story} has reached {step} too many times{said}. {again}")
            }
            StoryHold::Asked => {
                format!("Ask a person: the executor of {step} needs one{said}. {again}")
            }
        }
    }

    /// Returns the reason, the error, and what the executor said, to tell the person who is asked.
    fn said_text(&self) -> String {
        let reason = self.state.reason.map(|reason| format!(" ({reason})"));
        let error = self.state.last_error.as_ref().map(|error| format!(": {error}"));
        let said = self.state.message.as_ref().map(|message| {
            let summary = message.summary().map(|text| format!("it says: {text}"));
            let questions = message.questions().iter().map(|text| format!("it asks: {text}"));
            let notes = message.notes().map(|text| format!("its notes: {text}"));
            let parts = summary.into_iter().chain(questions).chain(notes);
            format!("; {}", parts.collect::<Vec<_>>().join("; "))
        });
        [reason, error, said].into_iter().flatten().collect()
    }

    pub fn to_json(&self) -> Value {
        let state = &self.state;
        let message = state.message.as_ref();
        let tests = state.tests.map(|t| json!({"pass": t.pass, "fail": t.fail, "skip": t.skip}));
        let mut json = json!({
            "result": self.result.as_str(),
            "project": state.project,
            "story": state.story.as_ref().map(StoryId::as_str),
            "step": state.step.as_str(),
            "attempt": state.attempt,
            "max_attempts": self.max_attempts,
            "status": state.status.as_str(),
            "reason": state.reason.map(StepFailReason::as_str),
            "next_step": self.next_step.map(Step::as_str),
            "caller_instruction": self.caller_instruction(),
            "auto": self.auto,
            "waiting_for": self.hold.map(StoryHold::as_str),
            "tests": tests,
            "failing_tests": state.failing_tests,
            "lint_pass": state.lint_pass,
            "last_error": state.last_error,
            "summary": message.and_then(ExecutorMessage::summary),
            "questions": message.map(ExecutorMessage::questions).unwrap_or_default(),
            "notes": message.and_then(ExecutorMessage::notes),
            "human_note": state.human_note.as_ref().map(|note| &note.text),
            "warnings": self.warnings,
        });
        if let Some(prompt) = &self.prompt {
            json["prompt"] = json!(prompt);
        }
        if let Some(refusal) = self.refusal() {
            json["refused"] = json!(refusal.as_str());
        }
        if !self.blocked_by().is_empty() {
            json["blocked_by"] = self.blocked_by().iter().map(StoryId::as_str).collect();
        }
        json
    }
}
