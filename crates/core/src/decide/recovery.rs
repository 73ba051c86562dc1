//! Decides what happens to a task whose run is over: its result is applied, it is retried, or it
//! is given up.

use adjutant_model::completion::{CompletionReport, WorkOutcome};
use adjutant_model::effect::{Effect, StopReason};
use adjutant_model::event::{Event, ReportChannel};
use adjutant_model::policy::Policy;
use adjutant_model::run::RunExit;
use adjutant_model::run_history::FailedAttempt;
use adjutant_model::status::Status;
use adjutant_model::task::Task;
use adjutant_model::time::Time;

use super::draft::DecisionDraft;
use super::salvage;
use crate::input::FoundResult;
use crate::schedule::{TaskRecovery, backoff_until, recovery};

/// How the end of a run was detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunEndCause<'a> {
    StaleHeartbeat,
    /// The lease expired, and no heartbeat ever came.
    LeaseExpired,
    /// The process ended, with these last lines of output.
    Exited(&'a RunExit, &'a str),
    /// The checks disproved the run's report, for this reason.
    Disproved(&'a str),
}

/// The policy, random number and time that a recovery decision depends on.
#[derive(Clone, Copy)]
pub(super) struct RecoveryContext<'w> {
    pub(super) policy: &'w Policy,
    pub(super) jitter: u64,
    pub(super) now: Time,
}

/// Decides what happens to a task whose run is over. The draft must already be on this task.
pub(super) fn recover(
    draft: &mut DecisionDraft,
    task: &Task,
    sign: RunEndCause<'_>,
    found: Option<&FoundResult>,
    rules: RecoveryContext<'_>,
) {
    if task.story().is_some() && !matches!(sign, RunEndCause::Exited(RunExit::NotStarted(_), _)) {
        // The step is measured next, and the story's files report the result. The pipeline decides
        // how often a step is retried, not the scheduler.
        return match sign {
            RunEndCause::Exited(exit, said) => record_exit(draft, task, exit, said),
            RunEndCause::StaleHeartbeat | RunEndCause::LeaseExpired | RunEndCause::Disproved(_) => {
                record_exit(draft, task, &RunExit::Lost, &sign.failure_reason());
            }
        };
    }
    match sign {
        RunEndCause::Exited(exit, said) => record_exit(draft, task, exit, said),
        // A run that has reported and can no longer be seen counts as over.
        RunEndCause::StaleHeartbeat | RunEndCause::LeaseExpired
            if task.history.claim().is_some() =>
        {
            draft.request_stop(StopReason::Reported);
            record_exit(draft, task, &RunExit::Lost, "");
        }
        RunEndCause::StaleHeartbeat | RunEndCause::LeaseExpired | RunEndCause::Disproved(_) => {}
    }
    if request_checks(draft, task) {
        return;
    }
    match found {
        Some(FoundResult::Result(result)) => {
            let (said, reason) = (&result.completion, sign.result_reason(&result.completion));
            let claimed = draft.hold_for_checks(task, said.outcome, &reason, rules.policy);
            draft.push(Event::TaskCompleted {
                result: result.clone(),
                channel: ReportChannel::LeftBehind,
            });
            if !claimed {
                draft.complete_with_reason(task, said, &reason);
            }
        }
        Some(FoundResult::Invalid(problems)) => {
            salvage::salvage_result(draft, problems);
            record_failed_attempt(draft, task, sign, rules);
        }
        None => record_failed_attempt(draft, task, sign, rules),
    }
}

/// Requests the checks of a run's report now that the run is over. Returns whether there
/// is a report.
pub(super) fn request_checks(draft: &mut DecisionDraft, task: &Task) -> bool {
    let Some(claim) = task.history.claim() else { return false };
    let (attempt, fence) = (claim.attempt, claim.fence);
    draft.add_effect(Effect::CheckWork { task: task.id.clone(), attempt, fence });
    true
}

