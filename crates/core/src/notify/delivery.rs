//! Decides what a rule sends next and when: quiet hours, batches, and retries of failing targets.
//!
//! The answer depends only on the waiting notices. A restarted daemon therefore sends the same
//! notices together again, and the receiver can recognise the repetition.

use adjutant_model::time::Time;

use super::{NotifyRule, OperatorNotice};

/// The maximum number of notices in one batch.
const BATCH_MAX: usize = 50;

/// How long after its end a batch is sent, so that everything decided before its end is committed.
const SETTLE_MS: i64 = 250;

const BACKOFF_MAX_MS: i64 = 15 * 60_000;

/// The longest wait a target can ask for.
const RETRY_AFTER_MAX_MS: i64 = 24 * 3_600_000;

/// The delivery state of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TargetHealth {
    /// Failures since the last successful delivery.
    pub failures: u32,
    /// The target gets nothing before this time.
    pub not_before: Option<Time>,
}

/// What a rule does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextDelivery {
    Nothing,
    Wait(Time),
    /// Send these notices now, together. The numbers are indexes into the waiting notices.
    Send(Vec<usize>),
}

/// What to do after a failed delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedDelivery {
    TryAgain,
    /// Drop everything that is due.
    GiveUp,
}

impl TargetHealth {
    /// Records a successful delivery.
    pub fn record_success(&mut self) {
        *self = Self::default();
    }

    /// Records a failed delivery, and returns what to do. `asked_ms` is how long the target asked
    /// to wait, `jitter` a random number from the caller.
    pub fn record_failure(
        &mut self,
        rule: &NotifyRule,
        asked_ms: Option<i64>,
        jitter: u64,
        now: Time,
    ) -> FailedDelivery {
        self.failures = self.failures.saturating_add(1);
        let (outcome, doublings) = if self.failures >= rule.attempts_max {
            self.failures = 0;
            (FailedDelivery::GiveUp, rule.attempts_max)
        } else {
            (FailedDelivery::TryAgain, self.failures)
        };
        let asked = asked_ms.unwrap_or(0).clamp(0, RETRY_AFTER_MAX_MS);
        let wait = backoff(rule.backoff_ms, doublings, jitter).max(asked);
        self.not_before = Some(Time::from_millis(now.as_millis().saturating_add(wait)));
        outcome
    }
}

/// Returns the wait after this many failures: doubled each time, less up to a quarter by jitter.
fn backoff(first_ms: i64, failures: u32, jitter: u64) -> i64 {
    let doubled = first_ms.saturating_mul(1_i64 << failures.saturating_sub(1).min(30));
    let span = doubled.clamp(1, BACKOFF_MAX_MS);
    span - i64::try_from(jitter % 250).unwrap_or(0) * span / 1_000
}

/// Returns what a rule does next. `waiting` is in the order of the event log.
pub fn next_delivery(
    rule: &NotifyRule,
    waiting: &[OperatorNotice],
    standing: TargetHealth,
    now: Time,
) -> NextDelivery {
    let Some(first) = first_to_send(rule, waiting) else { return NextDelivery::Nothing };
    if let Some(until) = standing.not_before.filter(|until| *until > now) {
        return NextDelivery::Wait(until);
    }
    let due_at = send_at(rule, &waiting[first], now);
    if due_at > now {
        NextDelivery::Wait(due_at)
    } else {
        NextDelivery::Send(batch_of(rule, waiting, first, now))
    }
}

/// Returns the indexes of all notices that are due.
pub fn due_notices(rule: &NotifyRule, waiting: &[OperatorNotice], now: Time) -> Vec<usize> {
    let is_due = |(_, notice): &(usize, &OperatorNotice)| send_at(rule, notice, now) <= now;
    waiting.iter().enumerate().filter(is_due).map(|(place, _)| place).collect()
}

/// Returns the index of the notice to send first: urgent ones do not wait behind others.
fn first_to_send(rule: &NotifyRule, waiting: &[OperatorNotice]) -> Option<usize> {
    let urgent = waiting.iter().position(|notice| rule.urgent.contains(&notice.kind));
    urgent.or(if waiting.is_empty() { None } else { Some(0) })
}

/// Returns the indexes of the notices that are sent together with the first one.
fn batch_of(rule: &NotifyRule, waiting: &[OperatorNotice], first: usize, now: Time) -> Vec<usize> {
    let of = &waiting[first];
    let (at, end) = (of.at.min(now), batch_end(rule, of, now));
    if end <= at {
        return vec![first];
    }
    let joins = |notice: &OperatorNotice| !rule.urgent.contains(&notice.kind) && notice.at < end;
    let all = waiting.iter().enumerate().filter(|(_, notice)| joins(notice));
    all.map(|(place, _)| place).take(BATCH_MAX).collect()
}

/// Returns when the batch of a notice is complete; the notice's own time if it is not batched.
fn batch_end(rule: &NotifyRule, notice: &OperatorNotice, now: Time) -> Time {
    // A clock that was set back must not delay notices.
    let at = notice.at.min(now);
    if rule.urgent.contains(&notice.kind) {
        return at;
    }
    let gathered = Time::from_millis(at.as_millis().saturating_add(rule.batch_ms));
    rule.quiet.as_ref().and_then(|quiet| quiet.quiet_until(gathered)).unwrap_or(gathered)
}

fn send_at(rule: &NotifyRule, notice: &OperatorNotice, now: Time) -> Time {
    let (at, end) = (notice.at.min(now), batch_end(rule, notice, now));
    if end <= at { at } else { Time::from_millis(end.as_millis().saturating_add(SETTLE_MS)) }
}
