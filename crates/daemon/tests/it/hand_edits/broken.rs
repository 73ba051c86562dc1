//! A broken file is left exactly as it is, affects nothing else, and counts again once repaired.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use adjutant_engine::{EngineRequest, Request};
use adjutant_model::{AnswerVerdict, Command, Reason, Status, TaskId};
use adjutant_testkit::TestProject;
use adjutant_testkit::message::{completion, handoff, progress};
use adjutant_testkit::project::{message_request, operator_request};

use super::EngineState::{AfterDeath, AtRest, Running};
use super::{ENGINE_STATES, EngineState, HandEditFixture, ID, OTHER, file};

fn ready() -> String {
    file(Status::Ready, ID)
}

fn id() -> TaskId {
    TaskId::parse(ID).expect("a good id")
}

/// Describes a path without following links.
fn describe_path(path: &Path) -> String {
    let meta = fs::symlink_metadata(path).expect("it is there");
    if meta.is_symlink() {
        format!("link to {}", fs::read_link(path).expect("a link").display())
    } else if meta.is_dir() {
        let names = fs::read_dir(path).expect("a folder").map(|entry| entry.expect("it").path());
        format!("folder of {:?}", names.collect::<Vec<_>>())
    } else {
        use std::os::unix::fs::MetadataExt;
        let bytes = fs::read(path).expect("a file");
        let hash = adjutant_store::hash::ShortHash::digest(&bytes);
        format!("file {} of {} bytes, {hash}, {}", meta.ino(), bytes.len(), meta.mtime_nsec())
    }
}

fn refusal(desk: &mut HandEditFixture, request: EngineRequest) -> Option<Reason> {
    let answered = desk.engine().submit_one(request).expect("an answer");
    assert_eq!(answered.answer.verdict, AnswerVerdict::Rejected);
    answered.answer.reason
}

/// Breaks a task file, in each state of the engine, and restores it.
fn check(spoil: impl Fn(&Path, &str)) {
    for when in ENGINE_STATES {
        check_when(when, &spoil);
    }
}

fn check_when(when: EngineState, spoil: &impl Fn(&Path, &str)) {
    let mut desk = HandEditFixture::open(|project| {
        project.write_task(ID, Status::Ready, "");
        project.write_task(OTHER, Status::InProgress, "");
    });
    let path = desk.project.path(&ready());
    let good = desk.project.read(&ready());
    desk.edit(when, |_| spoil(&path, &good));
    let broken = describe_path(&path);
    assert_eq!(desk.new_events_short(), Vec::<String>::new(), "not an event: {when:?}");
    assert!(desk.engine().world().unreadable().contains(&id()), "{when:?}");
    assert_eq!(desk.status(ID), None);

    let refused = Some(Reason::TaskUnreadable);
    assert_eq!(refusal(&mut desk, message_request(&progress(ID, "a", "half"))), refused);
    assert_eq!(refusal(&mut desk, message_request(&completion(ID, "a", "done"))), refused);
    assert_eq!(refusal(&mut desk, message_request(&handoff(ID, OTHER, "a", "b"))), refused);
    assert_eq!(refusal(&mut desk, message_request(&handoff(OTHER, ID, "a", "b"))), refused);
    let cancel = Command::Cancel { id: id(), reason: String::new() };
    assert_eq!(refusal(&mut desk, operator_request(cancel)), refused);
    let reported = desk.engine().submit_one(message_request(&completion(OTHER, "a", "done")));
    assert_eq!(reported.expect("an answer").answer.verdict, AnswerVerdict::Applied);
    assert_eq!(desk.status(OTHER), Some(Status::Review), "the others go on");
    desk.engine().submit_one(Request::SessionEnd(None)).expect("an answer");
    desk.new_events();
    assert_eq!(describe_path(&path), broken, "left exactly as it is: {when:?}");

    desk.edit(when, |_| mend(&path, &good));
    let told = desk.new_events_short();
    assert!(told.len() <= 1, "taken in again, once: {told:?}");
    assert_eq!(desk.status(ID), Some(Status::Ready), "{when:?}");
    assert!(desk.engine().world().unreadable().is_empty());
    assert_eq!(desk.project.read(&ready()), good);
    let answered =
        desk.engine().submit_one(message_request(&progress(ID, "a", "half"))).expect("an answer");
    assert_eq!(answered.answer.verdict, AnswerVerdict::Applied);
}

fn mend(path: &Path, good: &str) {
    let _ = fs::remove_file(path);
    let _ = fs::remove_dir_all(path);
    fs::write(path, good).expect("a file");
}

