//! What every store must do, whatever it keeps its record in.
//!
//! Each case is a function over a [`Harness`]; [`conformance!`](crate::conformance!) makes one test
//! of each. A case uses nothing but the [`Store`] trait and what an outsider can do to documents,
//! so that memory, files and a fleet are held to the same words.

mod artifacts;
mod bodies;
mod effects;
mod handle;
mod runs;
mod sample;
mod versions;

pub use artifacts::{
    a_completion_leaves_its_result, a_folder_follows_a_task_that_was_moved_by_hand,
    a_folder_moves_with_its_task, a_handoff_leaves_its_papers,
    a_message_that_came_too_late_is_kept, a_result_of_who_took_the_task_by_hand_stays,
    a_result_that_does_not_fit_is_told_and_put_aside, a_result_that_was_left_stays_as_it_is,
    attempts_in_one_commit_are_kept_apart, no_way_back_to_work_keeps_an_old_result,
    work_that_starts_again_keeps_what_was_before,
};
pub use bodies::{
    a_new_body_replaces_the_old, a_task_that_was_taken_away_is_gone, bodies_are_kept_as_they_are,
    fields_change_where_they_stand, the_work_log_grows_by_a_line,
    what_is_only_said_changes_no_task,
};
pub use effects::{
    effects_are_owed_until_they_are_settled, what_is_not_owed_can_be_settled_without_harm,
};
pub use runs::{
    a_late_report_is_kept_until_it_is_applied, a_run_begins_with_nothing_that_others_left,
    a_run_elsewhere_has_a_heartbeat_from_the_start, a_run_leaves_its_papers_where_its_attempt_lies,
    a_run_that_failed_is_marked_and_kept, an_answer_lies_with_the_task,
    orders_for_runs_are_owed_like_any_other, signs_of_life_are_read_as_they_stand,
};
pub use versions::{
    a_batch_is_taken_whole, a_commit_gives_the_next_version, a_new_store_is_empty,
    a_refused_commit_changes_nothing, a_store_at_rest_is_what_it_was,
    after_a_refusal_the_world_is_told_anew, events_are_counted_without_a_gap,
    every_kind_of_event_is_told_and_kept, handles_see_each_other,
};

use crate::store::{Loaded, Store};

/// Makes handles on one store, and does to its documents what outsiders do.
pub trait Harness {
    /// The store under test.
    type Store: Store;

    /// Opens the store, as one more process would. The first call finds it new.
    fn open(&mut self) -> (Self::Store, Loaded);

    /// Writes a file as an agent would. The path is relative to the data folder.
    fn write(&mut self, path: &str, text: &str);

    /// Takes a file away, as a person would.
    fn remove(&mut self, path: &str);

    /// Reads a file, or returns none if there is none.
    fn read(&mut self, path: &str) -> Option<String>;
}

/// Makes a test of every case, each on a harness of its own: `conformance!(MyHarness::new());`.
#[macro_export]
macro_rules! conformance {
    ($harness:expr) => {
        $crate::conformance! { @each $harness;
            a_batch_is_taken_whole
            a_commit_gives_the_next_version
            a_completion_leaves_its_result
            a_folder_follows_a_task_that_was_moved_by_hand
            a_folder_moves_with_its_task
            a_handoff_leaves_its_papers
            a_message_that_came_too_late_is_kept
            a_late_report_is_kept_until_it_is_applied
            a_new_body_replaces_the_old
            a_new_store_is_empty
            a_refused_commit_changes_nothing
            a_result_of_who_took_the_task_by_hand_stays
            a_result_that_does_not_fit_is_told_and_put_aside
            a_result_that_was_left_stays_as_it_is
            a_run_begins_with_nothing_that_others_left
            a_run_elsewhere_has_a_heartbeat_from_the_start
            a_run_leaves_its_papers_where_its_attempt_lies
            a_run_that_failed_is_marked_and_kept
            a_store_at_rest_is_what_it_was
            a_task_that_was_taken_away_is_gone
            after_a_refusal_the_world_is_told_anew
            an_answer_lies_with_the_task
            attempts_in_one_commit_are_kept_apart
            bodies_are_kept_as_they_are
            effects_are_owed_until_they_are_settled
            events_are_counted_without_a_gap
            every_kind_of_event_is_told_and_kept
            fields_change_where_they_stand
            handles_see_each_other
            no_way_back_to_work_keeps_an_old_result
            orders_for_runs_are_owed_like_any_other
            signs_of_life_are_read_as_they_stand
            the_work_log_grows_by_a_line
            what_is_not_owed_can_be_settled_without_harm
            what_is_only_said_changes_no_task
            work_that_starts_again_keeps_what_was_before
        }
    };
    (@each $harness:expr; $($case:ident)+) => {
        $(
            #[test]
            fn $case() {
                $crate::conformance::$case(&mut $harness);
            }
        )+
    };
}
