//! The stories that wait for a person.

use std::path::Path;

use adjutant_core::schedule::InboxAction;
use adjutant_core::story::ExecutorMessage;
use adjutant_model::story::{Step, StepStatus, StoryHold, StoryId};
use adjutant_model::{TaskId, Time};
use adjutant_process::clock::SystemClock;
use adjutant_store::file::DataFolder;
use adjutant_stories::changes::{self, ProjectChanges};
use adjutant_stories::{StoryCommandAnswer, StoryProject};
use serde::Serialize;
use serde_json::Value;

use super::{InboxItem, InboxKind, OfferedAction};
use crate::run_log::read_tail;

/// The most output of a story's last run that is shown.
const OUTPUT_BYTES_MAX: u64 = 4 << 10;
const OUTPUT_LINES_MAX: usize = 10;

/// The most lines of a hand-over that are shown.
const NOTE_LINES_MAX: usize = 40;

const FILES_MAX: usize = 20;

/// A story that waits for a person, as an inbox item shows it.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitingStory {
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub story: StoryId,
    pub step: Step,
    pub status: StepStatus,
    pub attempt: u32,
    pub tests: Option<TestCounts>,
    pub failing_tests: Vec<String>,
    pub last_error: Option<String>,
    /// What the executor says in one sentence.
    pub summary: Option<String>,
    /// What the executor asks the person.
    pub questions: Vec<String>,
    /// The text of the executor's hand-over.
    pub notes: Option<String>,
    /// The changes since the story began.
    pub changed: Option<ChangedFiles>,
    /// The last output lines of the last run, if the step failed or timed out.
    pub output: Vec<String>,
    #[serde(skip)]
    since: Option<Time>,
    /// Why it waits.
    #[serde(skip)]
    pub text: String,
}

/// The number of tests by result.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestCounts {
    pub pass: u64,
    pub fail: u64,
    pub skip: u64,
}

/// The files that changed since a story began.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangedFiles {
    pub files: Vec<String>,
    /// The diff statistics, in words.
    pub stat: String,
}

/// Returns the stories of a project that wait for a person. Errors in story files are only
/// warnings, so that the rest of the inbox is shown.
pub(super) fn find_waiting_stories(root: &Path, warn: &dyn Fn(&str)) -> Vec<WaitingStory> {
    if !root.join(".ai").is_dir() {
        return vec![];
    }
    let project = match StoryProject::at(root, &SystemClock) {
        Ok(project) => project,
        Err(error) => {
            warn(&error.to_string());
            return vec![];
        }
    };
    for error in project.broken_files().into_iter().flatten() {
        warn(&error.to_string());
    }
    let answers = project.list().unwrap_or_default();
    answers.into_iter().filter_map(|answer| WaitingStory::new(&project, answer)).collect()
}

impl WaitingStory {
    /// Returns `None` if the story does not wait for a person.
    fn new(project: &StoryProject<'_>, answer: StoryCommandAnswer) -> Option<Self> {
        let state = answer.state;
        let waits = matches!(state.status, StepStatus::NeedsHuman | StepStatus::Timeout);
        let story = state.story.clone().filter(|_| waits && !state.is_done())?;
        let file = project.status(Some(&story)).ok()?.1;
        let base = file.extra("base_commit").and_then(Value::as_str);
        let changed = base.and_then(|base| changes::changes_since(project.folder().root(), base));
        let why = match state.status {
            StepStatus::Timeout => "timed out",
            _ => answer.hold.map_or("needs a person", |hold| hold.meaning()),
        };
        let message = state.message.as_ref();
        let is_review = answer.hold == Some(StoryHold::Review);
        let said = message.filter(|_| !is_review).map(ExecutorMessage::in_words);
        let reason = state.reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        let parts: Vec<&str> = state.last_error.iter().chain(&said).map(String::as_str).collect();
        let because =
            if parts.is_empty() { String::new() } else { format!(": {}", parts.join(": ")) };
        Some(Self {
            text: format!("{} {why}{reason}{because}", state.step),
            summary: message.and_then(|message| message.summary().map(str::to_owned)),
            questions: message.map(|message| message.questions().to_vec()).unwrap_or_default(),
            notes: message.and_then(|message| message.notes().map(str::to_owned)),
            story,
            step: state.step,
            status: state.status,
            attempt: state.attempt,
            tests: state.tests.map(|t| TestCounts { pass: t.pass, fail: t.fail, skip: t.skip }),
            failing_tests: state.failing_tests,
            last_error: state.last_error,
            changed: changed.map(|ProjectChanges { files, stat }| ChangedFiles { files, stat }),
            output: vec![],
            since: state.completed_at,
        })
    }

    /// Adds the last output lines of the story's last run if the step failed or timed out.
    pub(super) fn with_output(
        mut self,
        folder: &DataFolder,
        find: &dyn Fn(&str) -> Option<TaskId>,
    ) -> Self {
        if (self.last_error.is_some() || self.status == StepStatus::Timeout)
            && let Some(task) = find(self.story.as_str())
        {
            let tail = read_tail(folder, &task, OUTPUT_BYTES_MAX).unwrap_or_default();
            let lines: Vec<&str> = tail.lines().filter(|line| !line.trim().is_empty()).collect();
            let last = &lines[lines.len().saturating_sub(OUTPUT_LINES_MAX)..];
            self.output = last.iter().map(|line| (*line).to_owned()).collect();
        }
        self
    }

    /// Returns the inbox item of a story whose task is not in the inbox yet.
    pub(super) fn to_item(&self) -> InboxItem {
        let approve = InboxAction::ApproveStory { story: self.story.clone() };
        let reject = InboxAction::RejectStory { story: self.story.clone() };
        let offer = |action| OfferedAction::new(action, self.story.as_str());
        InboxItem {
            kind: InboxKind::Story,
            task_id: Some(self.story.to_string()),
            since: self.since,
            text: self.with_diff_stat(&self.text),
            actions: [approve, reject].map(offer).to_vec(),
            story: Some(self.clone()),
        }
    }

    /// Returns a text with the diff statistics since the story began.
    pub(super) fn with_diff_stat(&self, text: &str) -> String {
        match &self.changed {
            Some(changed) if !changed.stat.is_empty() => format!("{text} ({})", changed.stat),
            _ => text.to_owned(),
        }
    }

    /// Returns the test results, the changed files and the last output lines.
    pub fn details(&self) -> Vec<String> {
        let tests = self.tests.map(|tests| {
            format!("tests: {} passed, {} failed, {} skipped", tests.pass, tests.fail, tests.skip)
        });
        let summary = self.summary.iter().map(|text| format!("says: {text}"));
        let questions = self.questions.iter().map(|text| format!("asks: {text}"));
        let notes =
            self.notes.iter().flat_map(|text| text.lines()).filter(|line| !line.trim().is_empty());
        let notes = notes.take(NOTE_LINES_MAX).map(|line| format!("> {line}"));
        let said = summary.chain(questions).chain(notes);
        let failing = self.failing_tests.iter().map(|test| format!("fails: {test}"));
        let files: &[String] = self.changed.as_ref().map_or(&[], |changed| &changed.files);
        let named = files.iter().take(FILES_MAX).map(|file| format!("changed: {file}"));
        let rest = files.len().saturating_sub(FILES_MAX);
        let more = (rest > 0).then(|| format!("and {rest} more files"));
        let output = self.output.iter().map(|line| format!("| {line}"));
        said.chain(tests).chain(failing).chain(named).chain(more).chain(output).collect()
    }
}
