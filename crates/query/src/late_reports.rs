//! Lists late reports without reading the folders of all runs each time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use adjutant_engine::WorldSnapshot;
use adjutant_model::TaskId;
use adjutant_store::StoreError;
use adjutant_store::file::salvage;
use parking_lot::Mutex;

/// After this time all folders are read again, to find reports that appeared without an event, for
/// example copied by hand.
const RESCAN_INTERVAL: Duration = Duration::from_mins(10);

/// Caches the late reports by task. All run folders are read now and then; in between only those of
/// tasks that had an event.
pub(crate) struct LateReports {
    known: Mutex<Option<(Instant, ReportsByTask)>>,
    touched: Arc<Mutex<BTreeSet<TaskId>>>,
}

type ReportsByTask = BTreeMap<TaskId, Vec<String>>;

impl LateReports {
    /// Starts with nothing cached and collects the tasks of every event from now on.
    pub(crate) fn watch(snapshot: &WorldSnapshot) -> Self {
        let touched: Arc<Mutex<BTreeSet<TaskId>>> = Arc::default();
        let recorder = Arc::clone(&touched);
        snapshot.on_commit(move |events| {
            let tasks = events.iter().filter_map(|event| event.new_event.task.clone());
            recorder.lock().extend(tasks);
        });
        Self { known: Mutex::new(None), touched }
    }

    /// Returns the current late reports, by task and file name.
    pub(crate) fn list(&self, root: &Path) -> Result<Vec<(TaskId, String)>, StoreError> {
        let mut known = self.known.lock();
        // Take the set before reading, so that an event during the read is seen at the next call.
        let touched = std::mem::take(&mut *self.touched.lock());
        let before = known.take().filter(|(since, _)| since.elapsed() < RESCAN_INTERVAL);
        let since = before.as_ref().map_or_else(Instant::now, |(since, _)| *since);
        let mut all = match before {
            Some((_, mut all)) => {
                all.retain(|task, _| !touched.contains(task));
                for task in touched {
                    let names = salvage::list_of_task(root, &task)?;
                    if !names.is_empty() {
                        all.insert(task, names);
                    }
                }
                all
            }
            None => read_all(root)?,
        };
        // Drop reports whose files a person removed.
        all.retain(|task, names| {
            let is_there =
                |name: &String| salvage::report_path(root, task, name).symlink_metadata().is_ok();
            names.retain(is_there);
            !names.is_empty()
        });
        let listed = all
            .iter()
            .flat_map(|(task, names)| names.iter().map(move |name| (task.clone(), name.clone())));
        let listed = listed.collect();
        *known = Some((since, all));
        Ok(listed)
    }
}

fn read_all(root: &Path) -> Result<ReportsByTask, StoreError> {
    let mut all = ReportsByTask::new();
    for (task, name) in salvage::list_all(root)? {
        all.entry(task).or_default().push(name);
    }
    Ok(all)
}
