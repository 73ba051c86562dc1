//! What is to be thought of a run, from what was found out about it.

use super::action::{Action, Recovery};
use crate::input::Found;
use crate::policy::SchedulerPolicy;
use crate::run::{Life, RunFacts};
use crate::status::Status;
use crate::task::{Lease, Task};
use crate::time::Time;

/// Returns what is to be done about the run of a task; none if it can be left alone.
pub(super) fn judge(
    task: &Task,
    seen: &RunFacts,
    policy: &SchedulerPolicy,
    now: Time,
) -> Option<Action> {
    if task.status() != Status::InProgress {
        return lingering(task, seen, now);
    }
    // Somebody else works on a step of the story, or what a run left of it is looked at.
    let step = task.story().is_some() && task.lease().is_none();
    // What has reported and is over waits for whoever looks into it, however long that takes.
    if step || task.trials.claim().is_some() && task.trials.open.is_none() {
        return None;
    }
    let (id, recovery) = (task.id.clone(), recovery(task, seen.found.as_ref(), policy));
    match (seen.life, seen.heartbeat) {
        (Life::Alive, _) => {
            let until = Time::from_millis(now.as_millis().saturating_add(policy.heartbeat_ttl_ms));
            renew(task, until, |lease| is_due(lease, policy, now))
        }
        (Life::Gone, _) => Some(Action::RunLost { task: id, recovery }),
        (Life::NotOurs, Some(beat)) if beat.is_stale(now) => {
            Some(Action::StaleHeartbeat { task: id, recovery })
        }
        (Life::NotOurs, Some(beat)) => {
            renew(task, beat.expires_at, |lease| lease.expires_at <= now)
        }
        (Life::NotOurs, None) => task
            .lease()
            .filter(|lease| lease.expires_at <= now)
            .map(|_| Action::ExpireLease { task: id, recovery }),
    }
}

/// A run that has reported keeps its slot until it is gone.
fn lingering(task: &Task, seen: &RunFacts, now: Time) -> Option<Action> {
    let run = task.trials.open.as_ref()?;
    let gone = match seen.life {
        Life::Alive => false,
        Life::Gone => true,
        Life::NotOurs => seen.heartbeat.is_none_or(|beat| beat.is_stale(now)),
    };
    gone.then(|| Action::RunOver { task: task.id.clone(), fence: run.fence })
}

fn renew(task: &Task, until: Time, is_due: impl FnOnce(&Lease) -> bool) -> Option<Action> {
    let lease = task.lease().filter(|lease| is_due(lease))?;
    Some(Action::RenewLease { task: task.id.clone(), fence: lease.fence, expires_at: until })
}

/// Says whether a lease has less than half of its time left, or more than there is to have: then
/// the clock was set back, and whoever stops beating would be missed too late.
pub(crate) fn is_due(lease: &Lease, policy: &SchedulerPolicy, now: Time) -> bool {
    let left = lease.expires_at.as_millis().saturating_sub(now.as_millis());
    left <= policy.heartbeat_ttl_ms / 2 || left > policy.heartbeat_ttl_ms
}

/// Returns what becomes of a task whose run is over.
pub(crate) fn recovery(task: &Task, found: Option<&Found>, policy: &SchedulerPolicy) -> Recovery {
    let attempts = task.trials.failures.len() + 1;
    match found {
        Some(Found::Result(result)) => Recovery::Result(result.completion.outcome),
        None | Some(Found::Invalid(_)) if attempts >= policy.attempts_max as usize => {
            Recovery::Deadletter
        }
        None | Some(Found::Invalid(_)) => Recovery::Reclaim,
    }
}
