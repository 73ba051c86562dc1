//! What is left at the end of a night, and what there is to tell of it.

use std::fmt::Write as _;

use adjutant_core::{Event, Status, Task, TaskId};

use super::{HOUR_MS, Night};

impl Night {
    /// Every task has come to an end, or waits for one that waits for a person.
    pub(super) fn check_ends(&mut self) {
        let stuck: Vec<String> = self
            .watch
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
        self.watch.wrong.extend(stuck);
        let machine = self.machine.borrow();
        let unheard = machine.processes.values().filter(|one| one.answered < one.outbox.len());
        let unheard: Vec<String> =
            unheard.map(|one| format!("{} was not heard to the end", one.run.task)).collect();
        self.watch.wrong.extend(unheard);
    }

    fn waits_for_another(&self, depends_on: &[TaskId]) -> bool {
        let status = |id: &TaskId| self.watch.world.task(id).map(Task::status);
        depends_on.iter().any(|id| status(id) != Some(Status::Done))
    }

    /// Counts what was seen, so that a test can say that it was.
    pub(super) fn tell(&mut self) {
        self.tale.hours += u64::try_from(self.now() / HOUR_MS).unwrap_or(0);
        let kinds: Vec<&str> =
            self.watch.record.iter().map(|event| event.happened.event.kind()).collect();
        *self.tale.seen.entry("steps".to_owned()).or_default() += self.steps;
        for kind in kinds {
            self.saw(kind);
        }
        let ends: Vec<String> =
            self.watch.world.tasks().map(|task| format!("ends {}", task.status())).collect();
        for end in ends {
            self.saw(&end);
        }
    }

    pub(super) fn last_events(&self) -> String {
        let mut text = String::new();
        let from = self.watch.record.len().saturating_sub(60);
        for event in &self.watch.record[from..] {
            let task = event.happened.task.as_ref().map_or("", |task| task.as_str());
            let what = in_short(&event.happened.event);
            let _ = writeln!(
                text,
                "{:>5} {} {task} {} {what}",
                event.id, event.at, event.happened.actor
            );
        }
        text
    }
}

fn in_short(event: &Event) -> String {
    match event {
        Event::TaskTransitioned { from, to, reason, .. } => format!("{from} -> {to}: {reason}"),
        Event::RunStarted { .. }
        | Event::RunExited { .. }
        | Event::RunFailed { .. }
        | Event::RunHeartbeat { .. } => format!("{event:?}"),
        other => other.kind().to_owned(),
    }
}
