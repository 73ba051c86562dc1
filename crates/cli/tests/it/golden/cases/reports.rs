//! The commands that an agent calls inside its run: `report`, `beat` and `session-end`.

use serde_json::json;

use crate::golden::project::GoldenProject;
use crate::golden::transcript::{CommandTranscript, RecordedCall};

/// Adds tasks, each for an agent of its own, and has the agents fetch them. Only four tasks may be
/// in progress at a time.
fn fetched(project: &GoldenProject, numbers: std::ops::RangeInclusive<u32>) {
    for number in numbers {
        project.ok(&format!("task add 'Task {number}' --agent swe-{number} --status ready"));
        project.fetch_task(&format!("swe-{number}"));
    }
}

/// Returns a call with the environment of a task's first run.
fn inside<'a>(
    project: &GoldenProject,
    note: &'a str,
    line: &'a str,
    number: u32,
) -> RecordedCall<'a> {
    let (task, agent) = (format!("{{{number}}}"), format!("swe-{number}"));
    RecordedCall::new(note, line).with_variables(project.run_environment(&task, &agent, 1))
}

pub(super) fn record(transcript: &mut CommandTranscript<'_>) {
    let project = GoldenProject::new();
    fetched(&project, 1..=4);
    for (line, number) in [
        ("report progress 'half of it'", 1),
        ("beat", 1),
        (
            "report done --notes 'All of it.' --tests 12/11/1 --summary outputs/summary.md \
             --deliverable src/parser.rs",
            1,
        ),
        ("report partial --notes 'Half of it.'", 2),
        ("report blocked --blocker 'no key' --blocker 'no oil'", 3),
        ("report needs-review --notes 'Please look.'", 4),
    ] {
        transcript.call(&project, &inside(&project, "inside a run", line, number));
    }
    fetched(&project, 5..=8);
    for (line, number) in [("report accept", 5), ("report refuse 'no test plan'", 6)] {
        transcript.call(&project, &inside(&project, "inside a run", line, number));
    }
    refused(transcript, &project);
    session_end(transcript, &project);
}

fn refused(transcript: &mut CommandTranscript<'_>, project: &GoldenProject) {
    for line in ["report done", "report progress x", "report accept", "report refuse x", "beat"] {
        transcript.run(project, "outside a run", line);
    }
    project.ok("task move {7} ready");
    project.fetch_task("swe-7");
    for line in ["report done", "report progress late", "beat"] {
        transcript.call(project, &inside(project, "a run that was replaced", line, 7));
    }
    let wrong = || [("ADJUTANT_RUN_TOKEN", "made-up")];
    for line in ["report done", "beat"] {
        let call = inside(project, "a token that was never given out", line, 8);
        transcript.call(project, &call.with_variables(wrong()));
    }
}

fn session_end(transcript: &mut CommandTranscript<'_>, project: &GoldenProject) {
    transcript.run(project, "no result was left", "session-end");
    transcript.run(project, "an unknown task", "session-end {40}");
    for (number, outcome) in [(9, "partial"), (10, "finished")] {
        project.ok(&format!("task add 'Task {number}' --agent qa --status ready"));
        project.ok(&format!("task move {{{number}}} in-progress"));
        let result = json!({
            "taskId": format!("{{{number}}}"), "agentId": "qa",
            "completedAt": "2026-02-08T21:10:00.000Z", "outcome": outcome,
            "summaryRef": "outputs/summary.md", "handoffRef": "outputs/handoff.md",
            "deliverables": [], "tests": {"total": 3, "passed": 3, "failed": 0},
            "blockers": [], "notes": "So far.",
        });
        let path = format!(".adjutant/runs/{{{number}}}/run_result.json");
        project.write(&path, &result.to_string());
    }
    transcript.run(project, "results that were left", "session-end");
    transcript.run(project, "the result of one task", "session-end {9}");
}
