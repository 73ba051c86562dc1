//! A broken file is left exactly as it is, stops nothing else, and counts again when mended.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use adjutant_core::{Command, Reason, Status, TaskId, Verdict};
use adjutant_runtime::Request;
use adjutant_testkit::Project;
use adjutant_testkit::message::{completion, handoff, progress};
use adjutant_testkit::project::{operator, send};

use super::When::{AfterDeath, AtRest, Running};
use super::{ALWAYS, Desk, ID, OTHER, When, file};

fn ready() -> String {
    file(Status::Ready, ID)
}

fn id() -> TaskId {
    TaskId::parse(ID).expect("a good id")
}

/// Everything that can be seen of a path without following it.
fn look(path: &Path) -> String {
    let meta = fs::symlink_metadata(path).expect("it is there");
    if meta.is_symlink() {
        format!("link to {}", fs::read_link(path).expect("a link").display())
    } else if meta.is_dir() {
        let names = fs::read_dir(path).expect("a folder").map(|entry| entry.expect("it").path());
        format!("folder of {:?}", names.collect::<Vec<_>>())
    } else {
        use std::os::unix::fs::MetadataExt;
        let bytes = fs::read(path).expect("a file");
        let hash = adjutant_store::hash::Hash::of(&bytes);
        format!("file {} of {} bytes, {hash}, {}", meta.ino(), bytes.len(), meta.mtime_nsec())
    }
}

fn refusal(desk: &mut Desk, request: Request) -> Option<Reason> {
    let answered = desk.engine().submit_one(request).expect("an answer");
    assert_eq!(answered.answer.verdict, Verdict::Rejected);
    answered.answer.reason
}

/// Breaks a task's file in a way, at every time, and puts it back.
fn check(spoil: impl Fn(&Path, &str)) {
    for when in ALWAYS {
        check_when(when, &spoil);
    }
}

fn check_when(when: When, spoil: &impl Fn(&Path, &str)) {
    let mut desk = Desk::open(|project| {
        project.task(ID, Status::Ready, "");
        project.task(OTHER, Status::InProgress, "");
    });
    let path = desk.project.path(&ready());
    let good = desk.project.read(&ready());
    desk.edit(when, |_| spoil(&path, &good));
    let broken = look(&path);
    assert_eq!(desk.told_in_short(), Vec::<String>::new(), "not an event: {when:?}");
    assert!(desk.engine().world().unreadable().contains(&id()), "{when:?}");
    assert_eq!(desk.status(ID), None);

    let refused = Some(Reason::TaskUnreadable);
    assert_eq!(refusal(&mut desk, send(&progress(ID, "a", "half"))), refused);
    assert_eq!(refusal(&mut desk, send(&completion(ID, "a", "done"))), refused);
    assert_eq!(refusal(&mut desk, send(&handoff(ID, OTHER, "a", "b"))), refused);
    assert_eq!(refusal(&mut desk, send(&handoff(OTHER, ID, "a", "b"))), refused);
    let cancel = Command::Cancel { id: id(), reason: String::new() };
    assert_eq!(refusal(&mut desk, operator(cancel)), refused);
    let reported = desk.engine().submit_one(send(&completion(OTHER, "a", "done")));
    assert_eq!(reported.expect("an answer").answer.verdict, Verdict::Applied);
    assert_eq!(desk.status(OTHER), Some(Status::Review), "the others go on");
    desk.engine().submit_one(Request::SessionEnd(None)).expect("an answer");
    desk.told();
    assert_eq!(look(&path), broken, "left exactly as it is: {when:?}");

    desk.edit(when, |_| mend(&path, &good));
    let told = desk.told_in_short();
    assert!(told.len() <= 1, "taken in again, once: {told:?}");
    assert_eq!(desk.status(ID), Some(Status::Ready), "{when:?}");
    assert!(desk.engine().world().unreadable().is_empty());
    assert_eq!(desk.project.read(&ready()), good);
    let answered = desk.engine().submit_one(send(&progress(ID, "a", "half"))).expect("an answer");
    assert_eq!(answered.answer.verdict, Verdict::Applied);
}

