//! Checks at the end of a simulation, and its report.

use std::fmt::Write as _;

use adjutant_model::{Event, Status, Task, TaskId};

use super::{HOUR_MS, ProjectSimulation};

impl ProjectSimulation {
    /// Every task has ended, or depends on one that waits for a person.
    pub(super) fn check_ends(&mut self) {
        let stuck: Vec<String> = self
            .checker
            .world
            .tasks()
            .filter(|task| match task.status() {
                Status::Done
                | Status::Blocked
                | Status::Review
                | Status::Cancelled
                | Status::Deadletter => false,
                Status::Ready => !self.waits_for_another(&task.depends_on),
                Status::Backlog | Status::InProgress => true,
            })
            .map(|task| format!("{} ends as {}", task.id, task.status()))
            .collect();
        self.checker.violations.extend(stuck);
        let machine = self.machine.borrow();
        let unheard = machine.processes.values().filter(|one| one.answered < one.outbox.len());
        let unheard: Vec<String> =
            unheard.map(|one| format!("{} was not heard to the end", one.run.task)).collect();
        self.checker.violations.extend(unheard);
    }

    fn waits_for_another(&self, depends_on: &[TaskId]) -> bool {
        let status = |id: &TaskId| self.checker.world.task(id).map(Task::status);
        depends_on.iter().any(|id| status(id) != Some(Status::Done))
    }

    /// Counts what happened, so that a test can check that it did.
    pub(super) fn fill_report(&mut self) {
        self.report.hours += u64::try_from(self.now() / HOUR_MS).unwrap_or(0);
        let kinds: Vec<&str> =
            self.checker.events.iter().map(|event| event.new_event.event.kind()).collect();
        *self.report.counts.entry("steps".to_owned()).or_default() += self.steps;
        for kind in kinds {
            self.count_event(kind);
        }
        let ends: Vec<String> =
            self.checker.world.tasks().map(|task| format!("ends {}", task.status())).collect();
        for end in ends {
            self.count_event(&end);
        }
    }

    pub(super) fn last_events(&self) -> String {
        let mut text = String::new();
        let from = self.checker.events.len().saturating_sub(60);
        for event in &self.checker.events[from..] {
            let task = event.new_event.task.as_ref().map_or("", |task| task.as_str());
            let what = short_event(&event.new_event.event);
            let _ = writeln!(
                text,
                "{:>5} {} {task} {} {what}",
                event.id, event.at, event.new_event.actor
            );
        }
        text
    }
}

fn short_event(event: &Event) -> String {
    match event {
        Event::TaskTransitioned { from, to, reason, .. } => format!("{from} -> {to}: {reason}"),
        Event::RunStarted { .. }
        | Event::RunExited { .. }
        | Event::RunFailed { .. }
        | Event::RunHeartbeat { .. } => format!("{event:?}"),
        other => other.kind().to_owned(),
    }
}
