//! Converts a result or an `attempt_completion` to a completion.

use adjutant_model::completion::{CompletionReport, HandoffRef, TestReport};
use adjutant_model::delegation::{AttemptCompletion, IssueEncounteredType};
use adjutant_model::field_reader::{ITEM_CHARS_MAX, LIST_ITEMS_MAX, NOTES_CHARS_MAX};
use adjutant_model::mission::{FileAction, IssueType, LogLevel, MissionLogEntry, MissionResult};
use adjutant_model::relative_path::RelPath;
use adjutant_model::run_history::AgentQuestion;
use adjutant_model::time::Timestamp;

use super::{DialectRow, ProtocolDialect, find_mapping};

/// A placeholder: these dialects have no summary, and the file is never looked for.
const SUMMARY_REF: &str = "outputs/summary.md";

/// Longer questions are truncated.
const QUESTION_CHARS_MAX: usize = 4_000;

/// A report of any dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DialectReport {
    pub completion: CompletionReport,
    /// `None` if the dialect has no such field.
    pub at: Option<Timestamp>,
    pub question: Option<AgentQuestion>,
    pub log: Vec<MissionLogEntry>,
    /// The issues of work that is not blocked, each with its kind. The blockers of a blocked task
    /// have the others.
    pub issues: Vec<String>,
}

impl DialectReport {
    pub fn from_result(result: &MissionResult) -> Self {
        let row = find_mapping(ProtocolDialect::Mission, result.status.as_str())
            .expect("a row for each status");
        let issues = result.issues().iter().map(|issue| issue.description.as_str());
        let questions = result.issues().iter().filter(|issue| issue.kind == IssueType::Question);
        let questions: Vec<&str> = questions.map(|issue| issue.description.as_str()).collect();
        let kept = result.files_modified.iter().filter(|file| file.action != FileAction::Deleted);
        let paths = kept.map(|file| &file.path);
        let said = last_milestone(&result.log);
        let named = result.issues().iter();
        let named = named.map(|issue| format!("{}: {}", issue.kind.as_str(), issue.description));
        let open = open_issues(row, named);
        let said = with_issues(&said, &open);
        Self {
            completion: completion(
                row,
                issues.collect(),
                paths.collect(),
                &said,
                &most_severe(&result.log),
            ),
            at: Some(result.completed_at.clone()),
            question: question(&questions, &[]),
            log: result.log.clone(),
            issues: open,
        }
    }

    pub fn from_attempt(attempt: &AttemptCompletion) -> Self {
        let row = find_mapping(ProtocolDialect::NewTask, attempt.result.as_str())
            .expect("a row for each status");
        let issues = attempt.issues().iter().map(|issue| issue.description.as_str()).collect();
        let asked: Vec<_> = attempt
            .issues()
            .iter()
            .filter(|issue| issue.kind == IssueEncounteredType::ClarificationNeeded)
            .collect();
        let mut questions: Vec<&str> = asked.iter().map(|i| i.description.as_str()).collect();
        if row.asks_question && questions.is_empty() {
            questions.push(&attempt.summary);
        }
        let suggestions: Vec<&str> =
            asked.iter().filter_map(|issue| issue.suggested_resolution.as_deref()).collect();
        let made = attempt.output_artifacts.iter().flatten().map(|artifact| &artifact.path);
        let named = attempt.issues().iter();
        let named = named.map(|issue| format!("{}: {}", issue.kind.as_str(), issue.description));
        let open = open_issues(row, named);
        let summary = &attempt.summary;
        let notes = &with_issues(summary, &open);
        Self {
            completion: completion(row, issues, made.collect(), notes, summary),
            at: None,
            question: question(&questions, &suggestions),
            log: vec![],
            issues: open,
        }
    }
}

/// Returns the issues of work that is not blocked.
fn open_issues(row: &DialectRow, issues: impl Iterator<Item = String>) -> Vec<String> {
    let is_blocked = row.outcome == adjutant_model::completion::WorkOutcome::Blocked;
    if is_blocked { vec![] } else { issues.map(|text| truncate(&text, NOTES_CHARS_MAX)).collect() }
}

/// Adds issues to the notes, which the reviewer reads.
fn with_issues(notes: &str, issues: &[String]) -> String {
    [&[notes.to_owned()], issues].concat().join("\n")
}

/// Puts the row's prefix before the first blocker. A blocked report without issues gets `otherwise`
/// as its blocker.
fn completion(
    row: &DialectRow,
    issues: Vec<&str>,
    paths: Vec<&RelPath>,
    notes: &str,
    otherwise: &str,
) -> CompletionReport {
    let blocked = row.outcome == adjutant_model::completion::WorkOutcome::Blocked;
    let issues = if issues.is_empty() && blocked { vec![otherwise] } else { issues };
    let mut blockers: Vec<String> = issues.iter().map(|issue| (*issue).to_owned()).collect();
    if let Some(first) = blockers.first_mut() {
        first.insert_str(0, row.reason_prefix);
    }
    CompletionReport {
        outcome: row.outcome,
        summary_ref: RelPath::parse(SUMMARY_REF).expect("a good path"),
        handoff_ref: HandoffRef,
        deliverables: paths.into_iter().take(LIST_ITEMS_MAX).cloned().collect(),
        tests: TestReport::default(),
        blockers: blockers
            .iter()
            .take(LIST_ITEMS_MAX)
            .map(|text| truncate(text, ITEM_CHARS_MAX))
            .collect(),
        notes: truncate(notes, NOTES_CHARS_MAX),
    }
}

fn question(questions: &[&str], suggestions: &[&str]) -> Option<AgentQuestion> {
    let joined = |texts: &[&str]| {
        (!texts.is_empty()).then(|| truncate(&texts.join("; "), QUESTION_CHARS_MAX))
    };
    Some(AgentQuestion { text: joined(questions)?, suggestion: joined(suggestions) })
}

/// Returns the last milestone of a log, or else its last entry.
fn last_milestone(log: &[MissionLogEntry]) -> String {
    let milestone = log.iter().rev().find(|entry| entry.level == LogLevel::Info);
    milestone.or(log.last()).map_or_else(String::new, |entry| entry.message.clone())
}

/// Returns the last of the most severe entries of a log.
fn most_severe(log: &[MissionLogEntry]) -> String {
    let grave = log.iter().filter(|entry| entry.level != LogLevel::Tip);
    let gravest = grave.max_by_key(|entry| entry.level).or(log.last());
    gravest.map_or_else(String::new, |entry| entry.message.clone())
}

/// Truncates a text to `chars_max` characters.
fn truncate(text: &str, chars_max: usize) -> String {
    if text.chars().nth(chars_max).is_none() {
        return text.to_owned();
    }
    text.chars().take(chars_max - 1).chain(['…']).collect()
}
