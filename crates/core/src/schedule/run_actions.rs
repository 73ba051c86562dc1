//! Decides what to do about a run, from the facts that were found out about it.

use adjutant_model::policy::SchedulerPolicy;
use adjutant_model::run::RunLiveness;
use adjutant_model::status::Status;
use adjutant_model::task::{Lease, Task};
use adjutant_model::time::Time;

use super::action::{ScheduleAction, TaskRecovery};
use crate::input::{FoundResult, RunFacts};

/// Returns the action that the run of a task needs; `None` if it needs none.
pub(super) fn run_action(
    task: &Task,
    seen: &RunFacts,
    policy: &SchedulerPolicy,
    now: Time,
) -> Option<ScheduleAction> {
    if task.status() != Status::InProgress {
        return reported_run_action(task, seen, now);
    }
    // Without a lease, a person works on the step, or the result of the step's run
    // is being checked.
    let step = task.story().is_some() && task.lease().is_none();
    // The run has reported and ended. The task waits for the checks, however long they take.
    if step || task.history.claim().is_some() && task.history.open.is_none() {
        return None;
    }
    let (id, recovery) = (task.id.clone(), recovery(task, seen.found.as_ref(), policy));
    match (seen.life, seen.heartbeat) {
        (RunLiveness::Alive, _) => {
            let until = Time::from_millis(now.as_millis().saturating_add(policy.heartbeat_ttl_ms));
            renew_action(task, until, |lease| is_renewal_due(lease, policy, now))
        }
        (RunLiveness::Gone, _) => Some(ScheduleAction::RunLost { task: id, recovery }),
        (RunLiveness::NotOurs, Some(beat)) if beat.is_stale(now) => {
            Some(ScheduleAction::StaleHeartbeat { task: id, recovery })
        }
        (RunLiveness::NotOurs, Some(beat)) => {
            renew_action(task, beat.expires_at, |lease| lease.expires_at <= now)
        }
        (RunLiveness::NotOurs, None) => task
            .lease()
            .filter(|lease| lease.expires_at <= now)
            .map(|_| ScheduleAction::ExpireLease { task: id, recovery }),
    }
}

/// Handles a run that has reported but may not have ended: it keeps its slot until it is gone.
fn reported_run_action(task: &Task, seen: &RunFacts, now: Time) -> Option<ScheduleAction> {
    let run = task.history.open.as_ref()?;
    let gone = match seen.life {
        RunLiveness::Alive => false,
        RunLiveness::Gone => true,
        RunLiveness::NotOurs => seen.heartbeat.is_none_or(|beat| beat.is_stale(now)),
    };
    gone.then(|| ScheduleAction::RunOver { task: task.id.clone(), fence: run.fence })
}

fn renew_action(
    task: &Task,
    until: Time,
    is_due: impl FnOnce(&Lease) -> bool,
) -> Option<ScheduleAction> {
    let lease = task.lease().filter(|lease| is_due(lease))?;
    Some(ScheduleAction::RenewLease {
        task: task.id.clone(),
        fence: lease.fence,
        expires_at: until,
    })
}

/// Returns whether to renew a lease: it has less than half of its time left, or more than a
/// full TTL. The latter means that the clock was set back, and a missing heartbeat would be
/// noticed too late.
pub(crate) fn is_renewal_due(lease: &Lease, policy: &SchedulerPolicy, now: Time) -> bool {
    let left = lease.expires_at.as_millis().saturating_sub(now.as_millis());
    left <= policy.heartbeat_ttl_ms / 2 || left > policy.heartbeat_ttl_ms
}

/// Returns where a task goes when its run is over.
pub(crate) fn recovery(
    task: &Task,
    found: Option<&FoundResult>,
    policy: &SchedulerPolicy,
) -> TaskRecovery {
    let attempts = task.history.failures.len() + 1;
    match found {
        Some(FoundResult::Result(result)) => TaskRecovery::Result(result.completion.outcome),
        None | Some(FoundResult::Invalid(_)) if attempts >= policy.attempts_max as usize => {
            TaskRecovery::Deadletter
        }
        None | Some(FoundResult::Invalid(_)) => TaskRecovery::Reclaim,
    }
}
