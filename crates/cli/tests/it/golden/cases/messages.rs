//! `adjutant send` with messages and documents of every dialect, and `mission`.

use serde_json::{Value, json};

use crate::golden::project::GoldenProject;
use crate::golden::transcript::{CommandTranscript, RecordedCall};

/// Returns a message from an agent about a task.
pub(in crate::golden) fn message(kind: &str, task: &str, from: &str, payload: &Value) -> String {
    let message = json!({
        "protocol": "aof", "version": 1, "type": kind, "taskId": task, "fromAgent": from,
        "toAgent": "dispatcher", "sentAt": "2026-02-08T21:10:00.000Z", "payload": payload,
    });
    message.to_string()
}

/// Returns a `completion.report` message.
pub(in crate::golden) fn completion(task: &str, from: &str, outcome: &str) -> String {
    let payload = json!({
        "outcome": outcome, "summaryRef": "outputs/summary.md", "deliverables": [],
        "tests": {"total": 10, "passed": 10, "failed": 0}, "blockers": ["no key"],
        "notes": "All met.",
    });
    message("completion.report", task, from, &payload)
}

/// Returns an example document from a protocol's guide.
pub(in crate::golden) fn example(name: &str) -> String {
    let path = format!("{}/tests/examples/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub(super) fn record(transcript: &mut CommandTranscript<'_>) {
    let project = GoldenProject::new();
    for title in ["One", "Two", "Three", "Four"] {
        project.ok(&format!("task add {title} --agent swe --status ready"));
    }
    for number in 1..=3 {
        project.ok(&format!("task move {{{number}}} in-progress"));
    }
    send_messages(transcript, &project);
    send_documents(transcript, &project);
    print_orders(transcript, &project);
}

fn send_messages(transcript: &mut CommandTranscript<'_>, project: &GoldenProject) {
    let mut send = |note: &str, input: String| {
        transcript.call(project, &RecordedCall::new(note, "send").with_input(input));
    };
    let update = |task: &str, from: &str, text: &str| {
        let payload = json!({"taskId": task, "agentId": from, "progress": text});
        message("status.update", task, from, &payload)
    };
    send("applied: progress", update("{1}", "swe", "half of it"));
    send("applied: a report", completion("{1}", "swe", "done"));
    send("applied: the same report again", completion("{1}", "swe", "done"));
    send("rejected: an unknown task", completion("{40}", "swe", "done"));
    send("rejected: another agent", completion("{2}", "qa", "done"));
    send("rejected: every problem is named", {
        let payload = json!({"outcome": "finished", "tests": {"total": 1}, "notes": 7});
        message("completion.report", "{2}", "swe", &payload)
    });
    send("rejected: broken JSON", "AOF/1 {\"protocol\":".to_owned());
    send("unknown: a type of message that is not known", {
        message("mood.report", "{2}", "swe", &json!({"mood": "good"}))
    });
    send("ignored: not a message", "hello there".to_owned());
    send("ignored: nothing", String::new());
    let lines = [
        update("{2}", "swe", "a third"),
        "hello".to_owned(),
        completion("{2}", "qa", "done"),
        completion("{2}", "swe", "blocked"),
    ];
    let call =
        RecordedCall::new("a message on every line", "send --lines").with_input(lines.join("\n"));
    transcript.call(project, &call);
    project.write("message.json", &completion("{3}", "swe", "partial"));
    transcript.run(project, "a file", "send message.json");
    transcript.run(project, "a file that is not there", "send nowhere.json");
}

fn send_documents(transcript: &mut CommandTranscript<'_>, project: &GoldenProject) {
    let parent =
        r#"{"taskId":"FEATURE-AUTH-001","delegatedToMode":"lead","objective":"Authentication"}"#;
    for (note, input) in [
        ("a mission", example("mission.yaml")),
        ("the same mission again", example("mission.yaml")),
        ("a mission with other content", example("mission.yaml").replace("module", "part")),
        ("a mission that is broken", "version: \"1\"\ntask_id: [T1\ninstruction: x\n".to_owned()),
        ("a new_task whose parent is not there", example("new_task.json")),
        ("a new_task", parent.to_owned()),
        ("a new_task that is a part of another", example("new_task.json")),
    ] {
        transcript.call(project, &RecordedCall::new(note, "send").with_input(input));
    }
    transcript.run(project, "the tasks of an epic", "task list --epic E005");
    transcript.run(project, "a task that came as a mission", "task show T042");
    project.ok("task move T042 in-progress");
    project.ok("task move API-SPEC-001 in-progress");
    for (note, input) in
        [("a result", example("result.yaml")), ("an attempt_completion", example("success.json"))]
    {
        transcript.call(project, &RecordedCall::new(note, "send").with_input(input));
    }
    transcript.run(project, "an epic with work in review", "task list --epic E005");
}

fn print_orders(transcript: &mut CommandTranscript<'_>, project: &GoldenProject) {
    for (note, line) in [
        ("the prompt of a task", "mission {4}"),
        ("as an AOF/1 message", "mission {4} --dialect aof"),
        ("as a mission", "mission {4} --dialect mission"),
        ("as a new_task", "mission {4} --dialect new_task"),
        ("a task that came as a mission", "mission T042"),
        ("a task that came as a new_task", "mission API-SPEC-001"),
        ("a mission as a prompt", "mission T042 --dialect prompt"),
        ("an unknown task", "mission {40}"),
    ] {
        transcript.run(project, note, line);
    }
}
