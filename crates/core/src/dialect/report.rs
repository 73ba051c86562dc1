//! What a result or an `attempt_completion` says, in the words of a completion.

use super::{Dialect, Row, meaning};
use crate::completion::{Completion, TestReport};
use crate::delegation::{AttemptCompletion, IssueEncounteredType};
use crate::fields::{ITEM_CHARS_MAX, LIST_ITEMS_MAX, NOTES_CHARS_MAX};
use crate::mission::{Action, IssueType, Level, LogEntry, ResultDoc};
use crate::path::RelPath;
use crate::time::Stamp;
use crate::trials::Question;

/// Where a summary would lie. These dialects have none, and nobody looks for it.
const SUMMARY_REF: &str = "outputs/summary.md";

/// The most characters of what is asked that a task keeps.
const QUESTION_CHARS_MAX: usize = 4_000;

/// A report of any dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// What came of the work.
    pub completion: Completion,
    /// When it was sent, if it says so.
    pub at: Option<Stamp>,
    /// What it asks a person.
    pub question: Option<Question>,
    /// What happened on the way that matters.
    pub log: Vec<LogEntry>,
}

impl Report {
    /// Reads a result.
    pub fn of_result(result: &ResultDoc) -> Self {
        let row = meaning(Dialect::Mission, result.status.as_str()).expect("a row for each status");
        let issues = result.issues().iter().map(|issue| issue.description.as_str());
        let questions = result.issues().iter().filter(|issue| issue.kind == IssueType::Question);
        let questions: Vec<&str> = questions.map(|issue| issue.description.as_str()).collect();
        let kept = result.files_modified.iter().filter(|file| file.action != Action::Deleted);
        let paths = kept.map(|file| &file.path);
        let said = last_words(&result.log);
        Self {
            completion: completion(
                row,
                issues.collect(),
                paths.collect(),
                &said,
                &worst(&result.log),
            ),
            at: Some(result.completed_at.clone()),
            question: question(&questions, &[]),
            log: result.log.clone(),
        }
    }

    /// Reads an `attempt_completion`.
    pub fn of_attempt(attempt: &AttemptCompletion) -> Self {
        let row =
            meaning(Dialect::NewTask, attempt.result.as_str()).expect("a row for each status");
        let issues = attempt.issues().iter().map(|issue| issue.description.as_str()).collect();
        let asked: Vec<_> = attempt
            .issues()
            .iter()
            .filter(|issue| issue.kind == IssueEncounteredType::ClarificationNeeded)
            .collect();
        let mut questions: Vec<&str> = asked.iter().map(|i| i.description.as_str()).collect();
        if row.asks && questions.is_empty() {
            questions.push(&attempt.summary);
        }
        let suggestions: Vec<&str> =
            asked.iter().filter_map(|issue| issue.suggested_resolution.as_deref()).collect();
        let made = attempt.output_artifacts.iter().flatten().map(|artifact| &artifact.path);
        let summary = &attempt.summary;
        Self {
            completion: completion(row, issues, made.collect(), summary, summary),
            at: None,
            question: question(&questions, &suggestions),
            log: vec![],
        }
    }
}

/// What stands before a reason stands before the first of what is in the way.
fn completion(
    row: &Row,
    issues: Vec<&str>,
    paths: Vec<&RelPath>,
    notes: &str,
    otherwise: &str,
) -> Completion {
    let blocked = row.outcome == crate::completion::Outcome::Blocked;
    let issues = if issues.is_empty() && blocked { vec![otherwise] } else { issues };
    let mut blockers: Vec<String> = issues.iter().map(|issue| (*issue).to_owned()).collect();
    if let Some(first) = blockers.first_mut() {
        first.insert_str(0, row.prefix);
    }
    Completion {
        outcome: row.outcome,
        summary_ref: RelPath::parse(SUMMARY_REF).expect("a good path"),
        deliverables: paths.into_iter().take(LIST_ITEMS_MAX).cloned().collect(),
        tests: TestReport::default(),
        blockers: blockers
            .iter()
            .take(LIST_ITEMS_MAX)
            .map(|text| cut(text, ITEM_CHARS_MAX))
            .collect(),
        notes: cut(notes, NOTES_CHARS_MAX),
    }
}

fn question(questions: &[&str], suggestions: &[&str]) -> Option<Question> {
    let joined =
        |texts: &[&str]| (!texts.is_empty()).then(|| cut(&texts.join("; "), QUESTION_CHARS_MAX));
    Some(Question { text: joined(questions)?, suggestion: joined(suggestions) })
}

/// Returns the last milestone of a log, or else its last entry.
fn last_words(log: &[LogEntry]) -> String {
    let milestone = log.iter().rev().find(|entry| entry.level == Level::Info);
    milestone.or(log.last()).map_or_else(String::new, |entry| entry.message.clone())
}

/// Returns the last of the gravest entries of a log.
fn worst(log: &[LogEntry]) -> String {
    let grave = log.iter().filter(|entry| entry.level != Level::Tip);
    let gravest = grave.max_by_key(|entry| entry.level).or(log.last());
    gravest.map_or_else(String::new, |entry| entry.message.clone())
}

/// Returns a text of at most so many characters.
fn cut(text: &str, chars_max: usize) -> String {
    if text.chars().nth(chars_max).is_none() {
        return text.to_owned();
    }
    text.chars().take(chars_max - 1).chain(['…']).collect()
}
