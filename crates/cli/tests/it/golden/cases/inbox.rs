//! `inbox` with an entry of every kind, and `approve`, `reject`, `answer` and `inbox apply`.

use adjutant_core::schedule::AttentionKind;
use serde_json::Value;

use super::messages::{completion, example};
use crate::golden::project::GoldenProject;
use crate::golden::transcript::{CommandTranscript, OutputForm, RecordedCall};

/// An agent of the kind `claude` that is not signed in, and an agent with a budget.
const SETTINGS: &str = "\
[scheduler]
concurrency = 1

[agents.out]
kind = \"claude\"
sandbox = \"none\"
command = [\"sh\", \"../out.sh\"]

[agents.spender]
kind = \"command\"
sandbox = \"none\"
command = [\"true\"]
budget_tokens_day = 50
";

const NOT_SIGNED_IN: &str = r#"
echo '{"type":"system","subtype":"api_retry","error_status":401,"error":"authentication_failed"}'
exit 1
"#;

const PERMISSION: &str = "
metadata:
  permission:
    attempt: 1
    fence: 1
    number: 1
    since: 2026-02-08T20:00:00.000Z
    text: 'execute: touch made.txt'
    choices:
      - {id: yes, name: Yes, kind: allow_once}
      - {id: ever, name: Always, kind: allow_always}
      - {id: no, name: No, kind: reject_once}
---
";

const REFUSED_MERGE: &str = "
metadata:
  work:
    refused:
      reason: 'merge conflict with main in: src/a.rs'
      files: [src/a.rs]
---
";

pub(super) fn record(transcript: &mut CommandTranscript<'_>) {
    let project = GoldenProject::with_settings(SETTINGS);
    transcript.run(&project, "an empty inbox", "inbox");
    project.write("../out.sh", NOT_SIGNED_IN);
    project.ok("task add 'No agent' --agent out --status ready");
    project.ok("up --until-idle");
    fill(&project);
    let inbox = "inbox";
    transcript.run(&project, "an entry of every kind", inbox);
    if transcript.form() == OutputForm::Json {
        has_every_kind(&project.json(inbox));
    }
    why(transcript, &project);
    settle(transcript, &project);
}

/// Creates a task for every kind of inbox entry.
fn fill(project: &GoldenProject) {
    for title in ["Reviewed", "Blocked", "Late", "Given-up", "Waiting", "Allowed"] {
        project.ok(&format!("task add {title} --agent swe --status ready"));
    }
    project.ok("task move {2} in-progress");
    project.send(&completion("{2}", "swe", "done"));
    project.ok("task move {3} blocked --reason 'no key'");
    project.ok("task move {6} backlog");
    project.ok("task move {7} backlog");
    // A report of a replaced run: it is kept as salvage.
    for fence in 1..=2 {
        project.ok("task move {4} ready");
        project.ok(&format!("task edit {{4}} --title 'Late {fence}' --priority critical"));
        project.fetch_task("swe");
    }
    let late = RecordedCall::new("", "report done --notes 'All of it.'");
    late.with_variables(project.run_environment("{4}", "swe", 1)).run(project, OutputForm::Json);
    project.ok("task cancel {4}");
    // A run that asks for a permission. The metadata is what such a run leaves behind.
    project.ok("task move {7} ready");
    project.ok("task edit {7} --priority critical");
    project.fetch_task("swe");
    let file = ".adjutant/tasks/in-progress/{7}.md";
    let text = project.read(file).replacen("\n---\n", PERMISSION, 1);
    project.write(file, &text);
    // A task in the dead-letter queue.
    let (ready, given_up) = (".adjutant/tasks/ready/{5}.md", ".adjutant/tasks/deadletter/{5}.md");
    let text = project.read(ready).replace("status: ready", "status: deadletter");
    std::fs::remove_file(project.path(ready)).expect("it was there");
    project.write(given_up, &text);
    // A task with a missing dependency.
    project.ok("task add 'Held back' --depends-on {6} --status ready");
    std::fs::remove_file(project.path(".adjutant/tasks/backlog/{6}.md")).expect("it was there");
    // A question, in a dialect that supports questions.
    let parent = r#"{"taskId":"FEATURE-AUTH-001","delegatedToMode":"lead","objective":"Sign in"}"#;
    project.send(parent);
    project.send(&example("new_task.json"));
    project.ok("task move API-SPEC-001 in-progress");
    project.send(&example("clarification_needed.json"));
    project.ok("task cancel FEATURE-AUTH-001");
    // An exhausted budget with checks that no command wrote, and a file that cannot be read.
    project.ok("task add 'Too expensive' --agent spender --status ready");
    project.ok("task add 'Unreadable'");
    let file = ".adjutant/tasks/ready/{11}.md";
    let used = "metadata:\n  usage:\n    - {day: 2026-02-09, agent: spender, inputTokens: 90, \
                outputTokens: 10, cachedTokens: 0, costUsd: 1.5}\n  refusedHosts:\n    - {agent: spender, host: \"evil.example:443\"}\n  checks:\n    - make test\n---\n";
    let text = project.read(file).replacen("\n---\n", &format!("\n{used}"), 1);
    project.write(file, &text);
    project.write(".adjutant/tasks/backlog/{12}.md", "---\ntitle: [\n---\n");
    // Work that was approved and could not be merged. The metadata is what the merge leaves behind.
    project.ok("task add 'In conflict' --agent swe --status ready");
    let file = ".adjutant/tasks/ready/{13}.md";
    let text = project.read(file).replacen("\n---\n", REFUSED_MERGE, 1);
    project.write(file, &text);
    project.ok("task list");
}

/// A new kind of inbox entry is a compile error here: it needs a task in `fill`.
const fn is_filled(kind: AttentionKind) -> bool {
    match kind {
        AttentionKind::Review
        | AttentionKind::Merge
        | AttentionKind::Question
        | AttentionKind::Permission
        | AttentionKind::Checks
        | AttentionKind::Blocked
        | AttentionKind::Deadletter
        | AttentionKind::HeldBack
        | AttentionKind::Salvage
        | AttentionKind::Unusable
        | AttentionKind::Budget
        | AttentionKind::Network
        | AttentionKind::Unreadable => true,
        // It needs files that this user cannot change: see commands/file_faults.rs.
        AttentionKind::OnHold => false,
    }
}

fn has_every_kind(inbox: &Value) {
    let kinds = [
        AttentionKind::Review,
        AttentionKind::Merge,
        AttentionKind::Question,
        AttentionKind::Permission,
        AttentionKind::Checks,
        AttentionKind::Blocked,
        AttentionKind::Deadletter,
        AttentionKind::HeldBack,
        AttentionKind::Salvage,
        AttentionKind::Unusable,
        AttentionKind::Budget,
        AttentionKind::Network,
        AttentionKind::Unreadable,
    ];
    for kind in kinds {
        let found = inbox.as_array().expect("a list").iter().any(|e| e["kind"] == kind.as_str());
        assert!(found && is_filled(kind), "no {} in {inbox:#}", kind.as_str());
    }
}

fn why(transcript: &mut CommandTranscript<'_>, project: &GoldenProject) {
    for (note, line) in [
        ("an agent that cannot be used", "why {1}"),
        ("a task that was given up", "why {5}"),
        ("a dependency that is gone", "why {8}"),
        ("a budget that is used up", "why {11}"),
        ("a file that cannot be read", "why {12}"),
    ] {
        transcript.run(project, note, line);
    }
    transcript.run(project, "a task that an agent has", "status");
}

fn settle(transcript: &mut CommandTranscript<'_>, project: &GoldenProject) {
    for (note, line) in [
        ("not in review", "approve {8}"),
        ("an unknown task", "approve {40}"),
        ("work in review", "approve {2} --note 'Well done.'"),
        ("work that is done already", "approve {2}"),
        ("not in review", "reject {8} --reason no"),
        ("an empty reason", "reject {8} --reason ' '"),
        ("an unknown task", "reject {40} --reason no"),
        ("nothing was asked", "answer {8} yes"),
        ("an empty answer", "answer {3} ''"),
        ("an unknown task", "answer {40} yes"),
        ("a blocked task", "answer {3} 'The key is in the safe.'"),
        ("a question", "answer API-SPEC-001 'By email.'"),
        ("a permission of another number", "answer {7} 2:allow"),
        ("a permission that is no choice", "answer {7} 1:perhaps"),
        ("a permission", "answer {7} 1:allow"),
        ("a task that was given up", "task retry {5}"),
        ("no such report", "inbox apply {2} 7-message.json"),
        ("an unknown task", "inbox apply {40} 1-message.json"),
    ] {
        transcript.run(project, note, line);
    }
    transcript.run(project, "a report on a cancelled task", &late_report(project));
    transcript.run(project, "what is left", "inbox");
    project.ok("task add 'Send it back' --agent swe --status ready");
    project.ok("task move {13} in-progress");
    project.ok("task move {13} review");
    transcript.run(project, "work in review", "reject {13} --reason 'Not blue enough.'");
    apply_late_report(transcript);
}

fn apply_late_report(transcript: &mut CommandTranscript<'_>) {
    let project = GoldenProject::new();
    project.ok("task add Late --agent swe --status ready");
    for _ in 0..2 {
        project.fetch_task("swe");
        project.ok("task move {1} ready");
    }
    let late = RecordedCall::new("", "report done --notes 'All of it.'");
    late.with_variables(project.run_environment("{1}", "swe", 1)).run(&project, OutputForm::Json);
    transcript.run(&project, "a report that came too late", "inbox");
    transcript.run(&project, "a report that came too late", &late_report(&project));
}

/// Returns the command line that the inbox shows for applying a late report.
fn late_report(project: &GoldenProject) -> String {
    let inbox = project.json("inbox");
    let late = inbox.as_array().expect("a list").iter().find(|entry| entry["kind"] == "salvage");
    late.expect("a late report")["actions"][0].as_str().expect("a command").to_owned()
}
