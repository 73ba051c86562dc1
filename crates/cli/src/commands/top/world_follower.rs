//! The data of `adjutant top`: follows commits and builds the lists.

use std::time::{Duration, Instant};

use adjutant_core::World;
use adjutant_core::schedule::{self, AttentionItem};
use adjutant_daemon::DaemonInfo;
use adjutant_model::{Status, Task, TaskId, Time};
use adjutant_process::clock::{Clock, SystemClock};
use adjutant_query::inbox::offered_actions;
use adjutant_query::run_log::read_tail;
use adjutant_store::{FileStore, Store, StoreUpdate};

use super::screen_state::{BoardRow, BoardSnapshot};
use crate::data::ProjectData;
use crate::output::error::CommandFailure;
use crate::output::{clean, clean_lines};

/// The most output of a run that a terminal can show.
const OUTPUT_BYTES_MAX: u64 = 16 << 10;

/// How often to look whether the configuration has changed.
const CONFIG_INTERVAL: Duration = Duration::from_secs(1);

/// A list is cut here: a person does not scroll through more rows.
const ROWS_MAX: usize = 2_000;

/// A world that follows new commits.
pub(super) struct WorldFollower {
    data: ProjectData,
    store: FileStore,
    world: World,
    config_seen_at: Instant,
}

impl WorldFollower {
    pub(super) fn open(data: &ProjectData) -> Result<Self, CommandFailure> {
        let (store, loaded) = FileStore::open(&data.folder)?;
        let world = loaded.world.with_policy(data.policy());
        Ok(Self { data: data.clone(), store, world, config_seen_at: Instant::now() })
    }

    /// Looks now and then whether the configuration has changed. Returns whether it has.
    fn follow_config(&mut self) -> bool {
        if self.config_seen_at.elapsed() < CONFIG_INTERVAL {
            return false;
        }
        self.config_seen_at = Instant::now();
        // A file that cannot be used changes nothing.
        let Ok(data) = ProjectData::find(Some(self.data.folder.root())) else { return false };
        self.data = data;
        let policy = self.data.policy();
        let changed = policy != *self.world.policy();
        if changed {
            self.world = std::mem::take(&mut self.world).with_policy(policy);
        }
        changed
    }

    /// Applies new commits. Returns whether to redraw, which is always so while a task is in
    /// progress because its elapsed time changes.
    pub(super) fn catch_up(&mut self) -> Result<bool, CommandFailure> {
        let reconfigured = self.follow_config();
        let caught = self.store.begin();
        self.store.end();
        match caught? {
            StoreUpdate::Events(events) => {
                for event in &events {
                    self.world.apply(event);
                }
                let running = self.world.count(Status::InProgress) > 0;
                Ok(reconfigured || !events.is_empty() || running)
            }
            StoreUpdate::Reload(loaded) => {
                self.world = loaded.world.with_policy(self.data.policy());
                Ok(true)
            }
        }
    }

    pub(super) fn snapshot(&self) -> BoardSnapshot {
        let now = SystemClock.now();
        let list = |status| self.list(status, now);
        let concurrency = self.data.config().scheduler.concurrency;
        let running = self.world.count(Status::InProgress);
        let problem =
            self.world.policy().config.problem.as_deref().map_or_else(String::new, |why| {
                format!("; adjutant.toml cannot be used: {}", clean(why))
            });
        let unaccepted = !self.world.policy().config.unaccepted.is_empty();
        let problem = if unaccepted {
            format!("{problem}; adjutant.toml is not accepted, see `adjutant trust`")
        } else {
            problem
        };
        let project = self.data.folder.workspace();
        let project = std::path::absolute(&project).unwrap_or(project);
        BoardSnapshot {
            project: project.file_name().map_or_else(String::new, |n| clean(&n.to_string_lossy())),
            daemon_running: DaemonInfo::find_running(self.data.folder.root()).is_some(),
            run_summary: format!("{running} in progress, concurrency limit {concurrency}{problem}"),
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

    /// Returns the end of the output of a task's last run, or `None` if it is empty.
    pub(super) fn output(&self, id: &TaskId) -> Option<String> {
        let text = read_tail(&self.data.folder, id, OUTPUT_BYTES_MAX).ok()?;
        Some(clean_lines(&text)).filter(|text| !text.is_empty())
    }

    fn inbox(&self, now: Time) -> Vec<BoardRow> {
        let mut items = schedule::inbox(&self.world, now);
        for (task, name) in self.data.late_reports().unwrap_or_default() {
            items.push(schedule::salvage_item(&self.world, &task, &name, None));
        }
        items.iter().take(ROWS_MAX).map(|item| self.item(item, now)).collect()
    }

    fn item(&self, item: &AttentionItem, now: Time) -> BoardRow {
        let task = self.world.task(&item.task);
        BoardRow {
            id: item.task.clone(),
            kind: item.kind.as_str().to_owned(),
            status: task.map_or(Status::Blocked, Task::status),
            title: task.map_or_else(|| item.task.to_string(), |task| clean(&task.title)),
            age_ms: item.since.map(|since| now.as_millis().saturating_sub(since.as_millis())),
            notes: vec![clean(&item.text)],
            actions: offered_actions(item),
        }
    }

    fn list(&self, status: Status, now: Time) -> Vec<BoardRow> {
        let mut tasks: Vec<&Task> = self.world.with_status(status).collect();
        tasks.sort_by_key(|task| (task.priority, task.id.clone()));
        if status.is_closed() {
            tasks.sort_by_key(|task| std::cmp::Reverse(task.last_transition_at));
        }
        tasks.into_iter().take(ROWS_MAX).map(|task| self.row(task, now)).collect()
    }

    fn row(&self, task: &Task, now: Time) -> BoardRow {
        let since = task.lease().map_or(task.last_transition_at, |lease| lease.acquired_at);
        let holds = schedule::hold_reasons(&self.world, &task.id, now);
        BoardRow {
            id: task.id.clone(),
            kind: task.status().as_str().to_owned(),
            status: task.status(),
            title: clean(&task.title),
            age_ms: Some(now.as_millis().saturating_sub(since.as_millis())),
            notes: holds.iter().map(|hold| clean(&hold.text)).collect(),
            actions: vec![],
        }
    }
}
