//! A power cut: the journal is there, and of the files any part of what was not yet synced is
//! lost, empty or old. Afterwards everything that was answered is there, and what people did after
//! the folder came to rest stays as they left it.
#![expect(clippy::print_stdout, reason = "the seed is worth knowing")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use adjutant_core::command::Start;
use adjutant_core::{Command as Operation, Status, TaskId};
use adjutant_runtime::Engine;
use adjutant_store::FileStore;
use adjutant_store::file::{Folder, synced_so_far};
use adjutant_test_support::soak::{Sample, is_soak};
use adjutant_testkit::audit::{self, Record};
use adjutant_testkit::crash::Matrix;
use adjutant_testkit::deed::Deed;
use adjutant_testkit::deed::given::{AGENT, BLOCKED, READY, REVIEWED, WORKING, project_at_work};
use adjutant_testkit::dice::Dice;
use adjutant_testkit::message::{completion, progress};
use adjutant_testkit::power::of_another_boot;
use adjutant_testkit::project::{add, id_of, operator, send};
use adjutant_testkit::snapshot::{Snapshot, quick_folder};
use adjutant_testkit::wish::wish;
use adjutant_testkit::{Project, SetClock, hand, power};

const CHILD: &str = env!("CARGO_BIN_EXE_hand");

/// These come to rest on the way, so that nothing they did can be lost.
const SYNCED: [&str; 3] = ["rest", "cut_the_journal", "cut_the_journal_only"];

#[test]
fn whatever_a_power_cut_leaves_every_commit_is_there_afterwards() {
    let seed = Dice::seed();
    println!("ADJUTANT_SEED={seed}");
    let times = if is_soak() { 500 } else { 5 };
    let deeds = Deed::all().filter(|deed| deed.given.is_some() && !SYNCED.contains(&deed.name));
    let sample = Sample::one_in(3, seed);
    for (_, deed) in (0..).zip(deeds).filter(|(number, _)| sample.takes(*number)) {
        Matrix::of(deed.name, CHILD).cut_the_power(&mut Dice::from_seed(seed), times);
    }
}

#[test]
fn nothing_of_a_long_day_without_rest_is_lost() {
    let seed = Dice::seed();
    println!("ADJUTANT_SEED={seed}");
    let days = if is_soak() { 300 } else { 5 };
    for day in 0..days {
        let mut dice = Dice::from_seed(seed.wrapping_add(day));
        let (project, _) = at_rest();
        let before = long_day(&project, &mut dice);
        let after = Snapshot::take(project.folder().root());
        for cut in 0..8 {
            let left = power::cut(&before, &after, &mut dice);
            expect_as_it_was(&left, &after, &format!("seed {seed}, day {day}, cut {cut}"));
        }
    }
}

/// Does this and that, into the next day, and now and then edits a file by hand. Returns what is
/// safe from a power cut: what was there before, and what people did.
fn long_day(project: &Project, dice: &mut Dice) -> Snapshot {
    let mut before = Snapshot::take(project.folder().root());
    let mut engine = project.engine();
    for number in 0..30 {
        let tasks: Vec<TaskId> = engine.world().tasks().map(|task| task.id.clone()).collect();
        let count = 1 + dice.below(3);
        let wishes: Vec<_> = (0..count).map(|_| wish(dice, &tasks, AGENT, number)).collect();
        engine.submit(&wishes).expect("answers");
        project.clock.advance_ms(30 * 60 * 1_000);
        if dice.below(8) == 0 {
            edit_by_hand(project, &engine, dice.one_of(&tasks), &mut before);
            engine.look_around().expect("a look around");
        }
    }
    before
}

fn edit_by_hand(project: &Project, engine: &Engine<FileStore>, id: &TaskId, before: &mut Snapshot) {
    let status = engine.world().task(id).expect("a task").status();
    let path = format!("tasks/{status}/{id}.md");
    let text = project.read(&path) + "\nBy hand.\n";
    project.write(&path, &text);
    before.files.retain(|path, _| !path.ends_with(&format!("{id}.md")));
    before.files.insert(path, text.into_bytes());
}

fn expect_as_it_was(left: &Snapshot, after: &Snapshot, when: &str) {
    let home = quick_folder();
    let root = home.path().join(".adjutant");
    left.write_to(&root);
    let folder = Folder::at(&root).expect("a data folder");
    let engine = hand::open(&folder, &SetClock::at("2026-02-11T00:00:00.000Z"));
    let mut now = Snapshot::take(&root).without("journal/");
    now.files.retain(|path, bytes| !path.starts_with("events/") || !bytes.is_empty());
    let differences = after.clone().without("journal/").differences(&now);
    assert!(differences.is_empty(), "{when}:\n{}", differences.join("\n"));
    let problems = audit::problems(&folder, engine.world(), Record::Whole);
    assert!(problems.is_empty(), "{when}: {problems:#?}");
}