/// Writes another text to the file, in one state of the engine.
fn check_written(when: EngineState, text: impl Fn(&str) -> String) {
    check_when(when, &|path, good| fs::write(path, text(good)).expect("a file"));
}

#[test]
fn broken_file_without_front_matter() {
    check_written(Running, |_| String::new());
    check_written(AtRest, |_| "Just text.\n".to_owned());
    check_written(AfterDeath, |good| good.replacen("---\n", "", 1));
    check_written(Running, |good| good.replace("\n---\n", "\n"));
}

#[test]
fn broken_file_with_bad_yaml() {
    check_written(AtRest, |good| good.replace("priority:", "\"priority:"));
    check_written(AfterDeath, |good| good.replace("priority:", "priority: {"));
    check_written(Running, |good| good.replace("priority:", "priority: high\npriority:"));
    check_written(AtRest, |good| good.replace("priority:", "\tpriority:"));
    check_written(AfterDeath, |_| "---\n- a list\n---\n".to_owned());
}

#[test]
fn broken_file_with_invalid_fields() {
    check_written(Running, |good| good.replace(ID, OTHER));
    check_written(AtRest, |good| good.replace(&format!("id: {ID}\n"), ""));
    check_written(AfterDeath, |good| good.replace("title: Task", "title: []\nx: Task"));
    check_written(Running, |good| good.replace("status: ready", "status: redy"));
    check_written(AtRest, |good| good.replace("priority: normal", "priority: urgent"));
    check_written(AfterDeath, |good| good.replace("schemaVersion: 1", "schemaVersion: 3"));
    check_written(Running, |good| good.replace("createdAt: 2026", "createdAt: x2026"));
    check_written(AtRest, |good| good.replace("priority:", "routing: swe\npriority:"));
    check_written(AfterDeath, |good| good.replace("priority:", "dependsOn: [TASK-1]\npriority:"));
}

#[test]
fn broken_file_that_is_not_utf_8() {
    check(|path, good| {
        let mut bytes = good.as_bytes().to_vec();
        bytes.extend([0xff, 0xfe, b'\n']);
        fs::write(path, bytes).expect("a file");
    });
}

#[test]
fn broken_file_with_exponential_yaml_aliases() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..12 {
        let inner = vec![format!("*a{}", n - 1); 10].join(", ");
        bomb = format!("{bomb}a{n}: &a{n} [{inner}]\n");
    }
    check_written(Running, |good| good.replace("priority:", &format!("{bomb}priority:")));
}

#[test]
fn broken_file_with_deep_or_long_yaml() {
    let deep = "[".repeat(5_000) + &"]".repeat(5_000);
    check_written(AtRest, |good| good.replace("priority:", &format!("x: {deep}\npriority:")));
    let long = "y".repeat(2 << 20);
    check_written(AfterDeath, |good| good.replace("priority:", &format!("x: {long}\npriority:")));
}

#[test]
fn broken_file_larger_than_the_limit() {
    check_when(AtRest, &|path: &Path, good: &str| {
        fs::write(path, good).expect("a file");
        let file = fs::OpenOptions::new().write(true).open(path).expect("the file");
        file.set_len(20 << 20).expect("a hole in a file takes no room");
    });
}

#[test]
fn large_task_file_is_still_a_task() {
    let mut desk = HandEditFixture::with_task(Status::Ready);
    let long = "A long line, again and again.\n".repeat(100_000);
    desk.edit(AtRest, |project| super::replace(project, &ready(), "Do it.\n", &long));
    assert_eq!(desk.new_events_short(), ["task.edited: body"]);
    let answered =
        desk.engine().submit_one(message_request(&progress(ID, "a", "half"))).expect("an answer");
    assert_eq!(answered.answer.verdict, AnswerVerdict::Applied);
    assert!(desk.project.read(&ready()).contains(&long));
}

#[test]
fn broken_file_that_is_a_link() {
    check(|path, good| {
        let outside = path.with_file_name("elsewhere");
        fs::write(&outside, good).expect("a file");
        fs::remove_file(path).expect("the file");
        symlink(outside, path).expect("a link");
    });
    check_when(Running, &|path: &Path, _: &str| {
        fs::remove_file(path).expect("the file");
        symlink("/nowhere/at/all", path).expect("a link");
    });
}

#[test]
fn broken_file_that_is_a_folder() {
    check(|path, _| {
        fs::remove_file(path).expect("the file");
        fs::create_dir(path).expect("a folder");
    });
}

