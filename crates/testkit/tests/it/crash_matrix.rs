//! `kill -9` at any write, rename, removal and sync of every kind of commit: the next process finds
//! the folder as it was before or as it is after, and work continues.
//!
//! One run tries one in [`STRIDE`] points of each operation, chosen by the seed; a soak tries them
//! all.

#![expect(clippy::print_stdout, reason = "how many points there were is worth knowing")]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use adjutant_test_support::soak::{CaseSample, is_soak};
use adjutant_testkit::ManualClock;
use adjutant_testkit::crash::CrashMatrix;
use adjutant_testkit::crash_child::{self, NOW};
use adjutant_testkit::folder_operation::FolderOperation;
use adjutant_testkit::folder_operation::given::{IN_PROGRESS_TASK, READY_TASK};
use adjutant_testkit::seeded_rng::SeededRng;
use adjutant_testkit::snapshot::FolderSnapshot;

const CHILD: &str = env!("CARGO_BIN_EXE_crash_operation");

/// One in this many points is tried for every change.
const STRIDE: u32 = 4;

fn sample(stride: u32) -> CaseSample {
    let seed = SeededRng::seed_from_env();
    println!("ADJUTANT_SEED={seed}");
    CaseSample::one_in(stride, seed)
}

macro_rules! killed_at_any_point {
    ($($operation:ident)+) => {
        $(
            #[test]
            fn $operation() {
                let kills = CrashMatrix::for_operation(stringify!($operation), CHILD).kill_at_points(sample(STRIDE));
                println!("{}: killed at {kills} points", stringify!($operation));
            }
        )+

        #[test]
        fn crash_matrix_has_every_operation() {
            let mut here = vec![$(stringify!($operation)),+];
            let mut all: Vec<&str> = FolderOperation::all().map(|operation| operation.name).collect();
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

/// The next process may be killed as well, while it finishes the first one's work.
#[test]
fn next_process_killed_too_recovers() {
    let short = [
        "completion_done_twice_moved",
        "reject_archives_the_run",
        "cut_the_journal_only",
        "migrate_format_1",
    ];
    let operations = FolderOperation::all()
        .map(|operation| operation.name)
        .filter(|operation| is_soak() || short.contains(operation));
    let sample = sample(3 * STRIDE);
    for operation in operations {
        let points = CrashMatrix::for_operation(operation, CHILD).kill_next_process_too(sample);
        println!("{operation}: the next one killed at each of {points} points");
    }
}

/// No reader waits for a writer that is paused at any step, and every task is seen as it was before
/// or as it is after.
#[test]
fn reader_sees_every_task_at_any_step_of_a_writer() {
    let short = [
        "add",
        "group",
        "completion_done_twice_moved",
        "cut_the_journal_only",
        "hand_move",
        "adopt",
        "migrate_format_1",
    ];
    let operations = FolderOperation::all().filter(|operation| operation.prepare.is_some());
    let sample = sample(STRIDE);
    for operation in operations
        .map(|operation| operation.name)
        .filter(|operation| is_soak() || short.contains(operation))
    {
        let reads = CrashMatrix::for_operation(operation, CHILD).read_at_points(sample);
        println!("{operation}: read at {reads} points");
    }
}

/// A person saves a task at any step of a child that is killed at any later step: the text is in
/// the task or in `lost+found`.
#[test]
fn save_by_a_person_survives_a_kill_at_any_later_step() {
    let sample = sample(STRIDE);
    for (operation, task) in [
        ("status_progress", format!("tasks/in-progress/{IN_PROGRESS_TASK}.md")),
        ("move_along", format!("tasks/ready/{READY_TASK}.md")),
    ] {
        let matrix = CrashMatrix::for_operation(operation, CHILD);
        let points = (1..).filter(|point| sample.includes(*point));
        let kills = points.map_while(|point| save_and_kill(&matrix, point, &task));
        println!("{operation}: killed {} times after a person saved", kills.sum::<u32>());
    }
}

/// Saves at one point; returns at how many later points the child was killed, or `None` if there is
/// no such point.
fn save_and_kill(matrix: &CrashMatrix, point: u32, task: &str) -> Option<u32> {
    for die_at in point + 1.. {
        let (home, paused) = matrix.pause_at(&[point], Some(die_at))?;
        let saved =
            save(&crash_child::open_or_init_folder(home.path()).root().join(task), "By hand.\n");
        let died = paused.resume().signal() == Some(9);
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
    let folder = crash_child::open_or_init_folder(home);
    crash_child::open_engine(&folder, &ManualClock::at(NOW)).rest().expect("at rest");
    let files = FolderSnapshot::of_folder(folder.root()).without("journal/").files;
    let mut texts = files.values().map(|bytes| String::from_utf8_lossy(bytes));
    assert!(texts.any(|text| text.contains(words)), "{when}");
}

/// A person saves twice while a message is applied; the first text may not be a task. At any steps,
/// the last text is in the task or in `lost+found`.
#[test]
fn second_save_by_a_person_is_not_lost() {
    let matrix = CrashMatrix::for_operation("status_progress", CHILD);
    let task = format!("tasks/in-progress/{IN_PROGRESS_TASK}.md");
    let sample = sample(STRIDE);
    for first in ["By hand.\n", "no task any more"] {
        let points = (1..).filter(|point| sample.includes(*point));
        let saves = points.map_while(|point| save_twice(&matrix, &task, first, point));
        println!("{first:?}: {} times saved again", saves.sum::<u32>());
    }
}

/// Saves at one point and at every later one in turn; returns how many there were, or `None` if
/// there is no such point.
fn save_twice(matrix: &CrashMatrix, task: &str, first: &str, point: u32) -> Option<u32> {
    for again in point + 1.. {
        let (home, paused) = matrix.pause_at(&[point, again], None)?;
        let path = crash_child::open_or_init_folder(home.path()).root().join(task);
        if first.ends_with('\n') {
            save(&path, first);
        } else {
            fs::write(&path, first).expect("a task");
        }
        let Some(paused) = paused.resume_to_next_pause() else { return Some(again - point - 1) };
        let saved = save(&path, "Again.\n");
        assert!(paused.resume().success());
        assert!(saved, "saved at {point} and {again}");
        expect_kept(home.path(), "Again.", &format!("saved at {point} and {again}"));
    }
    None
}
