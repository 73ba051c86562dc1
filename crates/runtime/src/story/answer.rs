//! What a caller is told about a story: where it stands, what comes next, and what to do now.

use adjutant_core::pipeline::{Hold, Reason, Refusal, Rules, Said, State, Status, Step, StoryId};
use serde_json::{Value, json};

/// What a caller is told about a story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Where the story stands.
    pub state: State,
    /// What came of the call, in a word that scripts rely on.
    pub result: &'static str,
    /// Why a rule said no.
    pub refusal: Option<Refusal>,
    /// Stories that must be done first.
    pub blocked_by: Vec<StoryId>,
    /// What an executor is to be told, if one is to be started.
    pub prompt: Option<String>,
    /// What is odd.
    pub warnings: Vec<String>,
    /// The limits of the present step.
    pub max_attempts: u32,
    /// The step that follows.
    pub next_step: Option<Step>,
    /// Why a person is waited for.
    pub hold: Option<Hold>,
    /// Whether agents do its steps.
    pub auto: bool,
}

impl Answer {
    /// Makes the answer to a call.
    pub fn new(rules: &Rules, state: State, said: &Said) -> Self {
        let refusal = match said {
            Said::Refused(refusal) => Some(*refusal),
            _ => None,
        };
        let blocked_by = match said {
            Said::Blocked(stories) => stories.clone(),
            _ => vec![],
        };
        let waits = matches!(state.status, Status::NeedsHuman) && !state.is_done();
        Self {
            result: said.as_str(),
            refusal,
            blocked_by,
            prompt: None,
            warnings: vec![],
            max_attempts: rules.of(state.step).map_or(1, |rule| rule.max_attempts),
            next_step: state.next_step(rules),
            hold: waits.then(|| state.hold(rules)),
            auto: false,
            state,
        }
    }

    /// Returns what the caller should do or say now.
    pub fn caller_instruction(&self) -> String {
        let story = self.state.story.as_ref().map_or("the project", |story| story.as_str());
        let step = self.state.step;
        if self.result == "dispatched" {
            return format!(
                "Start an executor for {story} with the prompt. The step {step} is not done: say so \
                 to nobody. When the executor has ended, call `adjutant story hook`."
            );
        }
        if !self.blocked_by.is_empty() {
            let names: Vec<&str> = self.blocked_by.iter().map(StoryId::as_str).collect();
            return format!("Wait: {story} goes on when {} is done.", names.join(", "));
        }
        match self.state.status {
            Status::Pending | Status::Pass | Status::Failing | Status::Running
                if self.auto && !self.state.is_done() =>
            {
                let next = match self.state.status {
                    Status::Pending | Status::Running => step,
                    _ => self.next_step.unwrap_or(step),
                };
                format!(
                    "Wait: agents do the steps of {story}, and {next} is at hand. `adjutant up` gives \
                     them out."
                )
            }
            _ if self.state.is_done() => format!("{story} is done. Nothing is left to do."),
            Status::Running => format!(
                "Wait: an executor works on {step} of {story}. When it has ended, call `adjutant \
                 story hook`."
            ),
            Status::Pending => format!("Call `adjutant story next` to start {step} of {story}."),
            Status::Pass => {
                format!("{step} of {story} passed. Call `adjutant story next` to go on.")
            }
            Status::Failing => format!(
                "{step} of {story} failed. Call `adjutant story next`: it goes on at {}.",
                self.next_step.unwrap_or(step)
            ),
            Status::NeedsHuman => self.ask(story),
            Status::Timeout => format!(
                "Ask a person: {step} of {story} took too long. `adjutant story approve` tries it \
                 again, `adjutant story reject REASON` sends it elsewhere."
            ),
        }
    }

    fn ask(&self, story: &str) -> String {
        let step = self.state.step;
        let again = "`adjutant story approve --note TEXT` tries it again, `adjutant story reject \
                     REASON` sends it elsewhere.";
        match self.hold.unwrap_or(Hold::Asked) {
            Hold::Review => format!(
                "Ask a person to review {story}: `adjutant story approve` goes on, `adjutant story \
                 reject REASON` sends it back. Do not review it yourself."
            ),
            Hold::NoVerdict => format!(
                "Ask a person: nothing says how {step} of {story} went. `adjutant story approve` \
                 takes it as a pass, `adjutant story reject REASON` does not."
            ),
            Hold::Stuck => format!("Ask a person: {story} is stuck at {step}. {again}"),
            Hold::Limit => {
                format!("Ask a person: {story} came to {step} too many times. {again}")
            }
            Hold::Asked => format!("Ask a person: the executor of {step} asks for one. {again}"),
        }
    }

    /// Returns the answer as JSON.
    pub fn json(&self) -> Value {
        let state = &self.state;
        let tests = state.tests.map(|t| json!({"pass": t.pass, "fail": t.fail, "skip": t.skip}));
        let mut json = json!({
            "result": self.result,
            "project": state.project,
            "story": state.story.as_ref().map(StoryId::as_str),
            "step": state.step.as_str(),
            "attempt": state.attempt,
            "max_attempts": self.max_attempts,
            "status": state.status.as_str(),
            "reason": state.reason.map(Reason::as_str),
            "next_step": self.next_step.map(Step::as_str),
            "caller_instruction": self.caller_instruction(),
            "auto": self.auto,
            "waiting_for": self.hold.map(Hold::as_str),
            "tests": tests,
            "failing_tests": state.failing_tests,
            "lint_pass": state.lint_pass,
            "last_error": state.last_error,
            "human_note": state.human_note.as_ref().map(|note| &note.text),
            "warnings": self.warnings,
        });
        if let Some(prompt) = &self.prompt {
            json["prompt"] = json!(prompt);
        }
        if let Some(refusal) = self.refusal {
            json["refused"] = json!(refusal.as_str());
        }
        if !self.blocked_by.is_empty() {
            json["blocked_by"] = self.blocked_by.iter().map(StoryId::as_str).collect();
        }
        json
    }
}