#[test]
fn broken_file_that_is_a_pipe_does_not_block() {
    let mut desk = HandEditFixture::with_task(Status::Ready);
    let path = desk.project.path(&ready());
    fs::remove_file(&path).expect("the file");
    let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo");
    assert!(made.success());
    desk.engine().check_all_files().expect("a look around");
    assert!(desk.engine().world().unreadable().contains(&id()));
    assert_eq!(
        refusal(&mut desk, message_request(&progress(ID, "a", "half"))),
        Some(Reason::TaskUnreadable)
    );
}

#[test]
fn broken_file_that_is_removed_is_forgotten() {
    for when in ENGINE_STATES {
        let mut desk = HandEditFixture::with_task(Status::Ready);
        desk.edit(Running, |project| project.write(&ready(), "broken"));
        assert!(desk.engine().world().unreadable().contains(&id()));
        desk.edit(when, |project| fs::remove_file(project.path(&ready())).expect("a file"));
        assert_eq!(desk.new_events_short(), ["task.removed"], "{when:?}");
        assert!(desk.engine().world().unreadable().is_empty(), "{when:?}");
        let reason = refusal(&mut desk, message_request(&progress(ID, "a", "half")));
        assert_eq!(reason, Some(Reason::TaskNotFound), "{when:?}");
    }
}

#[test]
fn broken_file_from_the_start_is_accepted_once_repaired() {
    let mut desk = HandEditFixture::open(|project| project.write(&ready(), "broken"));
    assert!(desk.engine().world().unreadable().contains(&id()));
    desk.edit(Running, |project: &TestProject| drop(project.write_task(ID, Status::Ready, "")));
    assert_eq!(desk.new_events_short(), ["task.created by hand"]);
    assert_eq!(desk.status(ID), Some(Status::Ready));
}

#[test]
fn broken_file_keeps_its_task_number() {
    let mut desk = HandEditFixture::open(|project| project.write(&ready(), "broken"));
    let add = adjutant_testkit::project::add_request(
        "New",
        adjutant_model::command::InitialStatus::Ready,
    );
    let answered = desk.engine().submit_one(add).expect("an answer");
    assert_eq!(answered.answer.task.map(|id| id.to_string()).as_deref(), Some(OTHER));
    assert_eq!(desk.project.read(&ready()), "broken");
}

#[test]
fn run_result_that_is_no_file_is_salvaged() {
    for link in [true, false] {
        let mut desk = HandEditFixture::open(|project| {
            project.write_task(ID, Status::InProgress, "");
            project.write_task(OTHER, Status::InProgress, "");
        });
        let mut result = completion(OTHER, "a", "done")["payload"].clone();
        result["taskId"] = OTHER.into();
        result["agentId"] = "a".into();
        result["completedAt"] = "2026-02-09T21:10:00.000Z".into();
        desk.project.write(&format!("runs/{OTHER}/run_result.json"), &result.to_string());
        let odd = desk.project.path(&format!("runs/{ID}/run_result.json"));
        fs::create_dir_all(odd.parent().expect("a folder")).expect("a folder");
        if link {
            symlink("/etc/hostname", &odd).expect("a link");
        } else {
            fs::create_dir(&odd).expect("a folder");
        }
        let answered = desk.engine().submit_one(Request::SessionEnd(None)).expect("an answer");
        assert_eq!(answered.answer.verdict, AnswerVerdict::Applied);
        assert_eq!(desk.status(OTHER), Some(Status::Review), "the other one counts");
        assert_eq!(desk.status(ID), Some(Status::InProgress));
        assert!(!odd.exists() && !odd.is_symlink(), "it was put aside");
        let salvage = desk.project.path(&format!("runs/{ID}/salvage"));
        assert_eq!(fs::read_dir(salvage).expect("a folder").count(), 1, "and not lost");
    }
}

#[test]
fn huge_task_numbers_by_hand_do_not_exhaust_numbers() {
    for number in ["4294967295", "18446744073709551615", "99999999999999999999999999999999"] {
        let given = format!("TASK-2026-02-09-{number}");
        let mut desk =
            HandEditFixture::open(|project| drop(project.write_task(&given, Status::Ready, "")));
        let before = desk.project.read(&file(Status::Ready, &given));
        let mut ids = Vec::new();
        for title in ["One", "Two", "Three"] {
            let add = adjutant_testkit::project::add_request(
                title,
                adjutant_model::command::InitialStatus::Ready,
            );
            let answered = desk.engine().submit_one(add).expect("an answer");
            ids.push(adjutant_testkit::project::task_id_of(&answered));
        }
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 3, "beside {number}: {ids:?}");
        assert_eq!(desk.project.read(&file(Status::Ready, &given)), before);
        assert_eq!(desk.engine().world().tasks().len(), 4);
    }
}
