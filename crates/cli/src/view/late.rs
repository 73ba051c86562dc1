//! Reports that came too late, known without going through the folders of all runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use adjutant_core::TaskId;
use adjutant_runtime::Mirror;
use adjutant_store::StoreError;
use adjutant_store::file::salvage;

/// How long it is enough to look where something happened. What came from elsewhere without a word,
/// be it by a person's hand, is seen then.
const KNOWN: Duration = Duration::from_mins(10);

/// The reports there are, by task. The folders of all runs are gone through now and then; meanwhile
/// only those of tasks that something happened to.
pub(crate) struct Late {
    known: Mutex<Option<(Instant, ByTask)>>,
    touched: Arc<Mutex<BTreeSet<TaskId>>>,
}

type ByTask = BTreeMap<TaskId, Vec<String>>;

impl Late {
    /// Takes note of every task that something happens to from now on.
    pub(crate) fn watching(mirror: &Mirror) -> Self {
        let touched: Arc<Mutex<BTreeSet<TaskId>>> = Arc::default();
        let noted = Arc::clone(&touched);
        mirror.watch(move |events| {
            let tasks = events.iter().filter_map(|event| event.happened.task.clone());
            noted.lock().unwrap_or_else(PoisonError::into_inner).extend(tasks);
        });
        Self { known: Mutex::new(None), touched }
    }

    /// Returns the reports there are now, by task and name.
    pub(crate) fn list(&self, root: &Path) -> Result<Vec<(TaskId, String)>, StoreError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Taken before anything is read, so that what happens meanwhile is looked at the next time.
        let touched =
            std::mem::take(&mut *self.touched.lock().unwrap_or_else(PoisonError::into_inner));
        let before = known.take().filter(|(since, _)| since.elapsed() < KNOWN);
        let since = before.as_ref().map_or_else(Instant::now, |(since, _)| *since);
        let mut all = match before {
            Some((_, mut all)) => {
                all.retain(|task, _| !touched.contains(task));
                for task in touched {
                    let names = salvage::of(root, &task)?;
                    if !names.is_empty() {
                        all.insert(task, names);
                    }
                }
                all
            }
            None => first(root)?,
        };
        // What a person took away is not there any more.
        all.retain(|task, names| {
            let is_there =
                |name: &String| salvage::path(root, task, name).symlink_metadata().is_ok();
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

fn first(root: &Path) -> Result<ByTask, StoreError> {
    let mut all = ByTask::new();
    for (task, name) in salvage::list(root)? {
        all.entry(task).or_default().push(name);
    }
    Ok(all)
}
