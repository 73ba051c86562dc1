//! What people wrote survives every message and every command, byte for byte.

use adjutant_core::command::Changes;
use adjutant_core::task::Review;
use adjutant_core::{AgentId, Command, Priority, Status, TaskId, Time, Verdict};
use adjutant_runtime::Request;
use adjutant_testkit::Project;
use adjutant_testkit::message::{completion, handoff, progress};
use adjutant_testkit::project::{operator, send};

use super::{ID, OTHER, file};

/// A file as people and other programs write them: every kind of oddity that is still YAML.
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

/// What a change of status does to the file, whatever else it does.
fn to(status: &str) -> Vec<(String, String)> {
    let mut changes = touched();
    changes.push((": STATUS #".into(), format!(": {status} #")));
    changes.push(("'2026-02-09T20:00:00.000Z'".into(), NOW.into()));
    changes
}

/// What any change does to the file.
fn touched() -> Vec<(String, String)> {
    vec![("updatedAt:  2026-02-09T20:00:00.000Z".into(), format!("updatedAt:  {NOW}"))]
}

/// Adds another change.
fn and(mut changes: Vec<(String, String)>, old: &str, new: &str) -> Vec<(String, String)> {
    changes.push((old.into(), new.into()));
    changes
}

/// Adds a field of ours at the end of the metadata.
fn and_metadata(changes: Vec<(String, String)>, line: &str) -> Vec<(String, String)> {
    let old = "  delegationDepth: 0\n";
    and(changes, old, &format!("{old}  {line}\n"))
}

/// Sends requests about a task that stands at `status` in the odd file, plain and with byte order
/// mark and the other line ends, and compares the whole file.
fn check(status: Status, requests: &[Request], after: Status, changes: &[(String, String)]) {
    let expected = changes.iter().fold(ODD.to_owned(), |text, (old, new)| {
        assert_eq!(text.matches(old.as_str()).count(), 1, "{old:?}");
        text.replace(old, new)
    });
    for (bom, eol) in [("", "\n"), ("\u{feff}", "\r\n")] {
        let render = |text: &str, status: Status| {
            let text = text.replace("STATUS", status.as_str()).replace('\n', eol);
            format!("{bom}{text}")
        };
        let project = Project::new();
        project.write(&file(status, ID), &render(ODD, status));
        project.task(OTHER, Status::InProgress, "routing:\n  agent: boss\n");
        let mut engine = project.engine();
        for request in requests {
            let answered = engine.submit_one(request.clone()).expect("an answer");
            assert_ne!(answered.answer.verdict, Verdict::Ignored);
        }
        assert_eq!(project.folders_of(ID), [after]);
        assert_eq!(project.read(&file(after, ID)), render(&expected, after), "{eol:?}");
        engine.rest().expect("at rest");
        drop(engine);
        let again = project.engine();
        assert_eq!(again.world().task(&id()).map(adjutant_core::Task::status), Some(after));
        assert_eq!(project.read(&file(after, ID)), render(&expected, after), "{eol:?}");
    }
}

fn id() -> TaskId {
    TaskId::parse(ID).expect("a good id")
}

fn changed(changes: Changes) -> [Request; 1] {
    [operator(Command::Edit { id: id(), changes: Box::new(changes) })]
}

const LOGGED: &str = "- by hand\n- 2026-02-09T21:10:00.000Z Progress: half\n";

#[test]
fn a_progress_report_adds_a_line() {
    let changes = and(touched(), "- by hand\n", LOGGED);
    let report = [send(&progress(ID, "swe", "half"))];
    check(Status::InProgress, &report, Status::InProgress, &changes);
}

#[test]
fn a_status_update_moves() {
    let mut update = progress(ID, "swe", "stuck");
    update["payload"]["status"] = "blocked".into();
    let update = [send(&update)];
    let changes = and_metadata(to("STATUS"), "statusReason: stuck");
    check(Status::InProgress, &update, Status::Blocked, &changes);
}