/// Starts the machine again.
fn reboot(project: &Project) {
    let path = project.path("journal/state");
    let marker = fs::read(&path).expect("a marker");
    fs::write(&path, of_another_boot(&marker)).expect("a marker");
}

/// Opens a folder after a reboot, sees that it is sound, and returns what was told since.
fn told_after_reboot(project: &Project, before: usize) -> Vec<String> {
    reboot(project);
    let engine = project.engine();
    let problems = audit::problems(project.folder(), engine.world(), Record::Whole);
    assert!(problems.is_empty(), "{problems:#?}");
    project.event_types().split_off(before)
}

fn at_rest() -> (Project, usize) {
    let project = Project::new();
    project_at_work(&project);
    let told = project.events().len();
    (project, told)
}

fn ready(project: &Project) -> PathBuf {
    project.path(&format!("tasks/ready/{READY}.md"))
}

#[test]
fn a_file_that_was_removed_at_rest_stays_away() {
    let (project, before) = at_rest();
    fs::remove_file(ready(&project)).expect("a file");
    assert_eq!(told_after_reboot(&project, before), ["task.removed"]);
    assert_eq!(project.folders_of(READY), []);
}

#[test]
fn a_file_that_was_moved_at_rest_stays_where_it_is() {
    let (project, before) = at_rest();
    let to = project.path(&format!("tasks/blocked/{READY}.md"));
    fs::rename(ready(&project), to).expect("moved");
    assert_eq!(told_after_reboot(&project, before), ["task.transitioned"]);
    assert_eq!(project.folders_of(READY), [Status::Blocked]);
}

#[test]
fn a_file_that_was_edited_at_rest_stays_as_it_is() {
    let (project, before) = at_rest();
    let text = fs::read_to_string(ready(&project)).expect("a task").replace("Mend", "Paint");
    fs::write(ready(&project), &text).expect("a task");
    assert_eq!(told_after_reboot(&project, before), ["task.edited"]);
    assert_eq!(fs::read_to_string(ready(&project)).expect("a task"), text);
}

#[test]
fn a_task_that_was_made_and_removed_without_a_rest_stays_away() {
    let (project, _) = at_rest();
    let mut engine = project.engine();
    let id = id_of(&engine.submit_one(add("Short-lived", Start::Ready)).expect("added"));
    fs::remove_file(project.path(&format!("tasks/ready/{id}.md"))).expect("a file");
    engine.look_around().expect("a look around");
    drop(engine);
    let before = project.events().len();
    assert_eq!(told_after_reboot(&project, before), [""; 0]);
    assert_eq!(project.folders_of(id.as_str()), []);
}

/// Only what was moved is moved again, and not what a later run left in its place.
#[test]
fn what_was_left_after_a_run_was_put_aside_stays_where_it_is() {
    let (project, _) = at_rest();
    let mut engine = project.engine();
    let id = TaskId::parse(REVIEWED).expect("a good id");
    let reject = operator(Operation::Reject { id, reason: "Not yet.".into() });
    engine.submit_one(reject).expect("an answer");
    drop(engine);
    let runs = format!("runs/{REVIEWED}");
    let aside = format!("{runs}/attempts/1/run_result.json");
    let old = project.read(&aside);
    project.write(&format!("{runs}/run.json"), "{}\n");
    let told = project.events().len();
    assert_eq!(told_after_reboot(&project, told), [""; 0]);
    assert_eq!(project.read(&format!("{runs}/run.json")), "{}\n");
    assert_eq!(project.read(&aside), old);
    // The file that was moved is moved again, should the move have been lost.
    fs::rename(project.path(&aside), project.path(&format!("{runs}/run_result.json")))
        .expect("moved");
    assert_eq!(told_after_reboot(&project, told), [""; 0]);
    assert_eq!(project.read(&aside), old);
}

/// The journal does not know what was there before, and could not tell a power cut from an edit.
#[test]
fn what_people_did_is_synced_before_the_record_tells_of_it() {
    let (project, _) = at_rest();
    let mut engine = project.engine();
    let text = fs::read_to_string(ready(&project)).expect("a task");
    fs::write(ready(&project), text + "By hand.\n").expect("a task");
    fs::remove_file(project.path(&format!("tasks/blocked/{BLOCKED}.md"))).expect("a file");
    let already = synced_so_far().len();
    engine.look_around().expect("a look around");
    let synced = synced_so_far().split_off(already);
    for path in [&format!("tasks/ready/{READY}.md"), "tasks/ready", "tasks/blocked"] {
        assert!(synced.contains(&project.path(path)), "{path} is not in {synced:?}");
    }
}

/// The journal is what everything else is restored from, so that a commit is synced before it is
/// answered. The first one also syncs what other processes may have written.
#[test]
fn journal_is_synced_before_every_answer() {
    let (project, _) = at_rest();
    let mut engine = project.engine();
    for text in ["first", "second", "third"] {
        let already = synced_so_far().len();
        say(&mut engine, text);
        let synced = synced_so_far().split_off(already);
        let is_journal = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "wal");
        assert!(synced.iter().any(is_journal), "{text}: the journal is not in {synced:?}");
    }
}

