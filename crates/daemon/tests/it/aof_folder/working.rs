//! Messages and commands on an AOF folder.

use adjutant_engine::Request;
use adjutant_model::{AnswerVerdict, Command, Reason, Status};
use adjutant_store::file::doctor;
use adjutant_testkit::message::{completion, handoff, progress};
use adjutant_testkit::project::{message_request, operator_request};

use super::{
    BOATS, Blocked, Done, HORN, InProgress, Ready, Review, TASKS, TIDES, VANE, aof, file, files, id,
};

/// Returns an agent that may report on the task.
fn speaker(id: &str) -> &str {
    match id {
        BOATS => "swe-frontend",
        HORN => "swe-backend",
        _ => "anyone",
    }
}

#[test]
fn report_on_aof_task_keeps_every_other_byte() {
    for (id, status) in TASKS {
        let project = aof();
        let mut engine = project.open_engine();
        let before = project.read(&file(status, id));
        let report = message_request(&progress(id, speaker(id), "half"));
        let answered = engine.submit_one(report).expect("an answer");
        assert_eq!(answered.answer.verdict, AnswerVerdict::Applied, "{id}");
        let line = "## Work Log\n\n- 2026-02-09T21:10:00.000Z Progress: half\n";
        let updated = before.lines().find(|line| line.starts_with("updatedAt: ")).expect("one");
        let expected =
            format!("{before}\n{line}").replace(updated, "updatedAt: 2026-02-09T21:00:00.000Z");
        // A message is a heartbeat.
        let renewed = |before: &str, count: u32| {
            let lease = "expiresAt: 2026-02-09T21:05:00.000Z\n  renewCount:";
            (before.to_owned(), format!("{lease} {count}\n  attempt: 1\n  fence: 0\n"))
        };
        let leases = [
            renewed("expiresAt: 2026-02-09T09:10:00.000Z\n  renewCount: 3\n", 4),
            renewed("expiresAt: 2026-02-09T10:10:00.000Z\n  renewCount: 0\n", 1),
        ];
        let expected = leases.iter().fold(expected, |text, (old, new)| text.replace(old, new));
        assert_eq!(project.read(&file(status, id)), expected, "{id}");
    }
}

#[test]
fn aof_task_goes_from_ready_to_done() {
    let project = aof();
    let mut engine = project.open_engine();
    let start = Command::Move { id: id(TIDES), to: InProgress, reason: "go".into() };
    let before = project.read(&file(Ready, TIDES));
    let companion = files(&project, &format!("tasks/ready/{TIDES}"));
    engine.submit_one(operator_request(start)).expect("moved");
    engine
        .submit_one(message_request(&completion(TIDES, "swe-backend", "done")))
        .expect("an answer");
    let approve = Command::Approve { id: id(TIDES), note: String::new() };
    engine.submit_one(operator_request(approve)).expect("approved");
    assert_eq!(project.status_folders_of(TIDES), [Done]);
    let expected = before
        .replace("status: ready", "status: done")
        .replace("At: 2026-02-09T08:30:00.000Z\nlast", "At: 2026-02-09T21:00:00.000Z\nlast")
        .replace(
            "At: 2026-02-09T08:30:00.000Z\ncreatedBy",
            "At: 2026-02-09T21:00:00.000Z\ncreatedBy",
        )
        .replace(
            "  labels: [water, \"read only\"]\n",
            "  labels: [water, \"read only\"]\n  reportedBy: swe-backend\n",
        );
    assert_eq!(project.read(&file(Done, TIDES)), expected);
    let moved = files(&project, &format!("tasks/done/{TIDES}"));
    assert!(moved.values().eq(companion.values()), "its folder went along: {moved:?}");
    assert_eq!(moved.len(), 5);
    assert!(files(&project, &format!("tasks/ready/{TIDES}")).is_empty());
}

#[test]
fn aof_lease_holder_alone_can_report() {
    let project = aof();
    let mut engine = project.open_engine();
    let before = project.read(&file(InProgress, HORN));
    let stranger =
        engine.submit_one(message_request(&completion(HORN, "qa", "done"))).expect("an answer");
    assert_eq!(stranger.answer.reason, Some(Reason::UnauthorizedAgent));
    assert_eq!(project.read(&file(InProgress, HORN)), before);
    let holder = message_request(&completion(HORN, "swe-backend", "done"));
    let answered = engine.submit_one(holder).expect("an answer");
    assert_eq!(answered.answer.verdict, AnswerVerdict::Applied);
    let warned =
        answered.events.iter().any(|event| event.new_event.event.kind().ends_with("warning"));
    assert!(!warned, "its summary and hand-over are where they were");
    assert_eq!(project.status_folders_of(HORN), [Done], "no review is needed here");
    let lease =
        &before[before.find("lease:").expect("one")..before.find("dependsOn:").expect("one")];
    let expected = before
        .replace(lease, "")
        .replace("status: in-progress", "status: done")
        .replace("updatedAt: 2026-02-09T10:00:00.000Z", "updatedAt: 2026-02-09T21:00:00.000Z")
        .replace("TransitionAt: 2026-02-09T10:00:00.000Z", "TransitionAt: 2026-02-09T21:00:00.000Z")
        .replace(
            "  attempts: 2\n",
            "  attempts: 2\n  lastRun:\n    agent: swe-backend\n    attempt: 1\n    fence: 0\n  \
             reportedBy: swe-backend\n  reportedFence: 0\n",
        );
    assert_eq!(project.read(&file(Done, HORN)), expected);
    assert!(project.exists(&format!("runs/{HORN}/run.json")), "the run stays");
    assert!(project.exists(&format!("runs/{HORN}/run_result.json")), "and has its result");
}

