//! `kill -9` at any write, rename, removal and sync of every kind of commit: afterwards the
//! folder is as it was before or as it is after, whoever comes next, and work goes on.
//!
//! One run tries one in [`STRIDE`] points of each, which ones the seed says; a soak tries them all.

#![expect(clippy::print_stdout, reason = "how many points there were is worth knowing")]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use adjutant_test_support::soak::{Sample, is_soak};
use adjutant_testkit::SetClock;
use adjutant_testkit::crash::Matrix;
use adjutant_testkit::deed::Deed;
use adjutant_testkit::deed::given::{READY, WORKING};
use adjutant_testkit::dice::Dice;
use adjutant_testkit::hand::{self, NOW};
use adjutant_testkit::snapshot::Snapshot;

const CHILD: &str = env!("CARGO_BIN_EXE_hand");

/// One in so many points is tried for every change.
const STRIDE: u32 = 4;

fn sample(stride: u32) -> Sample {
    let seed = Dice::seed();
    println!("ADJUTANT_SEED={seed}");
    Sample::one_in(stride, seed)
}

macro_rules! killed_at_any_point {
    ($($deed:ident)+) => {
        $(
            #[test]
            fn $deed() {
                let kills = Matrix::of(stringify!($deed), CHILD).kill_at_points(sample(STRIDE));
                println!("{}: killed at {kills} points", stringify!($deed));
            }
        )+

        #[test]
        fn every_deed_is_here() {
            let mut here = vec![$(stringify!($deed)),+];
            let mut all: Vec<&str> = Deed::all().map(|deed| deed.name).collect();
            here.sort_unstable();
            all.sort_unstable();
            assert_eq!(here, all);
        }
    };
}

killed_at_any_point! {
    add
    edit_with_body
    move_along
    approve
    reject_archives_the_run
    cancel
    retry_archives_the_run
    refused_command
    completion_done
    completion_done_twice_moved
    completion_blocked
    completion_needs_review
    completion_partial
    completion_again
    status_progress
    status_moves
    status_moves_nowhere
    handoff_request
    handoff_accepted
    handoff_rejected
    handoff_refused
    message_of_a_stranger
    message_of_no_known_type
    message_that_is_no_json
    group
    progress_again_and_again
    crowd
    effects
    hand_edit
    hand_edit_of_the_body
    hand_move
    hand_add
    hand_removal
    message_after_hand_edit
    session_end
    session_end_with_a_bad_result
    give_out
    give_out_and_start
    beat
    beat_refused
    line
    exit_without_a_result
    exit_after_a_report
    exit_with_a_result_left
    exit_with_a_bad_result_left
    cancel_a_run
    lease_expires
    reclaim
    reclaim_and_give_out_again
    give_up
    salvage
    apply_salvage
    open
    open_without_an_index
    migrate_format_1
    rest
    cut_the_journal
    cut_the_journal_only
    cross_midnight_and_back
    first_open
    first_commit
    adopt
}

/// Whoever comes next may be killed as well, while it finishes what the first one left.
#[test]
fn the_next_one_is_killed_too() {
    let short = [
        "completion_done_twice_moved",
        "reject_archives_the_run",
        "cut_the_journal_only",
        "migrate_format_1",
    ];
    let deeds = Deed::all().map(|deed| deed.name).filter(|deed| is_soak() || short.contains(deed));
    let sample = sample(3 * STRIDE);
    for deed in deeds {
        let points = Matrix::of(deed, CHILD).kill_the_next_one_too(sample);
        println!("{deed}: the next one killed at each of {points} points");
    }
}

/// Nobody waits for a writer that stands still, wherever it does, and every task is seen as it was
/// before or as it is after.
#[test]
fn a_reader_sees_every_task_whatever_a_writer_is_at() {
    let short = [
        "add",
        "group",
        "completion_done_twice_moved",
        "cut_the_journal_only",
        "hand_move",
        "adopt",
        "migrate_format_1",
    ];
    let deeds = Deed::all().filter(|deed| deed.given.is_some());
    let sample = sample(STRIDE);
    for deed in deeds.map(|deed| deed.name).filter(|deed| is_soak() || short.contains(deed)) {
        let reads = Matrix::of(deed, CHILD).read_at_points(sample);
        println!("{deed}: read at {reads} points");
    }
}

