//! Text that people wrote survives every message and every command, byte for byte.

use adjutant_engine::{EngineRequest, Request};
use adjutant_model::command::TaskChanges;
use adjutant_model::review::ReviewPolicy;
use adjutant_model::{AgentId, AnswerVerdict, Command, Priority, Status, TaskId, Time};
use adjutant_testkit::TestProject;
use adjutant_testkit::message::{completion, handoff, progress};
use adjutant_testkit::project::{message_request, operator_request};

use super::{ID, OTHER, file};

/// A file as people and other programs write it: every oddity that is still YAML.
const ODD: &str = r#"---
# Kept by hand. Do not sort!
schemaVersion: 1
project:   "adjutant"   # blanks and quotes
id: 'TASK-2026-02-09-001'
"title": >-
  A title that is
  folded
status: STATUS # the folder decides

priority: "normal"
createdAt: 2026-02-09T20:00:00.000Z
updatedAt:  2026-02-09T20:00:00.000Z   # ours
lastTransitionAt: '2026-02-09T20:00:00.000Z'
createdBy: human:alice
routing: # whom it is for
    team: core
    agent: swe   # by name
    tags: [a, 'b']
sla: {maxInProgressMs: 3600000, onViolation: alert}
x-list:
- one
-   two # c
x-text: |
  status: not a field
  # not a comment

  ---x
x-flow: {a: 1,
  b: [2, 3]}
x-null: ~
x-yes: yes
x-octal: 0o17
x-anchor: &here
  k: v
x-alias: *here
metadata:
  owner: "bob"   # not ours
  delegationDepth: 0
# the end
---
First line, no blank line before it.  

<!-- status: done -->
	tabs	and trailing blanks   

## Work Log

- by hand

## After

Last line"#;

const NOW: &str = "2026-02-09T21:00:00.000Z";

/// The replacements that any change of status makes in the file.
fn status_changes(status: &str) -> Vec<(String, String)> {
    let mut changes = update_time_changes();
    changes.push((": STATUS #".into(), format!(": {status} #")));
    changes.push(("'2026-02-09T20:00:00.000Z'".into(), NOW.into()));
    changes
}

/// The replacements that any change makes in the file.
fn update_time_changes() -> Vec<(String, String)> {
    vec![("updatedAt:  2026-02-09T20:00:00.000Z".into(), format!("updatedAt:  {NOW}"))]
}

fn with_change(mut changes: Vec<(String, String)>, old: &str, new: &str) -> Vec<(String, String)> {
    changes.push((old.into(), new.into()));
    changes
}

/// Adds a field of ours at the end of the metadata.
fn with_metadata(changes: Vec<(String, String)>, line: &str) -> Vec<(String, String)> {
    let old = "  delegationDepth: 0\n";
    with_change(changes, old, &format!("{old}  {line}\n"))
}

/// Sends requests about a task with `status` in the odd file and compares the whole file: plain,
/// and with a byte order mark and CRLF line ends.
fn check(status: Status, requests: &[EngineRequest], after: Status, changes: &[(String, String)]) {
    let expected = changes.iter().fold(ODD.to_owned(), |text, (old, new)| {
        assert_eq!(text.matches(old.as_str()).count(), 1, "{old:?}");
        text.replace(old, new)
    });
    for (bom, eol) in [("", "\n"), ("\u{feff}", "\r\n")] {
        let render = |text: &str, status: Status| {
            let text = text.replace("STATUS", status.as_str()).replace('\n', eol);
            format!("{bom}{text}")
        };
        let project = TestProject::new();
        project.write(&file(status, ID), &render(ODD, status));
        project.write_task(OTHER, Status::InProgress, "routing:\n  agent: swe\n");
        let mut engine = project.open_engine();
        for request in requests {
            let answered = engine.submit_one(request.clone()).expect("an answer");
            assert_ne!(answered.answer.verdict, AnswerVerdict::Ignored);
        }
        assert_eq!(project.status_folders_of(ID), [after]);
        assert_eq!(project.read(&file(after, ID)), render(&expected, after), "{eol:?}");
        engine.rest().expect("at rest");
        drop(engine);
        let again = project.open_engine();
        assert_eq!(again.world().task(&id()).map(adjutant_model::Task::status), Some(after));
        assert_eq!(project.read(&file(after, ID)), render(&expected, after), "{eol:?}");
    }
}

fn id() -> TaskId {
    TaskId::parse(ID).expect("a good id")
}

fn edit_request(changes: TaskChanges) -> [EngineRequest; 1] {
    [operator_request(Command::Edit { id: id(), changes: Box::new(changes) })]
}

