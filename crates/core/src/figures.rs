//! Figures of how the work goes: what the record says, added up by the hour.
//!
//! Fed with the events of some past time in order, and with every event since. What it costs
//! follows what happens; what it holds, the hours that are looked back at and the tasks that are
//! open.

use std::collections::BTreeMap;

use crate::completion::Outcome;
use crate::event::{Event, Recorded};
use crate::id::TaskId;
use crate::status::Status;
use crate::time::Time;

/// How many hours are looked back at: thirty days.
pub const HOURS_MAX: usize = 30 * 24;

/// An hour, in milliseconds.
pub const HOUR_MILLIS: i64 = 3_600_000;

/// What the record says, added up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    hours: BTreeMap<i64, Hour>,
    /// Where each open task stands, since when, and how many runs it had.
    open: BTreeMap<TaskId, Standing>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Standing {
    status: Status,
    since: Option<Time>,
    runs: u32,
}

/// What happened in one hour.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hour {
    /// By how much the number of tasks at each status changed.
    pub change: BTreeMap<Status, i64>,
    /// How long tasks that left a status had been there.
    pub stays: BTreeMap<Status, Stays>,
    /// What agents reported.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// How many attempts came to nothing.
    pub failures: u64,
    /// How many runs tasks had had when they were done or given up, by that number.
    pub runs: BTreeMap<u32, u64>,
    /// How many tasks were made.
    pub created: u64,
    /// How many tasks were done.
    pub done: u64,
}

/// How long tasks stayed somewhere.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stays {
    /// How many left.
    pub count: u64,
    /// How long they had been there, all together, in milliseconds.
    pub millis: i64,
}

impl Figures {
    /// Adds an event. Events come in order.
    pub fn add(&mut self, recorded: &Recorded) {
        let Some(id) = &recorded.happened.task else { return };
        let at = recorded.at;
        match &recorded.happened.event {
            Event::TaskCreated { task, .. } => {
                self.hour(at).created += 1;
                self.enter(id, task.status(), at);
            }
            Event::TaskTransitioned { from, to, .. } => {
                self.leave(id, *from, at);
                self.enter(id, *to, at);
                self.close(id, *to, at);
            }
            Event::TaskRemoved => {
                if let Some(standing) = self.open.remove(id) {
                    *self.hour(at).change.entry(standing.status).or_default() -= 1;
                }
            }
            Event::TaskCompleted { result, .. } => {
                let outcome = result.completion.outcome;
                *self.hour(at).outcomes.entry(outcome).or_default() += 1;
            }
            Event::RunStarted { attempt, .. } => {
                if let Some(standing) = self.open.get_mut(id) {
                    standing.runs = *attempt;
                }
            }
            Event::RunFailed { .. } => self.hour(at).failures += 1,
            _ => {}
        }
        self.forget();
    }

    /// Returns what happened in each hour that anything did, by the number of the hour since 1970.
    pub fn hours(&self) -> &BTreeMap<i64, Hour> {
        &self.hours
    }

    /// Returns the number of the hour a time falls into.
    pub fn hour_of(at: Time) -> i64 {
        at.as_millis().div_euclid(HOUR_MILLIS)
    }

    fn hour(&mut self, at: Time) -> &mut Hour {
        self.hours.entry(Self::hour_of(at)).or_default()
    }

    fn enter(&mut self, id: &TaskId, status: Status, at: Time) {
        *self.hour(at).change.entry(status).or_default() += 1;
        let runs = self.open.get(id).map_or(0, |standing| standing.runs);
        self.open.insert(id.clone(), Standing { status, since: Some(at), runs });
    }

    fn leave(&mut self, id: &TaskId, from: Status, at: Time) {
        let since = self.open.get(id).and_then(|standing| standing.since);
        let hour = self.hour(at);
        *hour.change.entry(from).or_default() -= 1;
        if let Some(since) = since {
            let stays = hour.stays.entry(from).or_default();
            stays.count += 1;
            stays.millis += at.as_millis().saturating_sub(since.as_millis()).max(0);
        }
    }

    /// Counts a task that is at its end, and lets go of it where nothing more can come.
    fn close(&mut self, id: &TaskId, to: Status, at: Time) {
        let runs = self.open.get(id).map_or(0, |standing| standing.runs);
        let hour = self.hour(at);
        if to == Status::Done {
            hour.done += 1;
        }
        if matches!(to, Status::Done | Status::Deadletter) {
            *hour.runs.entry(runs).or_default() += 1;
        }
        if to.is_closed() {
            self.open.remove(id);
        }
    }

    fn forget(&mut self) {
        while self.hours.len() > HOURS_MAX {
            self.hours.pop_first();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{EventId, Happened, Manner};
    use crate::name::Actor;

    fn at(secs: i64) -> Time {
        Time::from_millis(secs * 1000)
    }

    fn moved(id: u64, from: Status, to: Status, secs: i64) -> Recorded {
        let event =
            Event::TaskTransitioned { from, to, reason: String::new(), manner: Manner::Ruled };
        let task = TaskId::parse("TASK-2026-11-16-001").ok();
        let happened = Happened { actor: Actor::Scheduler, task, event };
        Recorded { id: EventId(id), at: at(secs), happened }
    }

    #[test]
    fn what_happened_is_added_up_by_the_hour() {
        let mut figures = Figures::default();
        figures.add(&moved(1, Status::Ready, Status::InProgress, 10));
        figures.add(&moved(2, Status::InProgress, Status::Review, 70));
        figures.add(&moved(3, Status::Review, Status::Done, 3_670));
        let first = &figures.hours()[&0];
        assert_eq!(first.change[&Status::Ready], -1);
        assert_eq!(first.change[&Status::InProgress], 0);
        assert_eq!(first.stays[&Status::InProgress], Stays { count: 1, millis: 60_000 });
        // Since when it had been ready was before what is looked back at.
        assert_eq!(first.stays.get(&Status::Ready), None);
        let second = &figures.hours()[&1];
        assert_eq!(second.stays[&Status::Review], Stays { count: 1, millis: 3_600_000 });
        assert_eq!(second.done, 1);
        assert!(figures.open.is_empty());
    }

    #[test]
    fn what_is_long_past_is_forgotten() {
        let mut figures = Figures::default();
        for hour in 0..2_000 {
            figures.add(&moved(1, Status::Ready, Status::Backlog, hour * 3_600));
        }
        assert_eq!(figures.hours().len(), HOURS_MAX);
        assert_eq!(figures.hours().first_key_value().map(|(hour, _)| *hour), Some(1_280));
    }
}
