//! Stories that wait for a person, for the inbox.

use std::path::Path;

use adjutant_core::TaskId;
use adjutant_core::pipeline::{Status, StoryId};
use adjutant_runtime::SystemClock;
use adjutant_runtime::story::changes::{self, Changes};
use adjutant_runtime::story::{Answer, Project};
use serde_json::{Value, json};

use crate::commands::logs;
use crate::data::Data;
use crate::output::Output;

/// How much of what the last run of a story printed is shown.
const OUTPUT_BYTES_MAX: u64 = 4 << 10;
const OUTPUT_LINES_MAX: usize = 10;

/// How many files that changed are named to a person.
const FILES_MAX: usize = 20;

/// A story that waits for a person.
pub(super) struct Waiting {
    pub(super) story: StoryId,
    pub(super) text: String,
    pub(super) actions: Vec<String>,
    since: Option<String>,
    answer: Answer,
    changed: Option<Changes>,
    /// The last lines its last run printed, if it went wrong.
    output: Vec<String>,
}

/// Returns the stories of a project that wait for a person. What is wrong with its files stops
/// nobody from seeing the rest of the inbox.
pub(super) fn waiting(root: &Path, out: &Output) -> Vec<Waiting> {
    if !root.join(".ai").is_dir() {
        return vec![];
    }
    let project = match Project::at(root, &SystemClock) {
        Ok(project) => project,
        Err(error) => {
            out.warn(&error.to_string());
            return vec![];
        }
    };
    for error in project.broken().into_iter().flatten() {
        out.warn(&error.to_string());
    }
    let answers = project.list().unwrap_or_default();
    answers.into_iter().filter_map(|answer| one(&project, answer)).collect()
}

fn one(project: &Project<'_>, answer: Answer) -> Option<Waiting> {
    let waits = matches!(answer.state.status, Status::NeedsHuman | Status::Timeout);
    let story = answer.state.story.clone().filter(|_| waits && !answer.state.is_done())?;
    let file = project.status(Some(&story)).ok()?.1;
    let base = file.extra("base_commit").and_then(Value::as_str);
    let changed = base.and_then(|base| changes::since(project.folder().root(), base));
    let why = match answer.state.status {
        Status::Timeout => "took too long",
        _ => answer.hold.map_or("asks for a person", |hold| hold.meaning()),
    };
    let error = answer.state.last_error.as_ref().map(|error| format!(": {error}"));
    let text = format!("{} {why}{}", answer.state.step, error.unwrap_or_default());
    let actions = ["approve", "reject REASON"].map(|word| format!("story {word} --story {story}"));
    let since = answer.state.completed_at.map(|time| time.to_string());
    let (actions, output) = (actions.to_vec(), vec![]);
    Some(Waiting { story, text, actions, since, answer, changed, output })
}

impl Waiting {
    /// Adds the last lines that the last run of its task printed, where something went wrong.
    pub(super) fn with_output(
        mut self,
        data: &Data,
        find: &dyn Fn(&str) -> Option<TaskId>,
    ) -> Self {
        let state = &self.answer.state;
        if (state.last_error.is_some() || state.status == Status::Timeout)
            && let Some(task) = find(self.story.as_str())
        {
            let tail = logs::tail(data, &task, OUTPUT_BYTES_MAX).unwrap_or_default();
            let lines: Vec<&str> = tail.lines().filter(|line| !line.trim().is_empty()).collect();
            let last = &lines[lines.len().saturating_sub(OUTPUT_LINES_MAX)..];
            self.output = last.iter().map(|line| (*line).to_owned()).collect();
        }
        self
    }

    /// Returns how much changed since the story began, in a few words.
    pub(super) fn stat(&self) -> Option<&str> {
        let stat = self.changed.as_ref().map(|changed| changed.stat.as_str());
        stat.filter(|stat| !stat.is_empty())
    }

    /// Returns what a person wants to know beside that: tests, files, and the last words.
    pub(super) fn details(&self) -> Vec<String> {
        let state = &self.answer.state;
        let tests = state.tests.map(|tests| {
            format!("tests: {} passed, {} failed, {} skipped", tests.pass, tests.fail, tests.skip)
        });
        let failing = state.failing_tests.iter().map(|test| format!("fails: {test}"));
        let files: &[String] = self.changed.as_ref().map_or(&[], |changed| &changed.files);
        let named = files.iter().take(FILES_MAX).map(|file| format!("changed: {file}"));
        let rest = files.len().saturating_sub(FILES_MAX);
        let more = (rest > 0).then(|| format!("and {rest} more files"));
        let output = self.output.iter().map(|line| format!("| {line}"));
        tests.into_iter().chain(failing).chain(named).chain(more).chain(output).collect()
    }

    /// Adds where the story stands to what the inbox says of its task.
    pub(super) fn add_to(&self, item: &mut Value) {
        let state = &self.answer.state;
        let tests = state.tests.map(|t| json!({"pass": t.pass, "fail": t.fail, "skip": t.skip}));
        let changed = self.changed.as_ref().map(|it| json!({"files": it.files, "stat": it.stat}));
        item["story"] = json!(self.story.as_str());
        item["step"] = json!(state.step.as_str());
        item["status"] = json!(state.status.as_str());
        item["attempt"] = json!(state.attempt);
        item["tests"] = json!(tests);
        item["failing_tests"] = json!(state.failing_tests);
        item["last_error"] = json!(state.last_error);
        item["changed"] = json!(changed);
        item["output"] = json!(self.output);
    }

    pub(super) fn json(&self) -> Value {
        let stat = self.stat().map_or_else(String::new, |stat| format!(" ({stat})"));
        let mut json = json!({
            "kind": "story",
            "taskId": self.story.as_str(),
            "since": self.since,
            "text": format!("{}{stat}", self.text),
            "actions": self.actions,
        });
        self.add_to(&mut json);
        json
    }
}