/// Records that the process of the task's run has ended.
pub(super) fn record_exit(draft: &mut DecisionDraft, task: &Task, exit: &RunExit, said: &str) {
    let (attempt, fence) = current_run(task);
    let (exit, reason) = (exit.clone(), said.to_owned());
    draft.push(Event::RunExited { attempt, fence, exit, reason });
}

/// Returns the attempt and fence of the task's open or leased run. Without one, returns the next
/// attempt and fence 0.
fn current_run(task: &Task) -> (u32, u64) {
    let open = task.history.open.as_ref().map(|run| (run.attempt, run.fence));
    let leased = task.lease().map(|lease| (lease.attempt, lease.fence));
    open.or(leased).unwrap_or((task.next_attempt(), 0))
}

/// Counts a failed attempt, then returns the task to ready or moves it to the dead-letter queue.
pub(super) fn record_failed_attempt(
    draft: &mut DecisionDraft,
    task: &Task,
    sign: RunEndCause<'_>,
    rules: RecoveryContext<'_>,
) {
    let (attempt, fence) = current_run(task);
    let failures = task.history.failures.len() + 1;
    let reason = sign.failure_reason();
    let policy = &rules.policy.scheduler;
    match recovery(task, None, policy) {
        TaskRecovery::Deadletter => {
            let all = all_reasons(&task.history.failures, attempt, &reason);
            draft.push(Event::RunFailed { attempt, fence, reason, not_before: None });
            draft.transition(Status::Deadletter, &all);
        }
        TaskRecovery::Reclaim | TaskRecovery::Result(_) => {
            let until = backoff_until(policy, &task.id, failures, rules.jitter, rules.now);
            let back = sign.retry_reason();
            draft.push(Event::RunFailed { attempt, fence, reason, not_before: Some(until) });
            draft.transition(Status::Ready, &back);
        }
    }
}

fn all_reasons(before: &[FailedAttempt], attempt: u32, reason: &str) -> String {
    let last = FailedAttempt { attempt, reason: reason.into() };
    let each = before.iter().chain([&last]);
    let each: Vec<String> =
        each.map(|failure| format!("attempt {}: {}", failure.attempt, failure.reason)).collect();
    format!("{}; {}", format_attempts(each.len()), each.join("; "))
}

fn format_attempts(attempts: usize) -> String {
    if attempts == 1 {
        "1 failed attempt".to_owned()
    } else {
        format!("{attempts} failed attempts")
    }
}

impl RunEndCause<'_> {
    /// Returns the reason recorded for the failed attempt.
    fn failure_reason(self) -> String {
        match self {
            Self::StaleHeartbeat => "stale_heartbeat".to_owned(),
            Self::LeaseExpired => "lease_expired".to_owned(),
            Self::Exited(exit, "") => exit.in_words(),
            Self::Exited(exit, said) => format!("{}: {said}", exit.in_words()),
            Self::Disproved(why) => why.to_owned(),
        }
    }

    /// Returns the reason for the move back to ready.
    fn retry_reason(self) -> String {
        match self {
            Self::StaleHeartbeat => "stale_heartbeat_reclaim".to_owned(),
            Self::LeaseExpired | Self::Exited(..) | Self::Disproved(_) => self.failure_reason(),
        }
    }

    /// Returns the reason for the moves that the result asks for.
    fn result_reason(self, completion: &CompletionReport) -> String {
        match self {
            Self::Exited(..) | Self::Disproved(_) => completion.reason(),
            Self::StaleHeartbeat | Self::LeaseExpired => {
                let outcome = format!("stale_heartbeat_{}", completion.outcome);
                match completion.outcome {
                    WorkOutcome::Blocked => format!("{outcome}: {}", completion.reason()),
                    WorkOutcome::Done | WorkOutcome::NeedsReview | WorkOutcome::Partial => outcome,
                }
            }
        }
    }
}