const LOGGED: &str = "- by hand\n- 2026-02-09T21:10:00.000Z Progress: half\n";

#[test]
fn progress_report_adds_one_line() {
    let changes = with_change(update_time_changes(), "- by hand\n", LOGGED);
    let report = [message_request(&progress(ID, "swe", "half"))];
    check(Status::InProgress, &report, Status::InProgress, &changes);
}

#[test]
fn status_update_moves_file() {
    let mut update = progress(ID, "swe", "stuck");
    update["payload"]["status"] = "blocked".into();
    let update = [message_request(&update)];
    let changes = with_metadata(status_changes("STATUS"), "statusReason: stuck");
    check(Status::InProgress, &update, Status::Blocked, &changes);
}

#[test]
fn completion_moves_file_and_records_the_agent() {
    let noted = "reportedBy: swe\n  statusReason: All acceptance criteria met.";
    let changes = with_metadata(status_changes("STATUS"), noted);
    for (outcome, after) in [
        ("done", Status::Review),
        ("partial", Status::Review),
        ("needs_review", Status::Review),
        ("blocked", Status::Blocked),
    ] {
        let report = [message_request(&completion(ID, "swe", outcome))];
        check(Status::InProgress, &report, after, &changes);
    }
}

#[test]
fn handoff_links_child_to_parent() {
    let request = [message_request(&handoff(ID, OTHER, "swe", "qa"))];
    let changes = with_change(update_time_changes(), "agent: swe ", "agent: qa ");
    let changes = with_change(changes, "delegationDepth: 0", "delegationDepth: 1");
    let changes = with_change(changes, "# the end\n", &format!("# the end\nparentId: {OTHER}\n"));
    check(Status::Ready, &request, Status::Ready, &changes);
}

#[test]
fn handoff_acceptance_writes_nothing_and_rejection_blocks() {
    let answer = |kind: &str, accepted: bool| {
        let mut message = progress(ID, "swe", "said");
        message["type"] = kind.into();
        message["payload"]["accepted"] = accepted.into();
        [message_request(&message)]
    };
    check(Status::Ready, &answer("handoff.accepted", true), Status::Ready, &[]);
    let rejected = answer("handoff.rejected", false);
    let changes = with_metadata(status_changes("STATUS"), "statusReason: handoff rejected");
    check(Status::Ready, &rejected, Status::Blocked, &changes);
}

#[test]
fn refused_request_writes_nothing() {
    let stranger = message_request(&completion(ID, "stranger", "done"));
    let spoilt = |field: &str, value: &str| {
        let mut message = completion(ID, "swe", "done");
        message[field] = value.into();
        message_request(&message)
    };
    let (broken, unknown) = (spoilt("version", "2"), spoilt("type", "custom.talk"));
    let command = operator_request(Command::Approve { id: id(), note: String::new() });
    let requests = [stranger, broken, unknown, command];
    check(Status::InProgress, &requests, Status::InProgress, &[]);
}

#[test]
fn session_end_applies_run_result_file() {
    let mut result = completion(ID, "swe", "done")["payload"].clone();
    result["taskId"] = ID.into();
    result["agentId"] = "swe".into();
    result["completedAt"] = "2026-02-09T21:10:00.000Z".into();
    let project = TestProject::new();
    let text = ODD.replace("STATUS", "in-progress");
    project.write(&file(Status::InProgress, ID), &text);
    project.write(&format!("runs/{ID}/run_result.json"), &result.to_string());
    let answered = project.open_engine().submit_one(Request::SessionEnd(None)).expect("an answer");
    assert_eq!(answered.answer.verdict, AnswerVerdict::Applied);
    let noted = "reportedBy: swe\n  statusReason: All acceptance criteria met.";
    let expected = with_metadata(status_changes("review"), noted)
        .iter()
        .fold(ODD.to_owned(), |text, (old, new)| text.replace(old, new));
    assert_eq!(project.read(&file(Status::Review, ID)), expected);
}

#[test]
fn command_moves_file() {
    let move_to = |to| operator_request(Command::Move { id: id(), to, reason: "so".into() });
    let changes = status_changes("STATUS");
    check(Status::Backlog, &[move_to(Status::Ready)], Status::Ready, &changes);
    check(Status::Ready, &[move_to(Status::InProgress)], Status::InProgress, &changes);
    let approve = operator_request(Command::Approve { id: id(), note: "good".into() });
    check(Status::Review, &[approve], Status::Done, &changes);
    let cancel = operator_request(Command::Cancel { id: id(), reason: "no".into() });
    check(Status::Blocked, &[cancel], Status::Cancelled, &changes);
    check(
        Status::Deadletter,
        &[operator_request(Command::Retry { id: id() })],
        Status::Ready,
        &changes,
    );
    let reject = operator_request(Command::Reject { id: id(), reason: "again".into() });
    let changes = with_metadata(status_changes("STATUS"), "feedback: again");
    check(Status::Review, &[reject], Status::Ready, &changes);
}

