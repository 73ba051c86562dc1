//! The conformance suite: the behaviour that every [`Store`] must show.
//!
//! Each case is a function over a [`StoreHarness`]; [`conformance!`](crate::conformance!) makes one
//! test of each case. A case uses only the [`Store`] trait and the document changes that a person
//! or an agent could make, so the memory, file and fleet stores pass the same suite.

mod artifacts;
mod bodies;
mod effects;
mod handle;
mod runs;
mod sample;
mod versions;

pub use artifacts::{
    attempts_in_one_commit_are_archived_separately, companion_folder_follows_hand_moved_task,
    companion_folder_moves_with_its_task, completion_writes_run_result,
    earlier_attempts_are_archived, handoff_writes_its_files,
    invalid_result_is_reported_and_salvaged, late_message_is_salvaged,
    old_result_never_counts_for_a_new_attempt, result_file_of_agent_stays_unchanged,
    result_of_hand_started_task_counts,
};
pub use bodies::{
    changed_fields_keep_their_position, edited_body_replaces_the_old,
    message_events_change_no_task, removed_task_is_gone_for_good, task_body_stays_unchanged,
    work_log_gains_one_line_per_report,
};
pub use effects::{effects_are_pending_until_settled, settling_unknown_effect_changes_nothing};
pub use runs::{
    answer_is_written_into_task_inputs, external_run_has_heartbeat_from_the_start,
    failed_run_is_marked_and_archived, heartbeat_file_is_read_or_ignored,
    run_effects_are_pending_like_others, run_files_are_archived_with_their_attempt,
    run_start_clears_old_run_files, salvaged_report_is_listed_until_applied,
};
pub use versions::{
    batch_is_committed_whole, checkpoint_changes_nothing_visible, commit_returns_the_next_version,
    event_ids_have_no_gap, every_event_kind_is_read_back, handles_see_commits_of_each_other,
    new_store_is_empty, refused_commit_causes_reload, refused_commit_changes_nothing,
};

use adjutant_store::store::{LoadedStore, Store};

/// Opens handles on one store, and changes its documents as people and agents do.
pub trait StoreHarness {
    type Store: Store;

    /// Opens another handle on the same store, as another process would. At the first call the
    /// store is new.
    fn open(&mut self) -> (Self::Store, LoadedStore);

    /// Writes a file as an agent would. The path is relative to the data folder.
    fn write(&mut self, path: &str, text: &str);

    /// Removes a file, as a person would.
    fn remove(&mut self, path: &str);

    /// Returns the text of a file, or `None` if it does not exist.
    fn read(&mut self, path: &str) -> Option<String>;
}

/// Makes a test of every case, each on a new harness: `conformance!(MyHarness::new());`.
#[macro_export]
macro_rules! conformance {
    ($harness:expr) => {
        $crate::conformance! { @each $harness;
            batch_is_committed_whole
            commit_returns_the_next_version
            completion_writes_run_result
            companion_folder_follows_hand_moved_task
            companion_folder_moves_with_its_task
            handoff_writes_its_files
            late_message_is_salvaged
            salvaged_report_is_listed_until_applied
            edited_body_replaces_the_old
            new_store_is_empty
            refused_commit_changes_nothing
            result_of_hand_started_task_counts
            invalid_result_is_reported_and_salvaged
            result_file_of_agent_stays_unchanged
            run_start_clears_old_run_files
            external_run_has_heartbeat_from_the_start
            run_files_are_archived_with_their_attempt
            failed_run_is_marked_and_archived
            checkpoint_changes_nothing_visible
            removed_task_is_gone_for_good
            refused_commit_causes_reload
            answer_is_written_into_task_inputs
            attempts_in_one_commit_are_archived_separately
            task_body_stays_unchanged
            effects_are_pending_until_settled
            event_ids_have_no_gap
            every_event_kind_is_read_back
            changed_fields_keep_their_position
            handles_see_commits_of_each_other
            old_result_never_counts_for_a_new_attempt
            run_effects_are_pending_like_others
            heartbeat_file_is_read_or_ignored
            work_log_gains_one_line_per_report
            settling_unknown_effect_changes_nothing
            message_events_change_no_task
            earlier_attempts_are_archived
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
