//! How things stand, followed as it changes.

use adjutant_core::schedule::{self, Item};
use adjutant_core::{Status, Task, TaskId, Time, World};
use adjutant_runtime::daemon::Holder;
use adjutant_runtime::{Clock, SystemClock};
use adjutant_store::{Caught, FileStore, Store};

use super::state::{Picture, Row};
use crate::commands::logs;
use crate::data::Data;
use crate::error::Failure;
use crate::output::{clean, clean_lines};

/// As much of what a run printed as a terminal can show.
const OUTPUT_BYTES_MAX: u64 = 16 << 10;

/// The most rows a list has: more than anybody goes through line by line.
const ROWS_MAX: usize = 2_000;

/// The world, followed as it changes.
pub(super) struct Feed<'a> {
    data: &'a Data,
    store: FileStore,
    world: World,
}

impl<'a> Feed<'a> {
    pub(super) fn open(data: &'a Data) -> Result<Self, Failure> {
        let (store, loaded) = FileStore::open(&data.folder)?;
        Ok(Self { data, store, world: loaded.world.with_policy(data.config().policy()) })
    }

    /// Takes in what others committed; returns whether there is anything to be shown anew. Times
    /// pass, so that there always is while something runs.
    pub(super) fn look(&mut self) -> Result<bool, Failure> {
        let caught = self.store.begin();
        self.store.end();
        match caught? {
            Caught::Events(events) => {
                for event in &events {
                    self.world.apply(event);
                }
                Ok(!events.is_empty() || self.world.count(Status::InProgress) > 0)
            }
            Caught::Reload(loaded) => {
                self.world = loaded.world.with_policy(self.data.config().policy());
                Ok(true)
            }
        }
    }

    /// Returns how things stand now.
    pub(super) fn picture(&self) -> Picture {
        let now = SystemClock.now();
        let list = |status| self.list(status, now);
        let concurrency = self.data.config().scheduler.concurrency;
        let running = self.world.count(Status::InProgress);
        let project = self.data.folder.workspace();
        let project = std::path::absolute(&project).unwrap_or(project);
        Picture {
            project: project.file_name().map_or_else(String::new, |n| clean(&n.to_string_lossy())),
            up: Holder::of(self.data.folder.root()).is_some(),
            glance: format!("{running} in progress, at most {concurrency} at once"),
            lists: [
                self.inbox(now),
                list(Status::InProgress),
                list(Status::Ready),
                [Status::Done, Status::Backlog, Status::Cancelled]
                    .into_iter()
                    .flat_map(list)
                    .collect(),
            ],
        }
    }

    /// Returns the end of what the last run of a task printed, if it printed anything.
    pub(super) fn output(&self, id: &TaskId) -> Option<String> {
        let text = logs::tail(self.data, id, OUTPUT_BYTES_MAX).ok()?;
        Some(clean_lines(&text)).filter(|text| !text.is_empty())
    }

    fn inbox(&self, now: Time) -> Vec<Row> {
        let mut items = schedule::inbox(&self.world, now);
        for (task, name) in self.data.salvaged().unwrap_or_default() {
            items.push(schedule::salvage(&self.world, &task, &name, None));
        }
        items.iter().take(ROWS_MAX).map(|item| self.item(item, now)).collect()
    }

    fn item(&self, item: &Item, now: Time) -> Row {
        let task = self.world.task(&item.task);
        Row {
            id: item.task.clone(),
            kind: item.kind.as_str().to_owned(),
            status: task.map_or(Status::Blocked, Task::status),
            title: task.map_or_else(|| item.task.to_string(), |task| clean(&task.title)),
            since: item.since.map(|since| now.as_millis().saturating_sub(since.as_millis())),
            notes: vec![clean(&item.text)],
            actions: item.actions.clone(),
        }
    }

    fn list(&self, status: Status, now: Time) -> Vec<Row> {
        let mut tasks: Vec<&Task> = self.world.with_status(status).collect();
        tasks.sort_by_key(|task| (task.priority, task.id.clone()));
        if status.is_closed() {
            tasks.sort_by_key(|task| std::cmp::Reverse(task.last_transition_at));
        }
        tasks.into_iter().take(ROWS_MAX).map(|task| self.row(task, now)).collect()
    }

    fn row(&self, task: &Task, now: Time) -> Row {
        let since = task.lease().map_or(task.last_transition_at, |lease| lease.acquired_at);
        let holds = schedule::why(&self.world, &task.id, now);
        Row {
            id: task.id.clone(),
            kind: task.status().as_str().to_owned(),
            status: task.status(),
            title: clean(&task.title),
            since: Some(now.as_millis().saturating_sub(since.as_millis())),
            notes: holds.iter().map(|hold| clean(&hold.text)).collect(),
            actions: vec![],
        }
    }
}
