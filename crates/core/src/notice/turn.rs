//! What is to be told next by a rule, and when: quiet times, batches, and targets that fail.
//!
//! It follows from what waits, and from nothing else: whoever starts anew sends the same notices
//! together, so that who is told can see that it was told before.

use super::{Notice, Rule};
use crate::time::Time;

/// The most notices that are told as one.
const BATCH_MAX: usize = 50;

/// How long after the end of a batch it is sent: what was decided before it is committed by then.
const SETTLE_MS: i64 = 250;

/// The longest wait between two tries.
const BACKOFF_MAX_MS: i64 = 15 * 60_000;

/// The longest wait a target can ask for.
const ASKED_MAX_MS: i64 = 24 * 3_600_000;

/// How a target has been doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standing {
    /// How often it failed since it last took something.
    pub failures: u32,
    /// Until when it is left alone.
    pub not_before: Option<Time>,
}

/// What is to be done by a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// Nothing waits.
    Nothing,
    /// Nothing until then.
    Wait(Time),
    /// These are told now, as one, by their place among those that wait.
    Send(Vec<usize>),
}

/// What comes of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failed {
    /// It is tried again.
    TryAgain,
    /// Everything that is due is given up.
    GiveUp,
}

impl Standing {
    /// Takes note that something was taken.
    pub fn took(&mut self) {
        *self = Self::default();
    }

    /// Takes note of a failure, and says what comes of it. `asked_ms` is how long the target wants
    /// to be left alone, and `jitter` a number from outside that nobody can foresee.
    pub fn failed(&mut self, rule: &Rule, asked_ms: Option<i64>, jitter: u64, now: Time) -> Failed {
        self.failures = self.failures.saturating_add(1);
        let (outcome, doublings) = if self.failures >= rule.attempts_max {
            self.failures = 0;
            (Failed::GiveUp, rule.attempts_max)
        } else {
            (Failed::TryAgain, self.failures)
        };
        let asked = asked_ms.unwrap_or(0).clamp(0, ASKED_MAX_MS);
        let wait = backoff(rule.backoff_ms, doublings, jitter).max(asked);
        self.not_before = Some(Time::from_millis(now.as_millis().saturating_add(wait)));
        outcome
    }
}

/// Returns how long to wait after so many failures: twice as long each time, less up to a quarter.
fn backoff(first_ms: i64, failures: u32, jitter: u64) -> i64 {
    let doubled = first_ms.saturating_mul(1_i64 << failures.saturating_sub(1).min(30));
    let span = doubled.clamp(1, BACKOFF_MAX_MS);
    span - i64::try_from(jitter % 250).unwrap_or(0) * span / 1_000
}

/// Says what a rule tells next of what waits, which comes in the order of the record.
pub fn next(rule: &Rule, waiting: &[Notice], standing: Standing, now: Time) -> Turn {
    let Some(first) = first(rule, waiting) else { return Turn::Nothing };
    if let Some(until) = standing.not_before.filter(|until| *until > now) {
        return Turn::Wait(until);
    }
    let due_at = send_at(rule, &waiting[first], now);
    if due_at > now { Turn::Wait(due_at) } else { Turn::Send(together(rule, waiting, first, now)) }
}

/// Returns the places of everything that is due by now.
pub fn due(rule: &Rule, waiting: &[Notice], now: Time) -> Vec<usize> {
    let is_due = |(_, notice): &(usize, &Notice)| send_at(rule, notice, now) <= now;
    waiting.iter().enumerate().filter(is_due).map(|(place, _)| place).collect()
}

/// Returns the place of what comes first: what is urgent does not wait behind what is not.
fn first(rule: &Rule, waiting: &[Notice]) -> Option<usize> {
    let urgent = waiting.iter().position(|notice| rule.urgent.contains(&notice.kind));
    urgent.or(if waiting.is_empty() { None } else { Some(0) })
}

/// Returns the places of what is told together with one.
fn together(rule: &Rule, waiting: &[Notice], first: usize, now: Time) -> Vec<usize> {
    let of = &waiting[first];
    let (at, end) = (of.at.min(now), closes_at(rule, of, now));
    if end <= at {
        return vec![first];
    }
    let joins = |notice: &Notice| !rule.urgent.contains(&notice.kind) && notice.at < end;
    let all = waiting.iter().enumerate().filter(|(_, notice)| joins(notice));
    all.map(|(place, _)| place).take(BATCH_MAX).collect()
}

/// Returns when what gathers around a notice is complete; its own time if nothing does.
fn closes_at(rule: &Rule, notice: &Notice, now: Time) -> Time {
    // A clock that was put back holds nothing up.
    let at = notice.at.min(now);
    if rule.urgent.contains(&notice.kind) {
        return at;
    }
    let gathered = Time::from_millis(at.as_millis().saturating_add(rule.batch_ms));
    rule.quiet.as_ref().and_then(|quiet| quiet.end(gathered)).unwrap_or(gathered)
}

/// Returns when a notice may be sent.
fn send_at(rule: &Rule, notice: &Notice, now: Time) -> Time {
    let (at, end) = (notice.at.min(now), closes_at(rule, notice, now));
    if end <= at { at } else { Time::from_millis(end.as_millis().saturating_add(SETTLE_MS)) }
}
