//! `kill -9` at every write, rename, removal and sync of every kind of commit: afterwards the
//! folder is as it was before or as it is after, whoever comes next, and work goes on.

#![expect(clippy::print_stdout, reason = "how many points there were is worth knowing")]

use adjutant_testkit::crash::Matrix;
use adjutant_testkit::deed::Deed;

const CHILD: &str = env!("CARGO_BIN_EXE_hand");

macro_rules! killed_at_every_point {
    ($($deed:ident)+) => {
        $(
            #[test]
            fn $deed() {
                let points = Matrix::of(stringify!($deed), CHILD).kill_at_every_point();
                println!("{}: killed at each of {points} points", stringify!($deed));
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

killed_at_every_point! {
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
    effects
    hand_edit
    hand_edit_of_the_body
    hand_move
    hand_add
    hand_removal
    message_after_hand_edit
    session_end
    session_end_with_a_bad_result
    open
    open_without_an_index
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
    let soak = std::env::var_os("ADJUTANT_SOAK").is_some();
    let short = ["completion_done_twice_moved", "reject_archives_the_run", "cut_the_journal_only"];
    let deeds = Deed::all().map(|deed| deed.name).filter(|deed| soak || short.contains(deed));
    let stride = if soak { 1 } else { 3 };
    for deed in deeds {
        let points = Matrix::of(deed, CHILD).kill_the_next_one_too(stride);
        println!("{deed}: the next one killed at each of {points} points");
    }
}

/// Nobody waits for a writer that stands still, wherever it does, and every task is seen as it was
/// before or as it is after.
#[test]
fn a_reader_sees_every_task_whatever_a_writer_is_at() {
    let soak = std::env::var_os("ADJUTANT_SOAK").is_some();
    let short =
        ["add", "group", "completion_done_twice_moved", "cut_the_journal_only", "hand_move"];
    let deeds = Deed::all().filter(|deed| deed.given.is_some());
    for deed in deeds.map(|deed| deed.name).filter(|deed| soak || short.contains(deed)) {
        let points = Matrix::of(deed, CHILD).read_at_every_point();
        println!("{deed}: read at each of {points} points");
    }
}
