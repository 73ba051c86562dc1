//! A cache of task files. An entry is valid while the metadata of its file stays the same.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use adjutant_model::{Status, TaskId};
use adjutant_store::document_paths::task_file;
use adjutant_store::file::DataFolder;
use parking_lot::Mutex;

use crate::task::TaskView;

const CACHED_TASKS_MAX: usize = 512;
/// The largest file that is cached, in bytes.
const CACHED_BYTES_MAX: u64 = 16 << 10;
/// A file is cached only if it last changed longer ago than this. File system clocks advance in
/// steps of some milliseconds, so two writes within one step leave the same timestamp.
const SETTLE_TIME: Duration = Duration::from_millis(50);

/// A cache of the task files that were read last.
#[derive(Default)]
pub(crate) struct TaskCache(Mutex<HashMap<TaskId, CachedTask>>);

struct CachedTask {
    version: FileVersion,
    view: Arc<TaskView>,
    /// The JSON of the task without its body, made at first use.
    row: OnceLock<Arc<str>>,
}

/// The metadata that identifies a file's content. Every change to a file updates its ctime, which
/// no program can set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileVersion {
    status: Status,
    inode: u64,
    size: u64,
    ctime: (i64, i64),
}

impl FileVersion {
    fn read(root: &Path, id: &TaskId, status: Status) -> Option<Self> {
        let stat = root.join(task_file(status, id)).symlink_metadata().ok()?;
        let changed = (stat.ctime(), stat.ctime_nsec());
        stat.is_file().then(|| Self {
            status,
            inode: stat.ino(),
            size: stat.size(),
            ctime: changed,
        })
    }

    fn is_settled(&self) -> bool {
        let (Ok(secs), Ok(nanos)) = (u64::try_from(self.ctime.0), u32::try_from(self.ctime.1))
        else {
            return false;
        };
        let changed = UNIX_EPOCH + Duration::new(secs, nanos);
        SystemTime::now().duration_since(changed).is_ok_and(|age| age > SETTLE_TIME)
    }
}

impl TaskCache {
    /// Returns a cached task if its file has not changed. Reads only the file's metadata.
    pub(crate) fn get_cached(
        &self,
        folder: &DataFolder,
        id: &TaskId,
        at: Status,
    ) -> Option<Arc<TaskView>> {
        let version = FileVersion::read(folder.root(), id, at)?;
        let all = self.0.lock();
        let cached = all.get(id).filter(|cached| cached.version == version)?;
        Some(Arc::clone(&cached.view))
    }

    /// Returns the JSON of a cached task without its body, under the same condition.
    pub(crate) fn get_cached_row(
        &self,
        folder: &DataFolder,
        id: &TaskId,
        at: Status,
    ) -> Option<Arc<str>> {
        let version = FileVersion::read(folder.root(), id, at)?;
        let all = self.0.lock();
        let cached = all.get(id).filter(|cached| cached.version == version)?;
        let serialize = || serde_json::to_string(&cached.view.without_body()).unwrap_or_default();
        Some(Arc::clone(cached.row.get_or_init(|| serialize().into())))
    }

    /// Returns a task. `likely` is the status under which its file is looked for first.
    pub(crate) fn find(
        &self,
        folder: &DataFolder,
        id: &TaskId,
        likely: Option<Status>,
    ) -> Option<Arc<TaskView>> {
        if let Some(cached) = likely.and_then(|at| self.get_cached(folder, id, at)) {
            return Some(cached);
        }
        let version = likely.and_then(|at| FileVersion::read(folder.root(), id, at));
        let there = likely.and_then(|at| TaskView::read(folder, id, at));
        let Some(view) = there else { return TaskView::find(folder, id).map(Arc::new) };
        let view = Arc::new(view);
        // Do not cache a file that changed while it was read: the content may be a mixture.
        if let Some(version) = version
            && version.size <= CACHED_BYTES_MAX
            && version.is_settled()
            && FileVersion::read(folder.root(), id, view.status) == Some(version)
        {
            self.insert(id, CachedTask { version, view: Arc::clone(&view), row: OnceLock::new() });
        }
        Some(view)
    }

    fn insert(&self, id: &TaskId, cached: CachedTask) {
        let mut all = self.0.lock();
        if all.len() >= CACHED_TASKS_MAX && !all.contains_key(id) {
            // Evict any entry: a task that is asked for often is soon cached again.
            let any = all.keys().next().cloned();
            any.map(|any| all.remove(&any));
        }
        all.insert(id.clone(), cached);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const ID: &str = "TASK-2026-02-09-057";

    fn write(folder: &DataFolder, title: &str) {
        let text = format!("---\nid: {ID}\ntitle: {title}\n---\nBody\n");
        fs::write(folder.root().join(format!("tasks/ready/{ID}.md")), text).expect("written");
    }

    fn title(cache: &TaskCache, folder: &DataFolder) -> String {
        let id = TaskId::parse(ID).expect("an id");
        let view = cache.find(folder, &id, Some(Status::Ready)).expect("a task");
        view.text("title").expect("a title").to_owned()
    }

    #[test]
    fn task_cache_never_returns_outdated_file() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = DataFolder::init(home.path()).expect("a data folder");
        let cache = TaskCache::default();
        // Many writes within one step of the file system clock, all of the same length and to one
        // file.
        for number in 100..400 {
            write(&folder, &format!("number-{number}"));
            assert_eq!(title(&cache, &folder), format!("number-{number}"));
        }
    }

    #[test]
    fn task_cache_reads_unchanged_file_once() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = DataFolder::init(home.path()).expect("a data folder");
        let (cache, id) = (TaskCache::default(), TaskId::parse(ID).expect("an id"));
        write(&folder, "one");
        let until = std::time::Instant::now() + Duration::from_mins(2);
        while cache.get_cached(&folder, &id, Status::Ready).is_none() {
            assert!(std::time::Instant::now() < until, "it is cached once it is settled");
            title(&cache, &folder);
        }
        let row = cache.get_cached_row(&folder, &id, Status::Ready).expect("it is cached");
        assert!(row.contains("\"title\":\"one\"") && !row.contains("Body"), "{row}");
        write(&folder, "another");
        assert!(cache.get_cached(&folder, &id, Status::Ready).is_none());
        assert!(cache.get_cached_row(&folder, &id, Status::Ready).is_none());
        assert_eq!(title(&cache, &folder), "another");
    }
}