#[test]
fn edit_command_changes_one_field() {
    let ready = Status::Ready;
    let title = TaskChanges { title: Some("Other".into()), ..TaskChanges::default() };
    let expected = with_change(
        update_time_changes(),
        "\"title\": >-\n  A title that is\n  folded\n",
        "\"title\": Other\n",
    );
    check(ready, &edit_request(title), ready, &expected);
    let priority = TaskChanges { priority: Some(Priority::High), ..TaskChanges::default() };
    let expected = with_change(update_time_changes(), "priority: \"normal\"", "priority: high");
    check(ready, &edit_request(priority), ready, &expected);
    let agent = AgentId::parse("qa").ok();
    let agent = TaskChanges { agent: Some(agent), ..TaskChanges::default() };
    let expected =
        with_change(update_time_changes(), "agent: swe   # by name", "agent: qa   # by name");
    check(ready, &edit_request(agent), ready, &expected);
    let nobody = TaskChanges { agent: Some(None), ..TaskChanges::default() };
    let expected = with_change(update_time_changes(), "    agent: swe   # by name\n", "");
    check(ready, &edit_request(nobody), ready, &expected);
    let tags = TaskChanges { tags: Some(vec!["x".into()]), ..TaskChanges::default() };
    let expected = with_change(update_time_changes(), "tags: [a, 'b']", "tags:\n      - x");
    check(ready, &edit_request(tags), ready, &expected);
    let review = TaskChanges { review: Some(ReviewPolicy::NotNeeded), ..TaskChanges::default() };
    let expected = with_metadata(update_time_changes(), "reviewRequired: false");
    check(ready, &edit_request(review), ready, &expected);
}

#[test]
fn edit_command_adds_new_fields_at_the_end() {
    let ready = Status::Ready;
    let end = |line: &str| {
        with_change(update_time_changes(), "# the end\n", &format!("# the end\n{line}\n"))
    };
    let other = TaskId::parse(OTHER).expect("a good id");
    let resource = TaskChanges { resource: Some(Some("staging".into())), ..TaskChanges::default() };
    check(ready, &edit_request(resource), ready, &end("resource: staging"));
    let due = Time::parse("2026-02-10T12:00:00Z").ok();
    let due = TaskChanges { due_by: Some(due), ..TaskChanges::default() };
    check(ready, &edit_request(due), ready, &end("dueBy: 2026-02-10T12:00:00.000Z"));
    let parent = TaskChanges { parent: Some(Some(other.clone())), ..TaskChanges::default() };
    check(ready, &edit_request(parent), ready, &end(&format!("parentId: {OTHER}")));
    let depends = TaskChanges { depends_on: Some(vec![other]), ..TaskChanges::default() };
    check(ready, &edit_request(depends), ready, &end(&format!("dependsOn:\n  - {OTHER}")));
}

#[test]
fn edit_command_with_body_keeps_front_matter() {
    let body = &ODD[ODD.find("\n---\nFirst").expect("a body") + 5..];
    let edit = TaskChanges { body: Some("New".into()), ..TaskChanges::default() };
    check(
        Status::Ready,
        &edit_request(edit),
        Status::Ready,
        &with_change(update_time_changes(), body, "\nNew"),
    );
}

#[test]
fn task_life_changes_only_fields_of_ours() {
    let requests = [
        operator_request(Command::Move { id: id(), to: Status::InProgress, reason: "go".into() }),
        message_request(&progress(ID, "swe", "half")),
        message_request(&completion(ID, "swe", "done")),
        operator_request(Command::Reject { id: id(), reason: "again".into() }),
        operator_request(Command::Move { id: id(), to: Status::InProgress, reason: "go".into() }),
        message_request(&completion(ID, "swe", "done")),
        operator_request(Command::Approve { id: id(), note: String::new() }),
    ];
    let changes = with_change(status_changes("STATUS"), "- by hand\n", LOGGED);
    let changes = with_metadata(changes, "reportedBy: swe\n  feedback: again");
    check(Status::Ready, &requests, Status::Done, &changes);
}
