//! Task files that were read, kept for as long as they look the same from outside.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use adjutant_core::{Status, TaskId};
use adjutant_store::document::task_file;
use adjutant_store::file::Folder;

use super::task::{Body, TaskView};

/// How many are kept.
const KEPT_MAX: usize = 512;
/// The largest file that is kept, in bytes.
const SIZE_MAX: u64 = 16 << 10;
/// How long a file must have been left alone. The clock of a file system stands still for some
/// milliseconds at a time: what is written within that looks the same afterwards.
const SETTLED: Duration = Duration::from_millis(50);

/// The files that were read last.
#[derive(Default)]
pub(crate) struct Shelf(Mutex<HashMap<TaskId, Kept>>);

struct Kept {
    looks: Looks,
    view: Arc<TaskView>,
    /// The task without its body, once it was written down.
    row: OnceLock<Arc<str>>,
}

/// How a file looks from outside. Whatever is done to it changes when it was last changed, which
/// nobody can set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Looks {
    status: Status,
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl Looks {
    fn of(root: &Path, id: &TaskId, status: Status) -> Option<Self> {
        let stat = root.join(task_file(status, id)).symlink_metadata().ok()?;
        let changed = (stat.ctime(), stat.ctime_nsec());
        stat.is_file().then(|| Self { status, inode: stat.ino(), size: stat.size(), changed })
    }

    fn is_settled(&self) -> bool {
        let (Ok(secs), Ok(nanos)) = (u64::try_from(self.changed.0), u32::try_from(self.changed.1))
        else {
            return false;
        };
        let changed = UNIX_EPOCH + Duration::new(secs, nanos);
        SystemTime::now().duration_since(changed).is_ok_and(|age| age > SETTLED)
    }
}

impl Shelf {
    /// Returns a task whose file is kept, if it still is what it was. Nothing is read.
    pub(crate) fn kept(&self, folder: &Folder, id: &TaskId, at: Status) -> Option<Arc<TaskView>> {
        let looks = Looks::of(folder.root(), id, at)?;
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = all.get(id).filter(|kept| kept.looks == looks)?;
        Some(Arc::clone(&kept.view))
    }

    /// Returns a task without its body, in JSON, under the same terms.
    pub(crate) fn row(&self, folder: &Folder, id: &TaskId, at: Status) -> Option<Arc<str>> {
        let looks = Looks::of(folder.root(), id, at)?;
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = all.get(id).filter(|kept| kept.looks == looks)?;
        let row = kept.row.get_or_init(|| kept.view.json(Body::Left).to_string().into());
        Some(Arc::clone(row))
    }

    /// Returns a task, from a file that is likely to lie at a status; none if there is none.
    pub(crate) fn find(
        &self,
        folder: &Folder,
        id: &TaskId,
        likely: Option<Status>,
    ) -> Option<Arc<TaskView>> {
        if let Some(kept) = likely.and_then(|at| self.kept(folder, id, at)) {
            return Some(kept);
        }
        let looks = likely.and_then(|at| Looks::of(folder.root(), id, at));
        let there = likely.and_then(|at| TaskView::read(folder, id, at));
        let Some(view) = there else { return TaskView::find(folder, id).map(Arc::new) };
        let view = Arc::new(view);
        // What was changed while it was read may be neither the one nor the other.
        if let Some(looks) = looks
            && looks.size <= SIZE_MAX
            && looks.is_settled()
            && Looks::of(folder.root(), id, view.status) == Some(looks)
        {
            self.keep(id, Kept { looks, view: Arc::clone(&view), row: OnceLock::new() });
        }
        Some(view)
    }

    fn keep(&self, id: &TaskId, kept: Kept) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= KEPT_MAX && !all.contains_key(id) {
            // Any of them: who is asked for again is soon back.
            let any = all.keys().next().cloned();
            any.map(|any| all.remove(&any));
        }
        all.insert(id.clone(), kept);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const ID: &str = "TASK-2026-02-09-057";

    fn write(folder: &Folder, title: &str) {
        let text = format!("---\nid: {ID}\ntitle: {title}\n---\nBody\n");
        fs::write(folder.root().join(format!("tasks/ready/{ID}.md")), text).expect("written");
    }

    fn title(shelf: &Shelf, folder: &Folder) -> String {
        let id = TaskId::parse(ID).expect("an id");
        let view = shelf.find(folder, &id, Some(Status::Ready)).expect("a task");
        view.json(Body::Left)["title"].as_str().expect("a title").to_owned()
    }

    #[test]
    fn a_file_that_changes_is_never_shown_as_it_was() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = Folder::init(home.path()).expect("a data folder");
        let shelf = Shelf::default();
        // As many as fit into one tick of the clock, all of one length, in the same file.
        for number in 100..400 {
            write(&folder, &format!("number-{number}"));
            assert_eq!(title(&shelf, &folder), format!("number-{number}"));
        }
    }

    #[test]
    fn a_file_that_was_left_alone_is_read_once() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = Folder::init(home.path()).expect("a data folder");
        let (shelf, id) = (Shelf::default(), TaskId::parse(ID).expect("an id"));
        write(&folder, "one");
        let until = std::time::Instant::now() + Duration::from_mins(2);
        while shelf.kept(&folder, &id, Status::Ready).is_none() {
            assert!(std::time::Instant::now() < until, "it is kept once it is settled");
            title(&shelf, &folder);
        }
        let row = shelf.row(&folder, &id, Status::Ready).expect("it is kept");
        assert!(row.contains("\"title\":\"one\"") && !row.contains("Body"), "{row}");
        write(&folder, "another");
        assert!(shelf.kept(&folder, &id, Status::Ready).is_none());
        assert!(shelf.row(&folder, &id, Status::Ready).is_none());
        assert_eq!(title(&shelf, &folder), "another");
    }
}