#[test]
fn a_completion_moves_and_notes_who_it_was() {
    let noted = "reportedBy: swe\n  statusReason: All acceptance criteria met.";
    let changes = and_metadata(to("STATUS"), noted);
    for (outcome, after) in [
        ("done", Status::Review),
        ("partial", Status::Review),
        ("needs_review", Status::Review),
        ("blocked", Status::Blocked),
    ] {
        let report = [send(&completion(ID, "swe", outcome))];
        check(Status::InProgress, &report, after, &changes);
    }
}

#[test]
fn a_handoff_links_the_child() {
    let request = [send(&handoff(ID, OTHER, "boss", "qa"))];
    let changes = and(touched(), "agent: swe ", "agent: qa ");
    let changes = and(changes, "delegationDepth: 0", "delegationDepth: 1");
    let changes = and(changes, "# the end\n", &format!("# the end\nparentId: {OTHER}\n"));
    check(Status::Ready, &request, Status::Ready, &changes);
}

#[test]
fn acknowledgements_write_nothing_but_a_refusal_blocks() {
    let answer = |kind: &str, accepted: bool| {
        let mut message = progress(ID, "swe", "said");
        message["type"] = kind.into();
        message["payload"]["accepted"] = accepted.into();
        [send(&message)]
    };
    check(Status::Ready, &answer("handoff.accepted", true), Status::Ready, &[]);
    let rejected = answer("handoff.rejected", false);
    let changes = and_metadata(to("STATUS"), "statusReason: handoff rejected");
    check(Status::Ready, &rejected, Status::Blocked, &changes);
}

#[test]
fn what_is_refused_writes_nothing() {
    let stranger = send(&completion(ID, "stranger", "done"));
    let spoilt = |field: &str, value: &str| {
        let mut message = completion(ID, "swe", "done");
        message[field] = value.into();
        send(&message)
    };
    let (broken, unknown) = (spoilt("version", "2"), spoilt("type", "custom.talk"));
    let command = operator(Command::Approve { id: id(), note: String::new() });
    let requests = [stranger, broken, unknown, command];
    check(Status::InProgress, &requests, Status::InProgress, &[]);
}

#[test]
fn the_end_of_a_session_applies_what_lies_there() {
    let mut result = completion(ID, "swe", "done")["payload"].clone();
    result["taskId"] = ID.into();
    result["agentId"] = "swe".into();
    result["completedAt"] = "2026-02-09T21:10:00.000Z".into();
    let project = Project::new();
    let text = ODD.replace("STATUS", "in-progress");
    project.write(&file(Status::InProgress, ID), &text);
    project.write(&format!("runs/{ID}/run_result.json"), &result.to_string());
    let answered = project.engine().submit_one(Request::SessionEnd(None)).expect("an answer");
    assert_eq!(answered.answer.verdict, Verdict::Applied);
    let noted = "reportedBy: swe\n  statusReason: All acceptance criteria met.";
    let expected = and_metadata(to("review"), noted)
        .iter()
        .fold(ODD.to_owned(), |text, (old, new)| text.replace(old, new));
    assert_eq!(project.read(&file(Status::Review, ID)), expected);
}

#[test]
fn commands_move() {
    let move_to = |to| operator(Command::Move { id: id(), to, reason: "so".into() });
    let changes = to("STATUS");
    check(Status::Backlog, &[move_to(Status::Ready)], Status::Ready, &changes);
    check(Status::Ready, &[move_to(Status::InProgress)], Status::InProgress, &changes);
    let approve = operator(Command::Approve { id: id(), note: "good".into() });
    check(Status::Review, &[approve], Status::Done, &changes);
    let cancel = operator(Command::Cancel { id: id(), reason: "no".into() });
    check(Status::Blocked, &[cancel], Status::Cancelled, &changes);
    check(Status::Deadletter, &[operator(Command::Retry { id: id() })], Status::Ready, &changes);
    let reject = operator(Command::Reject { id: id(), reason: "again".into() });
    let changes = and_metadata(to("STATUS"), "feedback: again");
    check(Status::Review, &[reject], Status::Ready, &changes);
}

