//! Bounds how much of the event log refusals can take: the first ones are logged each, and further
//! ones are summed up.

use std::collections::BTreeMap;
use std::time::Duration;

use adjutant_model::actor::Actor;
use adjutant_model::answer::Reason;
use adjutant_model::request::RefusedAccess;
use adjutant_model::task_id::TaskId;

/// How many refusals of one kind, to one caller, are logged each.
const LOGGED_EACH_MAX: u64 = 20;

/// How long further refusals are summed up. A kind that is not refused for this long starts anew.
const COLLECT_TIME: Duration = Duration::from_mins(1);

/// The refusals of each caller and kind. The detail of a refusal is one of few texts of ours. Time is
/// that since any fixed moment.
#[derive(Debug, Default)]
pub struct RefusalTally {
    kinds: BTreeMap<(Actor, Option<TaskId>, Reason, String), KindRefusals>,
}

#[derive(Debug)]
struct KindRefusals {
    logged: u64,
    last_at: Duration,
    logged_at: Duration,
    /// The last refusal that was not logged, with the count of all of them.
    collected: Option<RefusedAccess>,
}

impl RefusalTally {
    /// Counts a refusal. Returns what must be logged now: the refusal itself, or the sum of those
    /// that were not logged.
    pub fn record(&mut self, refused: RefusedAccess, now: Duration) -> Option<RefusedAccess> {
        // Kinds that were summed up stay, so that their sum is not lost.
        self.kinds.retain(|_, kind| {
            kind.collected.is_some() || now.saturating_sub(kind.last_at) < COLLECT_TIME
        });
        let (by, task, detail) = (refused.by.clone(), refused.task.clone(), refused.detail.clone());
        let key = (by, task, refused.reason, detail);
        let fresh = KindRefusals { logged: 0, last_at: now, logged_at: now, collected: None };
        let kind = self.kinds.entry(key).or_insert(fresh);
        kind.last_at = now;
        if kind.logged < LOGGED_EACH_MAX {
            kind.logged += 1;
            kind.logged_at = now;
            return Some(refused);
        }
        let before = kind.collected.as_ref().map_or(0, |sum| sum.count);
        let sum = RefusedAccess { count: before.saturating_add(refused.count), ..refused };
        if now.saturating_sub(kind.logged_at) < COLLECT_TIME {
            kind.collected = Some(sum);
            return None;
        }
        kind.logged_at = now;
        kind.collected = None;
        Some(sum)
    }

    /// Returns the sums that were not logged yet.
    pub fn take_all(&mut self) -> Vec<RefusedAccess> {
        let kinds = std::mem::take(&mut self.kinds);
        kinds.into_values().filter_map(|kind| kind.collected).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(task: &str) -> RefusedAccess {
        let task = TaskId::parse(task).ok();
        let reason = Reason::OperatorOnly;
        RefusedAccess { by: Actor::System, task, reason, detail: "approve".into(), count: 1 }
    }

    #[test]
    fn refusal_flood_is_summed_up_and_no_refusal_is_lost() {
        let mut tally = RefusalTally::default();
        let one = "TASK-2026-02-09-001";
        let (mut events, mut count) = (0, 0);
        for second in 0..600 {
            for _ in 0..100 {
                let logged = tally.record(refused(one), Duration::from_secs(second));
                events += u64::from(logged.is_some());
                count += logged.map_or(0, |logged| logged.count);
            }
        }
        assert!(events <= LOGGED_EACH_MAX + 10, "{events}");
        let rest = tally.take_all();
        assert_eq!(count + rest.iter().map(|sum| sum.count).sum::<u64>(), 60_000);
        assert_eq!(tally.take_all(), []);
    }

    #[test]
    fn refusals_of_each_caller_are_counted_apart() {
        let mut tally = RefusalTally::default();
        for _ in 0..1_000 {
            tally.record(refused("TASK-2026-02-09-001"), Duration::ZERO);
        }
        let other = refused("TASK-2026-02-09-002");
        assert_eq!(tally.record(other.clone(), Duration::ZERO), Some(other));
    }

    #[test]
    fn caller_starts_anew_after_quiet_time() {
        let mut tally = RefusalTally::default();
        let one = refused("TASK-2026-02-09-001");
        for _ in 0..LOGGED_EACH_MAX {
            assert_eq!(tally.record(one.clone(), Duration::ZERO), Some(one.clone()));
        }
        assert_eq!(tally.record(one.clone(), COLLECT_TIME), Some(one));
    }
}
