//! Statistics about the work, added up by the hour from the event log.
//!
//! The caller adds past events in order, and then every new event. The cost depends on the number
//! of events; the size depends on the hours that are kept and on the open tasks.

use std::collections::BTreeMap;

use adjutant_model::completion::WorkOutcome;
use adjutant_model::event::{Event, RecordedEvent};
use adjutant_model::status::Status;
use adjutant_model::task_id::TaskId;
use adjutant_model::time::Time;

/// The most hours that are kept: thirty days.
pub const HOURS_MAX: usize = 30 * 24;

pub const HOUR_MILLIS: i64 = 3_600_000;

/// Hourly statistics from the event log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkStatistics {
    hours: BTreeMap<i64, HourlyStats>,
    open: BTreeMap<TaskId, OpenTaskStats>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OpenTaskStats {
    status: Status,
    since: Option<Time>,
    runs: u32,
}

/// What happened in one hour.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HourlyStats {
    /// By how much the number of tasks with each status changed.
    pub status_changes: BTreeMap<Status, i64>,
    /// How long the tasks that left a status had been in it.
    pub status_stays: BTreeMap<Status, StatusStays>,
    pub outcomes: BTreeMap<WorkOutcome, u64>,
    pub failures: u64,
    /// How many tasks were done or given up, by the number of runs they had.
    pub runs_per_task: BTreeMap<u32, u64>,
    pub created: u64,
    pub done: u64,
}

/// How long tasks stayed in one status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StatusStays {
    pub count: u64,
    /// The total time of these tasks in the status, in milliseconds.
    pub millis: i64,
}

impl WorkStatistics {
    /// Adds an event. Events must come in order.
    pub fn add(&mut self, recorded: &RecordedEvent) {
        let Some(id) = &recorded.new_event.task else { return };
        let at = recorded.at;
        match &recorded.new_event.event {
            Event::TaskCreated { task, .. } => {
                self.hour(at).created += 1;
                self.enter(id, task.status(), at);
            }
            Event::TaskTransitioned { from, to, .. } => {
                self.leave(id, *from, at);
                self.enter(id, *to, at);
                self.close(id, *to, at);
            }
            Event::TaskRemoved {} => {
                if let Some(standing) = self.open.remove(id) {
                    *self.hour(at).status_changes.entry(standing.status).or_default() -= 1;
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

    /// Returns the hours in which something happened, keyed by the number of hours since 1970.
    pub fn hours(&self) -> &BTreeMap<i64, HourlyStats> {
        &self.hours
    }

    /// Returns the number of whole hours from 1970 to a time.
    pub fn hour_of(at: Time) -> i64 {
        at.as_millis().div_euclid(HOUR_MILLIS)
    }

    fn hour(&mut self, at: Time) -> &mut HourlyStats {
        self.hours.entry(Self::hour_of(at)).or_default()
    }

    fn enter(&mut self, id: &TaskId, status: Status, at: Time) {
        *self.hour(at).status_changes.entry(status).or_default() += 1;
        let runs = self.open.get(id).map_or(0, |standing| standing.runs);
        self.open.insert(id.clone(), OpenTaskStats { status, since: Some(at), runs });
    }

    fn leave(&mut self, id: &TaskId, from: Status, at: Time) {
        let since = self.open.get(id).and_then(|standing| standing.since);
        let hour = self.hour(at);
        *hour.status_changes.entry(from).or_default() -= 1;
        if let Some(since) = since {
            let stays = hour.status_stays.entry(from).or_default();
            stays.count += 1;
            stays.millis += at.as_millis().saturating_sub(since.as_millis()).max(0);
        }
    }

    /// Counts a task that is done or given up, and forgets it once it is closed.
    fn close(&mut self, id: &TaskId, to: Status, at: Time) {
        let runs = self.open.get(id).map_or(0, |standing| standing.runs);
        let hour = self.hour(at);
        if to == Status::Done {
            hour.done += 1;
        }
        if matches!(to, Status::Done | Status::Deadletter) {
            *hour.runs_per_task.entry(runs).or_default() += 1;
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
    use adjutant_model::actor::Actor;
    use adjutant_model::event::{NewEvent, TransitionCause};
    use adjutant_model::event_id::EventId;

    use super::*;

    fn at(secs: i64) -> Time {
        Time::from_millis(secs * 1000)
    }

    fn moved(id: u64, from: Status, to: Status, secs: i64) -> RecordedEvent {
        let event = Event::TaskTransitioned {
            from,
            to,
            reason: String::new(),
            manner: TransitionCause::Ruled,
        };
        let task = TaskId::parse("TASK-2026-11-16-001").ok();
        let new_event = NewEvent { actor: Actor::Scheduler, task, event };
        RecordedEvent { id: EventId(id), at: at(secs), node: None, new_event }
    }

    #[test]
    fn figures_add_up_events_by_hour() {
        let mut figures = WorkStatistics::default();
        figures.add(&moved(1, Status::Ready, Status::InProgress, 10));
        figures.add(&moved(2, Status::InProgress, Status::Review, 70));
        figures.add(&moved(3, Status::Review, Status::Done, 3_670));
        let first = &figures.hours()[&0];
        assert_eq!(first.status_changes[&Status::Ready], -1);
        assert_eq!(first.status_changes[&Status::InProgress], 0);
        assert_eq!(
            first.status_stays[&Status::InProgress],
            StatusStays { count: 1, millis: 60_000 }
        );
        // The task became ready before the first event, so its stay there is unknown.
        assert_eq!(first.status_stays.get(&Status::Ready), None);
        let second = &figures.hours()[&1];
        assert_eq!(
            second.status_stays[&Status::Review],
            StatusStays { count: 1, millis: 3_600_000 }
        );
        assert_eq!(second.done, 1);
        assert!(figures.open.is_empty());
    }

    #[test]
    fn figures_forget_old_hours() {
        let mut figures = WorkStatistics::default();
        for hour in 0..2_000 {
            figures.add(&moved(1, Status::Ready, Status::Backlog, hour * 3_600));
        }
        assert_eq!(figures.hours().len(), HOURS_MAX);
        assert_eq!(figures.hours().first_key_value().map(|(hour, _)| *hour), Some(1_280));
    }
}
