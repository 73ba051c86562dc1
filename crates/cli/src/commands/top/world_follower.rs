//! The data of `adjutant top`: follows commits and builds the lists.

use std::time::{Duration, Instant};

use adjutant_core::World;
use adjutant_core::schedule::{self, AttentionItem};
use adjutant_daemon::DaemonInfo;
use adjutant_model::{AgentId, Status, Task, TaskId, Time};
use adjutant_process::clock::{Clock, SystemClock};
use adjutant_query::approval::ApprovalOutcome;
use adjutant_query::inbox::{
    InboxItem, InboxKind, config_items, offered_actions, unaccepted_stories_item,
};
use adjutant_query::run_log::read_tail;
use adjutant_query::text::strip_escapes;
use adjutant_store::{FileStore, Store, StoreUpdate};

use super::action::RequestedMerge;
use super::screen_state::{BoardRow, BoardSnapshot};
use crate::data::ProjectData;
use crate::output::error::CommandFailure;
use crate::output::{clean, clean_lines};

/// How much of the end of a run's output can be scrolled through.
const OUTPUT_BYTES_MAX: u64 = 64 << 10;

/// How much of a diff is shown.
const DIFF_BYTES_MAX: usize = 1 << 20;

/// How much of the event log is searched for the end of a merge.
const EVENT_LINES_MAX: usize = 20_000;

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
        self.look_at_config()
    }

    /// Reads the configuration again. Returns whether it has changed.
    fn look_at_config(&mut self) -> bool {
        let policy = match ProjectData::find(Some(self.data.folder.root())) {
            Ok(data) => {
                self.data = data;
                self.data.policy()
            }
            // The settings stay, and the list says what is wrong with the file.
            Err(failure) => {
                let mut policy = self.world.policy().clone();
                policy.config.problem = Some(failure.one_line_problem().into());
                policy
            }
        };
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
        Some(clean_lines(&strip_escapes(&text))).filter(|text| !text.is_empty())
    }

    /// Returns the changes of a task, or why they cannot be shown.
    pub(super) fn diff(&self, id: &TaskId) -> Result<String, String> {
        let diff = self.data.worktrees().diff(id).map_err(|why| clean(&why.0))?;
        let shown = &diff[..diff.len().min(DIFF_BYTES_MAX)];
        let cut = if shown.len() < diff.len() {
            format!("\n… the rest is left out: `adjutant task diff {id}` shows it")
        } else {
            String::new()
        };
        Ok(clean_lines(&String::from_utf8_lossy(shown)) + &cut)
    }

    /// Describes the outcome of a merge, and whether it succeeded, once it is known.
    pub(super) fn merge_outcome(&self, merge: &RequestedMerge) -> Option<(String, bool)> {
        let root = self.data.folder.root();
        let outcome =
            ApprovalOutcome::of_merge(root, &merge.task, merge.event, EVENT_LINES_MAX).ok()?;
        let task = self.world.task(&merge.task);
        let agent = task.and_then(|task| {
            task.routing.agent.as_ref().or(task.last_run.as_ref().map(|run| &run.agent))
        });
        let text = outcome.in_words(agent.map(AgentId::as_str));
        let is_known = !outcome.is_under_way();
        is_known.then(|| (format!("{}: {text}", merge.task), !outcome.is_conflict()))
    }

    fn inbox(&self, now: Time) -> Vec<BoardRow> {
        let stories = unaccepted_stories_item(&self.data.folder.workspace());
        let config = config_items(&self.world).into_iter().chain(stories).map(config_row);
        let mut items = schedule::inbox(&self.world, now);
        for (task, name) in self.data.late_reports().unwrap_or_default() {
            items.push(schedule::salvage_item(&self.world, &task, &name, None));
        }
        items.sort_by_key(|item| item.kind);
        config.chain(items.iter().map(|item| self.item(item, now))).take(ROWS_MAX).collect()
    }

    fn item(&self, item: &AttentionItem, now: Time) -> BoardRow {
        let task = self.world.task(&item.task);
        BoardRow {
            id: Some(item.task.clone()),
            kind: item.kind.as_str().to_owned(),
            status: task.map_or(Status::Blocked, Task::status),
            title: task.map_or_else(|| item.task.to_string(), |task| clean(&task.title)),
            age_ms: item.since.map(|since| now.as_millis().saturating_sub(since.as_millis())),
            notes: vec![clean(&item.text)],
            actions: offered_actions(item),
            merges: task.is_some_and(|task| schedule::approval_merges(&self.world, task)),
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
        let holds = holds.into_iter().map(|hold| hold.text);
        let notes = schedule::task_notes(task).into_iter().chain(holds);
        BoardRow {
            id: Some(task.id.clone()),
            kind: task.status().as_str().to_owned(),
            status: task.status(),
            title: clean(&task.title),
            age_ms: Some(now.as_millis().saturating_sub(since.as_millis())),
            notes: notes.map(|note| clean(&note)).collect(),
            actions: vec![],
            merges: schedule::approval_merges(&self.world, task),
        }
    }
}

/// Returns the row of an item about the configuration.
fn config_row(item: InboxItem) -> BoardRow {
    BoardRow {
        id: None,
        kind: item.kind.as_str().to_owned(),
        status: Status::Blocked,
        title: match item.kind {
            InboxKind::StoryConfig => ".ai".to_owned(),
            InboxKind::LostFile => "lost+found".to_owned(),
            _ => adjutant_config::FILE.to_owned(),
        },
        age_ms: None,
        notes: vec![clean(&item.text)],
        actions: item.actions,
        merges: false,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use adjutant_store::file::DataFolder;

    use super::*;

    #[test]
    fn top_lists_configuration_problem_as_the_inbox_does() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = DataFolder::init(home.path()).expect("a data folder");
        let data = ProjectData::find(Some(folder.root())).expect("found");
        let mut follower = WorldFollower::open(&data).expect("opened");
        assert!(follower.snapshot().lists[0].is_empty());
        fs::write(folder.root().join("adjutant.toml"), "[protocol]\nrequire_tokn = 1\n")
            .expect("written");
        follower.look_at_config();
        let snapshot = follower.snapshot();
        let row = &snapshot.lists[0][0];
        assert_eq!((row.kind.as_str(), row.title.as_str()), ("config", "adjutant.toml"));
        assert!(row.notes[0].contains("did you mean `require_token`?"), "{:?}", row.notes);
        assert!(snapshot.run_summary.contains("adjutant.toml cannot be used"));
    }
}
