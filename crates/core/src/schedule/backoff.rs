//! The backoff between two attempts of a task.

use adjutant_model::policy::SchedulerPolicy;
use adjutant_model::task_id::TaskId;
use adjutant_model::time::Time;

const WAIT_MS_MAX: i64 = 15 * 60_000;
/// Each wait is this many times as long as the one before.
const FACTOR: i64 = 4;
/// Jitter shortens a wait by up to one part in this many, so that tasks that failed together are
/// not retried together.
const JITTER_DIVISOR: i64 = 10;

/// Returns the earliest time for the next attempt after `failures` failed attempts.
pub(crate) fn backoff_until(
    policy: &SchedulerPolicy,
    task: &TaskId,
    failures: usize,
    jitter: u64,
    now: Time,
) -> Time {
    let wait = wait_ms(policy.backoff_ms.max(0), failures);
    let span = wait / JITTER_DIVISOR;
    let less = i64::try_from(hash_jitter(task, jitter) % 1_000).unwrap_or(0) * span / 1_000;
    Time::from_millis(now.as_millis().saturating_add(wait - less))
}

fn wait_ms(first: i64, failures: usize) -> i64 {
    let longer = |wait: i64, _| wait.saturating_mul(FACTOR).min(WAIT_MS_MAX);
    (1..failures.min(32)).fold(first.min(WAIT_MS_MAX), longer)
}

/// Hashes the task id into the jitter, so that every task gets a different number.
fn hash_jitter(task: &TaskId, jitter: u64) -> u64 {
    let step = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let sum = task.as_str().bytes().fold(jitter ^ 0xcbf2_9ce4_8422_2325, step);
    sum ^ (sum >> 29)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_grows_fourfold_up_to_fifteen_minutes() {
        let minutes: Vec<i64> = (1..=6).map(|n| wait_ms(60_000, n) / 60_000).collect();
        assert_eq!(minutes, [1, 4, 15, 15, 15, 15]);
        assert_eq!(wait_ms(60 * 60_000, 1), WAIT_MS_MAX);
        assert_eq!(wait_ms(0, 5), 0);
    }

    #[test]
    fn backoff_jitter_is_at_most_a_tenth_and_differs_by_task() {
        let policy = SchedulerPolicy::default();
        let now = Time::from_millis(0);
        let mut seen = std::collections::BTreeSet::new();
        for number in 1..100 {
            let until =
                backoff_until(&policy, &TaskId::numbered(now, number), 1, 7, now).as_millis();
            assert!((54_000..=60_000).contains(&until), "{until}");
            seen.insert(until);
        }
        assert!(seen.len() > 50, "{seen:?}");
    }
}
