//! What an agent told of itself in the course of a run, put together from what was heard.

use adjutant_core::Time;
use adjutant_core::account::{self, Trouble, Usage};
use serde::{Deserialize, Serialize};

use super::adapter::{Heard, Now, Used};
use crate::shim::files::Exit;

/// How much of the words of an agent is kept.
const WORDS_CHARS_MAX: usize = 500;

/// How long what an agent calls its conversation, or its version, may be.
const NAME_CHARS_MAX: usize = 256;
/// What may be the matter with an agent that does not say.
const SILENT: &str = "its model may not answer, or it waits for a limit to end without a word";

/// What an agent told of itself: `told.json` in the folder of its attempt.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Told {
    /// What it knows its conversation by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What is to be known of that version: that nobody tried it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untried: Option<String>,
    /// Why our MCP server could not be reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_server: Option<String>,
    /// The tool it was last not allowed to use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub denied: Option<String>,
    /// What it used.
    pub used: Used,
    /// The limit it has reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limited: Option<Limited>,
    /// Why it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unusable: Option<String>,
    /// What went wrong last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stumbled: Option<String>,
    /// What it said last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// The last call of the model, and what all before it used.
    #[serde(skip)]
    call: Option<(String, Used)>,
}

/// A limit an agent has reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limited {
    /// Until when, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<i64>,
    /// Its words.
    pub words: String,
}

impl Told {
    /// Takes in what was heard, now.
    pub fn hear(&mut self, heard: Heard, now: Now) {
        match heard {
            Heard::Session(session) => self.session = Some(session).filter(|id| is_name(id)),
            Heard::Version(version) => self.version = Some(version).filter(|text| is_name(text)),
            Heard::NoServer(why) => self.no_server = Some(brief(&why)),
            Heard::Used(used) => self.total(used),
            Heard::Call { id, used } => self.call(id, used),
            Heard::Works => (self.limited, self.unusable, self.stumbled) = (None, None, None),
            Heard::Denied(tool) => self.denied = Some(brief(&tool)),
            Heard::Words(words) => self.words = Some(brief(&words)),
            Heard::Stumbled(words) => self.stumbled = Some(brief(&words)),
            Heard::Limited { until, words } => {
                // What is told twice may be told without its time the second time.
                let until = until.at(now).or(self.limited.as_ref().and_then(|known| known.until));
                self.limited = Some(Limited { until, words: brief(&words) });
            }
            Heard::Unusable(words) => self.unusable = Some(brief(&words)),
        }
    }

    fn call(&mut self, id: String, used: Used) {
        let before = match &self.call {
            Some((last, before)) if *last == id => *before,
            Some(_) | None => self.used,
        };
        self.used = before.plus(used);
        self.call = Some((id, before));
    }

    /// What is told at the end counts, unless it is less than what was seen.
    fn total(&mut self, used: Used) {
        let cost = self.used.cost.max(used.cost);
        if used.tokens() >= self.used.tokens() {
            self.used = used;
        }
        self.used.cost = cost;
    }

    /// Says whether it is in trouble that is no fault of its task.
    pub fn is_in_trouble(&self) -> bool {
        self.limited.is_some() || self.unusable.is_some()
    }

    /// Says whether it told itself why it came to nothing.
    pub fn explains(&self) -> bool {
        self.is_in_trouble() || self.stumbled.is_some()
    }

    /// Says why it came to nothing, as far as it told; none if it told nothing of that.
    pub fn in_words(&self) -> Option<String> {
        let server = self.no_server.as_ref();
        let server = server.map(|why| format!("the MCP server was not connected: {why}"));
        let limit = self.limited.as_ref().map(|limited| &limited.words);
        let wrong = self.unusable.as_ref().or(limit).or(self.stumbled.as_ref()).cloned();
        let last = || self.words.as_ref().map(|words| format!("it said: {words}"));
        let denied = self.denied.as_ref().map(|tool| format!("it was not allowed to use {tool}"));
        let all: Vec<String> =
            server.into_iter().chain(denied).chain(wrong.or_else(last)).collect();
        (!all.is_empty()).then(|| all.join("\n"))
    }

    /// Says in words why its run ended, given how and the last lines it printed: its events say
    /// nothing to people.
    pub fn last_words(&self, exit: &Exit, tail: &str) -> String {
        let said = self.said(tail);
        if *exit != Exit::Idle || self.explains() {
            return said;
        }
        if said.trim().is_empty() { SILENT.to_owned() } else { format!("{SILENT}\n{said}") }
    }

    fn said(&self, tail: &str) -> String {
        let words: Vec<&str> = tail.lines().filter(|line| !line.starts_with('{')).collect();
        match (self.in_words(), words.join("\n")) {
            (Some(all), words) if self.explains() || words.trim().is_empty() => all,
            (Some(all), words) => format!("{all}\n{words}"),
            (None, words) => words,
        }
    }

    /// Returns what decisions need to know of it.
    pub fn for_decision(&self) -> account::Told {
        let limited = self.limited.as_ref().map(|limited| Trouble::Limited {
            until: limited.until.map(|secs| Time::from_millis(secs.saturating_mul(1_000))),
            reason: limited.words.clone(),
        });
        let unusable =
            self.unusable.as_ref().map(|words| Trouble::Unusable { reason: words.clone() });
        account::Told {
            session: self.session.clone(),
            usage: Usage {
                input: self.used.input,
                output: self.used.output,
                cached: self.used.cached,
                cost: self.used.cost,
            },
            trouble: unusable.or(limited),
            warning: self.untried.clone(),
        }
    }
}

impl Used {
    /// Returns all tokens.
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

/// Says whether a text can be a name that is kept, and given to a program again: one that begins
/// like an option would be taken for one.
fn is_name(text: &str) -> bool {
    let is_short = text.chars().nth(NAME_CHARS_MAX).is_none();
    is_short && !text.starts_with('-') && !text.contains(char::is_control)
}

/// Returns the beginning of what was said, without control characters.
fn brief(said: &str) -> String {
    let plain = said.trim().chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c });
    plain.take(WORDS_CHARS_MAX).collect()
}