#[test]
fn commands_edit_one_field() {
    let ready = Status::Ready;
    let title = Changes { title: Some("Other".into()), ..Changes::default() };
    let expected =
        and(touched(), "\"title\": >-\n  A title that is\n  folded\n", "\"title\": Other\n");
    check(ready, &changed(title), ready, &expected);
    let priority = Changes { priority: Some(Priority::High), ..Changes::default() };
    let expected = and(touched(), "priority: \"normal\"", "priority: high");
    check(ready, &changed(priority), ready, &expected);
    let agent = AgentId::parse("qa").ok();
    let agent = Changes { agent: Some(agent), ..Changes::default() };
    let expected = and(touched(), "agent: swe   # by name", "agent: qa   # by name");
    check(ready, &changed(agent), ready, &expected);
    let nobody = Changes { agent: Some(None), ..Changes::default() };
    let expected = and(touched(), "    agent: swe   # by name\n", "");
    check(ready, &changed(nobody), ready, &expected);
    let tags = Changes { tags: Some(vec!["x".into()]), ..Changes::default() };
    let expected = and(touched(), "tags: [a, 'b']", "tags:\n      - x");
    check(ready, &changed(tags), ready, &expected);
    let review = Changes { review: Some(Review::NotNeeded), ..Changes::default() };
    let expected = and_metadata(touched(), "reviewRequired: false");
    check(ready, &changed(review), ready, &expected);
}

#[test]
fn commands_add_fields_at_the_end() {
    let ready = Status::Ready;
    let end = |line: &str| and(touched(), "# the end\n", &format!("# the end\n{line}\n"));
    let other = TaskId::parse(OTHER).expect("a good id");
    let resource = Changes { resource: Some(Some("staging".into())), ..Changes::default() };
    check(ready, &changed(resource), ready, &end("resource: staging"));
    let due = Time::parse("2026-02-10T12:00:00Z").ok();
    let due = Changes { due_by: Some(due), ..Changes::default() };
    check(ready, &changed(due), ready, &end("dueBy: 2026-02-10T12:00:00.000Z"));
    let parent = Changes { parent: Some(Some(other.clone())), ..Changes::default() };
    check(ready, &changed(parent), ready, &end(&format!("parentId: {OTHER}")));
    let depends = Changes { depends_on: Some(vec![other]), ..Changes::default() };
    check(ready, &changed(depends), ready, &end(&format!("dependsOn:\n  - {OTHER}")));
}

#[test]
fn a_new_body_leaves_the_front_matter_alone() {
    let body = &ODD[ODD.find("\n---\nFirst").expect("a body") + 5..];
    let edit = Changes { body: Some("New".into()), ..Changes::default() };
    check(Status::Ready, &changed(edit), Status::Ready, &and(touched(), body, "\nNew"));
}

#[test]
fn a_whole_life_changes_only_what_is_ours() {
    let requests = [
        operator(Command::Move { id: id(), to: Status::InProgress, reason: "go".into() }),
        send(&progress(ID, "swe", "half")),
        send(&completion(ID, "swe", "done")),
        operator(Command::Reject { id: id(), reason: "again".into() }),
        operator(Command::Move { id: id(), to: Status::InProgress, reason: "go".into() }),
        send(&completion(ID, "swe", "done")),
        operator(Command::Approve { id: id(), note: String::new() }),
    ];
    let changes = and(to("STATUS"), "- by hand\n", LOGGED);
    let changes = and_metadata(changes, "reportedBy: swe\n  feedback: again");
    check(Status::Ready, &requests, Status::Done, &changes);
}