fn mend(path: &Path, good: &str) {
    let _ = fs::remove_file(path);
    let _ = fs::remove_dir_all(path);
    fs::write(path, good).expect("a file");
}

/// Writes another text to the file, at one time.
fn written(when: When, text: impl Fn(&str) -> String) {
    check_when(when, &|path, good| fs::write(path, text(good)).expect("a file"));
}

#[test]
fn no_front_matter() {
    written(Running, |_| String::new());
    written(AtRest, |_| "Just text.\n".to_owned());
    written(AfterDeath, |good| good.replacen("---\n", "", 1));
    written(Running, |good| good.replace("\n---\n", "\n"));
}

#[test]
fn bad_yaml() {
    written(AtRest, |good| good.replace("priority:", "\"priority:"));
    written(AfterDeath, |good| good.replace("priority:", "priority: {"));
    written(Running, |good| good.replace("priority:", "priority: high\npriority:"));
    written(AtRest, |good| good.replace("priority:", "\tpriority:"));
    written(AfterDeath, |_| "---\n- a list\n---\n".to_owned());
}

#[test]
fn fields_that_do_not_fit() {
    written(Running, |good| good.replace(ID, OTHER));
    written(AtRest, |good| good.replace(&format!("id: {ID}\n"), ""));
    written(AfterDeath, |good| good.replace("title: Task", "title: []\nx: Task"));
    written(Running, |good| good.replace("status: ready", "status: redy"));
    written(AtRest, |good| good.replace("priority: normal", "priority: urgent"));
    written(AfterDeath, |good| good.replace("schemaVersion: 1", "schemaVersion: 3"));
    written(Running, |good| good.replace("createdAt: 2026", "createdAt: x2026"));
    written(AtRest, |good| good.replace("priority:", "routing: swe\npriority:"));
    written(AfterDeath, |good| good.replace("priority:", "dependsOn: [TASK-1]\npriority:"));
}

#[test]
fn not_utf_8() {
    check(|path, good| {
        let mut bytes = good.as_bytes().to_vec();
        bytes.extend([0xff, 0xfe, b'\n']);
        fs::write(path, bytes).expect("a file");
    });
}

#[test]
fn aliases_that_explode() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..12 {
        let inner = vec![format!("*a{}", n - 1); 10].join(", ");
        bomb = format!("{bomb}a{n}: &a{n} [{inner}]\n");
    }
    written(Running, |good| good.replace("priority:", &format!("{bomb}priority:")));
}

#[test]
fn too_deep_and_too_long() {
    let deep = "[".repeat(5_000) + &"]".repeat(5_000);
    written(AtRest, |good| good.replace("priority:", &format!("x: {deep}\npriority:")));
    let long = "y".repeat(2 << 20);
    written(AfterDeath, |good| good.replace("priority:", &format!("x: {long}\npriority:")));
}

#[test]
fn a_file_larger_than_any_task() {
    check_when(AtRest, &|path: &Path, good: &str| {
        fs::write(path, good).expect("a file");
        let file = fs::OpenOptions::new().write(true).open(path).expect("the file");
        file.set_len(20 << 20).expect("a hole in a file takes no room");
    });
}

#[test]
fn a_large_task_is_still_a_task() {
    let mut desk = Desk::with_task(Status::Ready);
    let long = "A long line, again and again.\n".repeat(100_000);
    desk.edit(AtRest, |project| super::replace(project, &ready(), "Do it.\n", &long));
    assert_eq!(desk.told_in_short(), ["task.edited: body"]);
    let answered = desk.engine().submit_one(send(&progress(ID, "a", "half"))).expect("an answer");
    assert_eq!(answered.answer.verdict, Verdict::Applied);
    assert!(desk.project.read(&ready()).contains(&long));
}

