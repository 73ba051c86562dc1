//! `adjutant story …`: a story from its first step to the last, and refused commands.

use serde_json::Value;

use crate::golden::project::GoldenProject;
use crate::golden::transcript::{CommandTranscript, RecordedCall};

/// The state file of the recorded story.
const STATE: &str = ".ai/states/US-005.json";

fn state(project: &GoldenProject) -> Value {
    serde_json::from_str(&project.read(STATE)).expect("a state is JSON")
}

/// Writes a hand-over for the current step and attempt.
fn hand_over(project: &GoldenProject, status: &str, more: &str) {
    let state = state(project);
    let (step, attempt) = (state["step"].as_str().unwrap_or_default(), &state["attempt"]);
    let document = match step {
        "bdd" => Some("docs/bdd/US-005.md"),
        "sdd-delta" => Some("docs/deltas/US-005.md"),
        "contract" => Some("docs/api/openapi.yaml"),
        _ => None,
    };
    if let Some(path) = document {
        project.write(path, "Cart\n");
    }
    let front = format!("story: US-005\nstep: {step}\nattempt: {attempt}\nstatus: {status}");
    project.write(
        ".ai/handoffs/US-005.md",
        &format!("---\n{front}\nreason: null\n{more}---\nDone.\n"),
    );
}

pub(super) fn record(transcript: &mut CommandTranscript<'_>) {
    let project = GoldenProject::empty();
    project.init_git();
    transcript.run(&project, "no project", "story status");
    transcript.run(&project, "a new project", "story init");
    transcript.run(&project, "a project that is ready already", "story init");
    transcript.run(&project, "the hooks", "story init --claude --git");
    transcript.run(&project, "no stories", "story list");
    transcript.run(&project, "no story", "story next");
    transcript.run(&project, "a new story", "story start US-005");
    transcript.run(&project, "a story that was started", "story start US-005");
    transcript.run(&project, "a story that has to wait", "story start US-006 --blocked-by US-005");
    transcript.run(&project, "two stories", "story list");
    transcript.run(&project, "two stories and none named", "story status");
    transcript.run(&project, "a story that waits for another", "story next --story US-006");
    let line = "story next --story US-005 --note 'mind the dates'";
    transcript.run(&project, "the first step", line);
    transcript.run(&project, "a step that runs", "story next --story US-005");
    transcript.run(&project, "what the executor is told", "story prompt --story US-005");
    transcript.run(&project, "a step that runs", "story status --story US-005");
    transcript.run(&project, "nothing is late", "story poll");
    let line = "story hook --if-handed-over --story US-005";
    transcript.run(&project, "nothing was handed over", line);
    hand_over(&project, "pass", "files_changed: [notes.txt]\n");
    project.write("notes.txt", "one\nTWO\nthree\n");
    transcript.run(&project, "a step that passed", "story hook --story US-005");
    transcript.run(&project, "files that changed", "story status --story US-005");
    transcript.run(&project, "the changes", "story diff --story US-005");
    transcript.run(&project, "a story that waits for another", "story why --story US-006");
    project.ok("story next --story US-005");
    let line = "story report-error 'it fell over' --story US-005";
    transcript.run(&project, "an executor that broke", line);
    transcript.run(&project, "back to a step", "story rollback contract --story US-005");
    project.ok("story next --story US-005");
    hand_over(&project, "pass", "");
    project.ok("story hook --story US-005");
    transcript.run(&project, "a person is asked", "story next --story US-005");
    let line = "story reject scope_warning --note 'too much' --story US-005";
    transcript.run(&project, "a person says no", line);
    project.ok("story rollback contract --story US-005");
    project.ok("story next --story US-005");
    hand_over(&project, "pass", "");
    project.ok("story hook --story US-005");
    project.ok("story next --story US-005");
    transcript.run(&project, "a person says yes", "story approve --note good --story US-005");
    transcript.run(&project, "no agents", "story auto US-005");
    transcript.run(&project, "by hand again", "story auto US-005 --off");
    finish(transcript, &project);
}

fn finish(transcript: &mut CommandTranscript<'_>, project: &GoldenProject) {
    transcript.run(project, "a story that is not done", "story reopen US-005");
    transcript.run(project, "to the end by hand", "story rollback done --story US-005");
    let mut done = state(project);
    (done["step"], done["status"]) = ("done".into(), "pass".into());
    project.write(STATE, &done.to_string());
    transcript.run(project, "a story that is done", "story status --story US-005");
    transcript.run(project, "a story that is done", "story start US-005");
    let line = "story reopen US-005 --step impl --note 'one more thing'";
    transcript.run(project, "a story that was done", line);
    transcript.run(project, "stories at different steps", "story list");
}

pub(super) fn record_refusals(transcript: &mut CommandTranscript<'_>) {
    let project = GoldenProject::new();
    project.ok("story start US-001 --project .");
    for (note, line) in [
        ("nothing waits for a person", "story approve"),
        ("nothing waits for a person", "story reject default"),
        ("a step that does not run", "story hook"),
        ("a step that does not run", "story report-error broke"),
        ("a story that is not there", "story status --story US-404"),
        ("a project that is not there", "story list --project nowhere"),
        ("no agent is configured", "story auto"),
        ("no agent is configured", "story start US-002 --auto"),
        ("begun anew", "story start US-001 --force"),
    ] {
        transcript.run(&project, note, line);
    }
    let inside = [("ADJUTANT_RUN_TOKEN", "t"), ("ADJUTANT_AGENT", "swe")];
    for line in ["story start US-009", "story approve", "story next", "story auto"] {
        let call = RecordedCall::new("from inside a run", line).with_variables(inside);
        transcript.call(&project, &call);
    }
    for (note, line) in [
        ("a story on the board", "task list"),
        ("a story on the board", "task show {1}"),
        ("a story that is started by hand", "why {1}"),
        ("a story's task cannot be moved", "task move {1} backlog"),
    ] {
        transcript.run(&project, note, line);
    }
    project.write(".ai/STATE.json", "{\"story\": \"US-001\", \"step\": \"nowhere\"}");
    transcript.run(&project, "a state that makes no sense", "story status");
    project.write(".ai/step-rules.yaml", "steps: 7\n");
    transcript.run(&project, "rules that make no sense", "story list");
}
