//! Documents and tasks: how a document reads as a task, and how a task reads in any dialect.
//!
//! What a task cannot say is kept with it (see [`crate::foreign`]), so that a document that becomes
//! a task comes back as it was; what somebody changed since comes back changed.

mod aof;
mod mission;
mod new_task;

pub use aof::{NEVER, NO_PARENT, handoff};
pub use mission::{NO_EPIC, NO_PRD, body_of_mission, mission};
pub use new_task::{body_of_new_task, new_task};

use std::fmt::Write as _;

use crate::handoff::Handoff;
use crate::name::AgentId;
use crate::path::RelPath;
use crate::task::Task;
use crate::worklog::{self, single_line};

/// The most characters of a text that make a title.
const TITLE_CHARS_MAX: usize = 120;

/// A task, and what an order for it is made from.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The task.
    pub task: &'a Task,
    /// Its body.
    pub body: &'a str,
    /// The task it is a part of.
    pub parent: Option<&'a Task>,
    /// What it was handed on with.
    pub handoff: Option<&'a Handoff>,
    /// Who is to do it, if that is known.
    pub agent: Option<&'a AgentId>,
    /// Where its file lies, from the workspace.
    pub task_file: &'a RelPath,
    /// Where the memory of its epic lies, from the workspace, if there is one.
    pub memory: Option<&'a RelPath>,
    /// What a person answered to questions of earlier attempts, beside the task's own answer.
    pub answers: &'a [&'a str],
}

/// Returns the title a text makes: the first line of it that says something.
pub fn title_of(text: &str) -> String {
    let lines = text.lines().map(|line| line.trim_start_matches('#').trim());
    let first = lines.into_iter().find(|line| !line.is_empty()).unwrap_or("untitled");
    let plain = first.chars().map(|c| if c.is_control() { ' ' } else { c });
    let plain: String = plain.collect();
    if plain.chars().nth(TITLE_CHARS_MAX).is_none() {
        return plain;
    }
    plain.chars().take(TITLE_CHARS_MAX - 1).chain(['…']).collect()
}

impl Source<'_> {
    /// Returns the body if it is not the one its document made any more: somebody wrote it anew.
    fn rewritten(&self, made: &str) -> Option<String> {
        let ended = |text: &'_ str| text.trim_end_matches(['\n', '\r']).to_owned();
        let (made, whole, body) =
            (ended(made), ended(self.body), ended(worklog::without(self.body)));
        (whole != made && body != made).then_some(body)
    }

    /// Returns the body without its work log.
    fn words(&self) -> &str {
        worklog::without(self.body).trim()
    }

    /// Returns everything a person answered.
    fn answered(&self) -> Vec<&str> {
        let own = self.task.trials.answer.as_deref();
        let own = own.filter(|own| !self.answers.contains(own));
        self.answers.iter().copied().chain(own).collect()
    }

    /// Returns what whoever works on it next must know of the attempts before; empty at first.
    fn history(&self) -> String {
        let mut text = String::new();
        let trials = &self.task.trials;
        list(&mut text, "Answers from a person", self.answered());
        let feedback = self.task.feedback.as_deref();
        list(&mut text, "A reviewer sent the last attempt back", feedback.into_iter().collect());
        let failures = trials.failures.iter();
        let failures: Vec<String> =
            failures.map(|f| format!("attempt {}: {}", f.attempt, f.reason)).collect();
        let failures: Vec<&str> = failures.iter().map(String::as_str).collect();
        list(&mut text, "Earlier attempts came to nothing", failures);
        text
    }
}

/// Adds a section with a list, if there is anything in it.
fn list(text: &mut String, heading: &str, items: Vec<&str>) {
    if items.is_empty() {
        return;
    }
    let blank = if text.is_empty() { "" } else { "\n" };
    let _ = write!(text, "{blank}## {heading}\n\n");
    for item in items {
        let _ = writeln!(text, "- {}", single_line(item));
    }
}

/// Puts a text before what is known of earlier attempts; a text alone stays as it is.
fn followed_by(text: &str, history: &str) -> String {
    if history.is_empty() {
        return text.to_owned();
    }
    format!("{}\n\n{history}", text.trim_end())
}