/// Wherever a child stands when a person saves a task, and wherever it is killed after that, what
/// the person wrote is in the task or put aside.
#[test]
fn what_a_person_saves_survives_a_kill_at_any_point_after() {
    let sample = sample(STRIDE);
    for (deed, task) in [
        ("status_progress", format!("tasks/in-progress/{WORKING}.md")),
        ("move_along", format!("tasks/ready/{READY}.md")),
    ] {
        let matrix = Matrix::of(deed, CHILD);
        let points = (1..).filter(|point| sample.takes(*point));
        let kills = points.map_while(|point| save_and_kill(&matrix, point, &task));
        println!("{deed}: killed {} times after a person saved", kills.sum::<u32>());
    }
}

/// Has a person save at one point, and returns at how many later ones the child was killed; none
/// if there is no such point.
fn save_and_kill(matrix: &Matrix, point: u32, task: &str) -> Option<u32> {
    for die_at in point + 1.. {
        let (home, paused) = matrix.paused_at(&[point], Some(die_at))?;
        let saved = save(&hand::folder(home.path()).root().join(task), "By hand.\n");
        let died = paused.go_on().signal() == Some(9);
        if saved {
            let when = format!("saved at {point}, killed at {die_at}");
            expect_kept(home.path(), "By hand.", &when);
        }
        if !died {
            return Some(die_at - point - 1);
        }
    }
    None
}

/// Saves as an editor does, a new file and then a rename, unless the task has moved away.
fn save(task: &Path, words: &str) -> bool {
    let Ok(text) = fs::read_to_string(task) else { return false };
    let new = task.with_extension("saved");
    fs::write(&new, text + words).expect("a file");
    fs::rename(new, task).expect("a task");
    true
}

fn expect_kept(home: &Path, words: &str, when: &str) {
    let folder = hand::folder(home);
    hand::open(&folder, &SetClock::at(NOW)).rest().expect("at rest");
    let files = Snapshot::take(folder.root()).without("journal/").files;
    let mut texts = files.values().map(|bytes| String::from_utf8_lossy(bytes));
    assert!(texts.any(|text| text.contains(words)), "{when}");
}

/// A person who saves twice while a message is taken in may leave something that is no task at
/// first. Wherever the child stands each time, what was saved last is in the task or put aside.
#[test]
fn what_a_person_saves_again_is_not_lost() {
    let matrix = Matrix::of("status_progress", CHILD);
    let task = format!("tasks/in-progress/{WORKING}.md");
    let sample = sample(STRIDE);
    for first in ["By hand.\n", "no task any more"] {
        let points = (1..).filter(|point| sample.takes(*point));
        let saves = points.map_while(|point| save_twice(&matrix, &task, first, point));
        println!("{first:?}: {} times saved again", saves.sum::<u32>());
    }
}

/// Has a person save at one point and at every later one in turn, and returns how many these were;
/// none if there is no such point.
fn save_twice(matrix: &Matrix, task: &str, first: &str, point: u32) -> Option<u32> {
    for again in point + 1.. {
        let (home, paused) = matrix.paused_at(&[point, again], None)?;
        let path = hand::folder(home.path()).root().join(task);
        if first.ends_with('\n') {
            save(&path, first);
        } else {
            fs::write(&path, first).expect("a task");
        }
        let Some(paused) = paused.go_on_to_the_next() else { return Some(again - point - 1) };
        let saved = save(&path, "Again.\n");
        assert!(paused.go_on().success());
        assert!(saved, "saved at {point} and {again}");
        expect_kept(home.path(), "Again.", &format!("saved at {point} and {again}"));
    }
    None
}