#[test]
fn a_link() {
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
fn a_folder() {
    check(|path, _| {
        fs::remove_file(path).expect("the file");
        fs::create_dir(path).expect("a folder");
    });
}

#[test]
fn a_pipe_does_not_make_anybody_wait() {
    let mut desk = Desk::with_task(Status::Ready);
    let path = desk.project.path(&ready());
    fs::remove_file(&path).expect("the file");
    let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo");
    assert!(made.success());
    desk.engine().look_around().expect("a look around");
    assert!(desk.engine().world().unreadable().contains(&id()));
    assert_eq!(refusal(&mut desk, send(&progress(ID, "a", "half"))), Some(Reason::TaskUnreadable));
}

#[test]
fn a_broken_file_that_is_taken_away_is_forgotten() {
    for when in ALWAYS {
        let mut desk = Desk::with_task(Status::Ready);
        desk.edit(Running, |project| project.write(&ready(), "broken"));
        assert!(desk.engine().world().unreadable().contains(&id()));
        desk.edit(when, |project| fs::remove_file(project.path(&ready())).expect("a file"));
        assert_eq!(desk.told_in_short(), ["task.removed"], "{when:?}");
        assert!(desk.engine().world().unreadable().is_empty(), "{when:?}");
        let reason = refusal(&mut desk, send(&progress(ID, "a", "half")));
        assert_eq!(reason, Some(Reason::TaskNotFound), "{when:?}");
    }
}

#[test]
fn a_file_that_was_broken_from_the_start_is_taken_in_when_mended() {
    let mut desk = Desk::open(|project| project.write(&ready(), "broken"));
    assert!(desk.engine().world().unreadable().contains(&id()));
    desk.edit(Running, |project: &Project| drop(project.task(ID, Status::Ready, "")));
    assert_eq!(desk.told_in_short(), ["task.created by hand"]);
    assert_eq!(desk.status(ID), Some(Status::Ready));
}

#[test]
fn a_number_that_a_broken_file_has_is_not_given_out() {
    let mut desk = Desk::open(|project| project.write(&ready(), "broken"));
    let add = adjutant_testkit::project::add("New", adjutant_core::command::Start::Ready);
    let answered = desk.engine().submit_one(add).expect("an answer");
    assert_eq!(answered.answer.task.map(|id| id.to_string()).as_deref(), Some(OTHER));
    assert_eq!(desk.project.read(&ready()), "broken");
}

#[test]
fn a_result_that_is_no_file_stops_nothing_else() {
    for link in [true, false] {
        let mut desk = Desk::open(|project| {
            project.task(ID, Status::InProgress, "");
            project.task(OTHER, Status::InProgress, "");
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
        assert_eq!(answered.answer.verdict, Verdict::Applied);
        assert_eq!(desk.status(OTHER), Some(Status::Review), "the other one counts");
        assert_eq!(desk.status(ID), Some(Status::InProgress));
        assert!(!odd.exists() && !odd.is_symlink(), "it was put aside");
        let salvage = desk.project.path(&format!("runs/{ID}/salvage"));
        assert_eq!(fs::read_dir(salvage).expect("a folder").count(), 1, "and not lost");
    }
}

#[test]
fn numbers_that_people_give_do_not_run_out() {
    for number in ["4294967295", "18446744073709551615", "99999999999999999999999999999999"] {
        let given = format!("TASK-2026-02-09-{number}");
        let mut desk = Desk::open(|project| drop(project.task(&given, Status::Ready, "")));
        let before = desk.project.read(&file(Status::Ready, &given));
        let mut ids = Vec::new();
        for title in ["One", "Two", "Three"] {
            let add = adjutant_testkit::project::add(title, adjutant_core::command::Start::Ready);
            let answered = desk.engine().submit_one(add).expect("an answer");
            ids.push(adjutant_testkit::project::id_of(&answered));
        }
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 3, "beside {number}: {ids:?}");
        assert_eq!(desk.project.read(&file(Status::Ready, &given)), before);
        assert_eq!(desk.engine().world().tasks().len(), 4);
    }
}
