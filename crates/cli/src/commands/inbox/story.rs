//! Stories that wait for a person, for the inbox.

use std::path::Path;

use adjutant_core::pipeline::{Status, StoryId};
use adjutant_runtime::SystemClock;
use adjutant_runtime::story::changes::{self, Changes};
use adjutant_runtime::story::{Answer, Project};
use serde_json::{Value, json};

use crate::output::Output;

/// A story that waits for a person.
pub(super) struct Waiting {
    pub(super) story: StoryId,
    pub(super) text: String,
    pub(super) actions: Vec<String>,
    since: Option<String>,
    answer: Answer,
    changed: Option<Changes>,
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
    let stat =
        changed.as_ref().map(|changed| changed.stat.as_str()).filter(|stat| !stat.is_empty());
    let stat = stat.map(|stat| format!(" ({stat})"));
    let (error, stat) = (error.unwrap_or_default(), stat.unwrap_or_default());
    let text = format!("{} {why}{error}{stat}", answer.state.step);
    let actions = ["approve", "reject REASON"].map(|word| format!("story {word} --story {story}"));
    let since = answer.state.completed_at.map(|time| time.to_string());
    Some(Waiting { story, text, actions: actions.to_vec(), since, answer, changed })
}

impl Waiting {
    pub(super) fn json(&self) -> Value {
        let state = &self.answer.state;
        let tests = state.tests.map(|t| json!({"pass": t.pass, "fail": t.fail, "skip": t.skip}));
        let changed = self.changed.as_ref().map(|it| json!({"files": it.files, "stat": it.stat}));
        json!({
            "kind": "story",
            "taskId": self.story.as_str(),
            "since": self.since,
            "text": self.text,
            "actions": self.actions,
            "step": state.step.as_str(),
            "status": state.status.as_str(),
            "tests": tests,
            "changed": changed,
        })
    }
}