#[test]
fn session_end_applies_result_that_aof_left() {
    let project = aof();
    let mut engine = project.open_engine();
    let result = project.read(&format!("runs/{BOATS}/run_result.json"));
    let answered = engine.submit_one(Request::SessionEnd(None)).expect("an answer");
    assert_eq!(answered.answer.verdict, AnswerVerdict::Applied);
    assert_eq!(project.status_folders_of(BOATS), [Blocked]);
    assert_eq!(project.status_folders_of(HORN), [InProgress], "it has no result");
    let events = project.events();
    let moved = events.last().expect("events");
    assert_eq!(
        (&moved["type"], &moved["actor"]),
        (&"task.transitioned".into(), &"swe-frontend".into())
    );
    assert_eq!(moved["payload"]["reason"], "fog; no binoculars");
    assert_eq!(project.read(&format!("runs/{BOATS}/run_result.json")), result);
    let again = engine.submit_one(Request::SessionEnd(None)).expect("an answer");
    assert_eq!(again.answer.verdict, AnswerVerdict::Noop);
}

#[test]
fn aof_result_is_archived_when_task_is_retried() {
    let project = aof();
    let mut engine = project.open_engine();
    let left = files(&project, &format!("runs/{BOATS}"));
    engine.submit_one(Request::SessionEnd(None)).expect("an answer");
    engine.submit_one(operator_request(Command::Retry { id: id(BOATS) })).expect("moved");
    assert_eq!(project.status_folders_of(BOATS), [Ready]);
    for file in ["run.json", "run_heartbeat.json", "run_result.json"] {
        assert!(!project.exists(&format!("runs/{BOATS}/{file}")));
        let kept = project.read(&format!("runs/{BOATS}/attempts/1/{file}"));
        assert_eq!(kept, left[&format!("runs/{BOATS}/{file}")]);
    }
}

#[test]
fn handoff_adds_to_existing_inputs() {
    let project = aof();
    let mut engine = project.open_engine();
    let before = project.read(&file(Ready, TIDES));
    let request = message_request(&handoff(TIDES, HORN, "swe-backend", "swe-qa"));
    let answered = engine.submit_one(request).expect("an answer");
    assert_eq!(answered.answer.verdict, AnswerVerdict::Applied);
    let inputs = files(&project, &format!("tasks/ready/{TIDES}/inputs"));
    let names: Vec<&str> = inputs.keys().filter_map(|path| path.rsplit('/').next()).collect();
    assert_eq!(names, ["guidance.md", "handoff.json", "handoff.md", "instructions.md"]);
    let expected = before
        .replace("updatedAt: 2026-02-09T08:30:00.000Z", "updatedAt: 2026-02-09T21:00:00.000Z")
        .replace("workflow: standard-sdlc\n", "workflow: standard-sdlc\n  agent: swe-qa\n")
        .replace("parentId: TASK-2026-02-08-001", &format!("parentId: {HORN}"))
        .replace("\"read only\"]\n", "\"read only\"]\n  delegationDepth: 1\n");
    assert_eq!(project.read(&file(Ready, TIDES)), expected);
}

#[test]
fn null_lease_keeps_its_text() {
    let project = aof();
    let mut engine = project.open_engine();
    engine.submit_one(message_request(&progress(VANE, "qa", "looking"))).expect("an answer");
    assert!(project.read(&file(Review, VANE)).contains("\nlease: null\n"));
}

#[test]
fn aof_folder_is_consistent_after_many_messages() {
    let project = aof();
    let mut engine = project.open_engine();
    for (id, _) in TASKS {
        for message in [progress(id, speaker(id), "half"), completion(id, speaker(id), "done")] {
            engine.submit_one(message_request(&message)).expect("an answer");
        }
    }
    engine.submit_one(Request::SessionEnd(None)).expect("an answer");
    engine.rest().expect("at rest");
    assert_eq!(doctor::examine(project.folder()).expect("a look"), []);
    let world = engine.world().clone();
    drop(engine);
    assert_eq!(*project.open_engine().world(), world);
    for status in Status::ALL {
        for task in world.with_status(status) {
            assert_eq!(project.status_folders_of(task.id.as_str()), [status]);
        }
    }
}