#[test]
fn runs_that_are_taken_over_are_synced_at_once() {
    let project = Project::new();
    project.write(&format!("state/runs/{READY}/run_result.json"), "{}\n");
    let already = synced_so_far().len();
    drop(project.engine());
    assert!(project.has(&format!("runs/{READY}/run_result.json")));
    let synced = synced_so_far().split_off(already);
    for folder in ["runs", "state/runs"] {
        assert!(synced.contains(&project.path(folder)), "{folder} is not in {synced:?}");
    }
}

fn say(engine: &mut Engine<FileStore>, text: &str) {
    engine.submit_one(send(&progress(WORKING, AGENT, text))).expect("an answer");
}

/// A process that knows less must not take back what another has synced.
#[test]
fn what_one_process_brought_to_rest_another_does_not_put_in_doubt() {
    let (project, _) = at_rest();
    let mut one = project.engine();
    let mut other = project.engine();
    let id = TaskId::parse(READY).expect("a good id");
    let to = Status::InProgress;
    let started = Operation::Move { id, to, reason: "start".into() };
    one.submit_one(operator(started)).expect("started");
    one.rest().expect("at rest");
    say(&mut other, "half");
    drop((one, other));
    let before = project.events().len();
    fs::remove_file(project.path(&format!("tasks/in-progress/{READY}.md"))).expect("a file");
    assert_eq!(told_after_reboot(&project, before), ["task.removed"]);
    assert_eq!(project.folders_of(READY), []);
    assert!(project.read(&format!("tasks/in-progress/{WORKING}.md")).contains("half"));
}

/// Returns everything in the folder that is other than it was and was not synced since.
fn unsynced(project: &Project, before: &Snapshot, synced: &[PathBuf]) -> Vec<String> {
    let root = project.folder().root();
    let synced: BTreeSet<&Path> = synced.iter().map(PathBuf::as_path).collect();
    let after = Snapshot::take(root).without("journal/");
    // What was there before, and has only moved, was synced then.
    let written = |(path, bytes): &(&String, &Vec<u8>)| {
        before.files.get(*path) != Some(bytes) && !before.files.values().any(|old| old == *bytes)
    };
    let changed = after.files.iter().filter(written).map(|(path, _)| path);
    let with_folders = changed.flat_map(|path| Path::new(path).ancestors());
    let there = with_folders.filter(|path| root.join(path).exists());
    let missed: BTreeSet<&Path> =
        there.filter(|path| !synced.contains(&*root.join(path))).collect();
    if synced.contains(&*root.join("*")) {
        return vec![];
    }
    missed.into_iter().map(|path| path.display().to_string()).collect()
}

fn done_by_another_process(project: &Project, deed: &str) {
    let ran = Command::new(CHILD).arg(project.home()).arg(deed).output().expect("a child");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

/// Has one process do something, another come to rest, and returns what is not synced then.
fn left_unsynced(
    deed: &str,
    open: impl Fn(&Project, &dyn Fn()) -> Engine<FileStore>,
) -> Vec<String> {
    let (project, _) = at_rest();
    (Deed::named(deed).meddle)(project.folder().root());
    let before = Snapshot::take(project.folder().root()).without("journal/");
    let mut engine = open(&project, &|| done_by_another_process(&project, deed));
    let already = synced_so_far().len();
    engine.rest().expect("at rest");
    unsynced(&project, &before, &synced_so_far()[already..])
}

#[test]
fn who_comes_to_rest_syncs_what_others_wrote_too() {
    let opened_later = |project: &Project, act: &dyn Fn()| {
        act();
        project.engine()
    };
    let open_before = |project: &Project, act: &dyn Fn()| {
        let engine = project.engine();
        act();
        engine
    };
    let deeds = ["group", "handoff_accepted", "session_end", "cross_midnight_and_back"];
    for deed in deeds {
        assert_eq!(left_unsynced(deed, opened_later), [""; 0], "{deed}, opened later");
        assert_eq!(left_unsynced(deed, open_before), [""; 0], "{deed}, open before");
    }
}

#[test]
fn a_folder_that_moves_with_its_task_is_synced_where_it_is_then() {
    let (project, _) = at_rest();
    let before = Snapshot::take(project.folder().root()).without("journal/");
    let mut engine = project.engine();
    let handoff = adjutant_testkit::message::handoff(READY, WORKING, AGENT, "swe-qa");
    engine.submit_one(send(&handoff)).expect("an answer");
    engine.submit_one(send(&completion(READY, "swe-qa", "blocked"))).expect("an answer");
    assert!(project.has(&format!("tasks/blocked/{READY}/inputs/handoff.json")));
    let already = synced_so_far().len();
    engine.rest().expect("at rest");
    assert_eq!(unsynced(&project, &before, &synced_so_far()[already..]), [""; 0]);
}
