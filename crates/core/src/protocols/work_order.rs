//! Converts documents to tasks, and tasks to work orders in any dialect.
//!
//! A task stores what it has no field for (see [`adjutant_model::task_origin`]), so that a document that became
//! a task converts back unchanged, except for later edits of the task.

mod aof;
mod mission;
mod new_task;

pub use aof::{NO_DUE_DATE, NO_PARENT, to_handoff_request};
pub use mission::{NO_EPIC, NO_PRD, body_of_mission, to_mission};
pub use new_task::{body_of_new_task, to_new_task};

use std::fmt::Write as _;

use adjutant_model::actor::AgentId;
use adjutant_model::handoff::TaskHandoff;
use adjutant_model::relative_path::RelPath;
use adjutant_model::task::Task;
use adjutant_model::work_log::{self, single_line};

/// Longer titles are truncated.
const TITLE_CHARS_MAX: usize = 120;

/// A task, with everything that its work order is made from.
#[derive(Debug, Clone, Copy)]
pub struct WorkOrderSource<'a> {
    pub task: &'a Task,
    pub body: &'a str,
    pub parent: Option<&'a Task>,
    /// The handoff that delegated the task.
    pub handoff: Option<&'a TaskHandoff>,
    pub agent: Option<&'a AgentId>,
    /// The path of the task's file, relative to the workspace.
    pub task_file: &'a RelPath,
    /// The path of its epic's memory, relative to the workspace; `None` if there is none.
    pub memory: Option<&'a RelPath>,
    /// Answers to questions of earlier attempts, besides the task's own answer.
    pub answers: &'a [&'a str],
}

/// Makes a title of the first line of a text that is not blank.
pub fn title_from_text(text: &str) -> String {
    let lines = text.lines().map(|line| line.trim_start_matches('#').trim());
    let first = lines.into_iter().find(|line| !line.is_empty()).unwrap_or("untitled");
    let plain = first.chars().map(|c| if c.is_control() { ' ' } else { c });
    let plain: String = plain.collect();
    if plain.chars().nth(TITLE_CHARS_MAX).is_none() {
        return plain;
    }
    plain.chars().take(TITLE_CHARS_MAX - 1).chain(['…']).collect()
}

impl WorkOrderSource<'_> {
    /// Returns the body if a person has changed it since it was made from its document.
    fn changed_body(&self, made: &str) -> Option<String> {
        let ended = |text: &'_ str| text.trim_end_matches(['\n', '\r']).to_owned();
        let (made, whole, body) =
            (ended(made), ended(self.body), ended(work_log::strip_work_log(self.body)));
        (whole != made && body != made).then_some(body)
    }

    /// Returns the body without its work log.
    fn body_text(&self) -> &str {
        work_log::strip_work_log(self.body).trim()
    }

    /// Returns every answer that a person gave.
    fn all_answers(&self) -> Vec<&str> {
        let own = self.task.history.answer.as_deref();
        let own = own.filter(|own| !self.answers.contains(own));
        self.answers.iter().copied().chain(own).collect()
    }

    /// Returns what the next agent must know about earlier attempts; empty before the first.
    fn history(&self) -> String {
        let mut text = String::new();
        let trials = &self.task.history;
        append_list(&mut text, "Answers from a person", self.all_answers());
        let feedback = self.task.feedback.as_deref();
        append_list(
            &mut text,
            "Why the last attempt was sent back",
            feedback.into_iter().collect(),
        );
        let failures = trials.failures.iter();
        let failures: Vec<String> =
            failures.map(|f| format!("attempt {}: {}", f.attempt, f.reason)).collect();
        let failures: Vec<&str> = failures.iter().map(String::as_str).collect();
        append_list(&mut text, "Failed attempts", failures);
        text
    }
}

/// Appends a section with a list, unless the list is empty.
fn append_list(text: &mut String, heading: &str, items: Vec<&str>) {
    if items.is_empty() {
        return;
    }
    let blank = if text.is_empty() { "" } else { "\n" };
    let _ = write!(text, "{blank}## {heading}\n\n");
    for item in items {
        let _ = writeln!(text, "- {}", single_line(item));
    }
}

/// Appends the history of earlier attempts to a text, if there is any.
fn with_history(text: &str, history: &str) -> String {
    if history.is_empty() {
        return text.to_owned();
    }
    format!("{}\n\n{history}", text.trim_end())
}
