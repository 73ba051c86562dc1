//! What an agent reported about itself during a run, collected from its events.

use adjutant_model::Time;
use adjutant_model::usage::{self, AgentTrouble, TokenUsage};
use adjutant_run_files::attempt_files::ProcessExit;
use serde::{Deserialize, Serialize};

use super::adapter::{AgentStreamEvent, LocalNow, ModelUsage};

/// Longer messages are cut off.
const WORDS_CHARS_MAX: usize = 500;

/// The longest session id or version that is kept.
const NAME_CHARS_MAX: usize = 256;
/// The explanation for an idle agent that reported no error.
const SILENT_AGENT_TEXT: &str =
    "its model may not answer, or it waits silently for a usage limit to end";

/// What an agent reported about itself, as `told.json` in the attempt folder.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentSelfReport {
    /// The agent's own id for the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// A warning that this version was not tested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untried: Option<String>,
    /// Why the agent could not connect to Adjutant's MCP server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_server: Option<String>,
    /// The latest tool that the agent was not allowed to use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub denied: Option<String>,
    pub used: ModelUsage,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limited: Option<ReachedLimit>,
    /// Why the agent cannot be used: not signed in, or its API key was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unusable: Option<String>,
    /// The latest error after which the agent may have continued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stumbled: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// The latest model call's id, and the usage before that call.
    #[serde(skip)]
    call: Option<(String, ModelUsage)>,
}

/// A usage or rate limit that an agent reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReachedLimit {
    /// In seconds since 1970; `None` if the agent did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<i64>,
    pub words: String,
}

impl AgentSelfReport {
    /// Applies one event.
    pub fn apply(&mut self, event: AgentStreamEvent, now: LocalNow) {
        match event {
            AgentStreamEvent::Session(session) => {
                self.session = Some(session).filter(|id| is_valid_id(id));
            }
            AgentStreamEvent::Version(version) => {
                self.version = Some(version).filter(|text| is_valid_id(text));
            }
            AgentStreamEvent::McpServerFailed(why) => self.no_server = Some(clean_message(&why)),
            AgentStreamEvent::TotalUsage(used) => self.set_total(used),
            AgentStreamEvent::ModelCall { id, used } => self.add_call(id, used),
            AgentStreamEvent::ModelAnswered => {
                (self.limited, self.unusable, self.stumbled) = (None, None, None);
            }
            AgentStreamEvent::ToolDenied(tool) => self.denied = Some(clean_message(&tool)),
            AgentStreamEvent::Message(words) => self.words = Some(clean_message(&words)),
            AgentStreamEvent::RecoverableError(words) => {
                self.stumbled = Some(clean_message(&words));
            }
            AgentStreamEvent::LimitReached { until, words } => {
                // A repeated limit event may lack the time that the first one had.
                let until =
                    until.resolve(now).or(self.limited.as_ref().and_then(|known| known.until));
                self.limited = Some(ReachedLimit { until, words: clean_message(&words) });
            }
            AgentStreamEvent::SignInRejected(words) => self.unusable = Some(clean_message(&words)),
        }
    }

    fn add_call(&mut self, id: String, used: ModelUsage) {
        let before = match &self.call {
            Some((last, before)) if *last == id => *before,
            Some(_) | None => self.used,
        };
        self.used = before.plus(used);
        self.call = Some((id, before));
    }

    /// The total from the agent counts, unless it is less than the sum of the calls.
    fn set_total(&mut self, used: ModelUsage) {
        let cost = self.used.cost.max(used.cost);
        if used.tokens() >= self.used.tokens() {
            self.used = used;
        }
        self.used.cost = cost;
    }

    /// Returns whether the agent has a problem that is not the task's fault.
    pub fn is_in_trouble(&self) -> bool {
        self.limited.is_some() || self.unusable.is_some()
    }

    /// Returns whether the agent said why the run failed.
    pub fn has_explanation(&self) -> bool {
        self.is_in_trouble() || self.stumbled.is_some()
    }

    /// Returns why the run failed as far as the agent said; `None` if it said nothing.
    pub fn failure_text(&self) -> Option<String> {
        let server = self.no_server.as_ref();
        let server = server.map(|why| format!("the MCP server was not connected: {why}"));
        let limit = self.limited.as_ref().map(|limited| &limited.words);
        let wrong = self.unusable.as_ref().or(limit).or(self.stumbled.as_ref()).cloned();
        let last = || self.words.as_ref().map(|words| format!("it said: {words}"));
        let denied = self.denied.as_ref().map(|tool| format!("it was denied the tool {tool}"));
        let all: Vec<String> =
            server.into_iter().chain(denied).chain(wrong.or_else(last)).collect();
        (!all.is_empty()).then(|| all.join("\n"))
    }

    /// Explains the end of a run to people, from the exit and the last lines of output. JSON lines
    /// are left out.
    pub fn exit_text(&self, exit: &ProcessExit, tail: &str) -> String {
        let said = self.failure_with_tail(tail);
        if *exit != ProcessExit::Idle || self.has_explanation() {
            return said;
        }
        if said.trim().is_empty() {
            SILENT_AGENT_TEXT.to_owned()
        } else {
            format!("{SILENT_AGENT_TEXT}\n{said}")
        }
    }

    fn failure_with_tail(&self, tail: &str) -> String {
        let words: Vec<&str> = tail.lines().filter(|line| !line.starts_with('{')).collect();
        match (self.failure_text(), words.join("\n")) {
            (Some(all), words) if self.has_explanation() || words.trim().is_empty() => all,
            (Some(all), words) => format!("{all}\n{words}"),
            (None, words) => words,
        }
    }

    /// Converts to the type that the core decides from.
    pub fn to_telemetry(&self) -> usage::AgentTelemetry {
        let limited = self.limited.as_ref().map(|limited| AgentTrouble::Limited {
            until: limited.until.map(|secs| Time::from_millis(secs.saturating_mul(1_000))),
            reason: limited.words.clone(),
        });
        let unusable =
            self.unusable.as_ref().map(|words| AgentTrouble::Unusable { reason: words.clone() });
        usage::AgentTelemetry {
            session: self.session.clone(),
            usage: TokenUsage {
                input: self.used.input,
                output: self.used.output,
                cached: self.used.cached,
                cost: self.used.cost,
            },
            trouble: unusable.or(limited),
            warning: self.untried.clone(),
            refused_hosts: vec![],
        }
    }
}

impl ModelUsage {
    pub fn tokens(self) -> u64 {
        self.input.saturating_add(self.output)
    }

    fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cached: self.cached.saturating_add(other.cached),
            cost: self.cost.saturating_add(other.cost),
        }
    }
}

/// Returns whether a string can be kept as a session id or version and passed to a program again. A
/// program would take a leading `-` for an option.
fn is_valid_id(text: &str) -> bool {
    let is_short = text.chars().nth(NAME_CHARS_MAX).is_none();
    is_short && !text.starts_with('-') && !text.contains(char::is_control)
}

/// Returns the start of a message, without control characters.
fn clean_message(said: &str) -> String {
    let plain = said.trim().chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c });
    plain.take(WORDS_CHARS_MAX).collect()
}
