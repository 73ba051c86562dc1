//! Notices what people do to task files while the daemon runs.

use std::path::Path;

use adjutant_core::{Status, TaskId};
use adjutant_store::document::status_folder;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::news::Files;

/// Watches the folders of tasks for as long as it lives.
pub(super) struct Watch {
    _watcher: RecommendedWatcher,
}

impl Watch {
    /// Begins to watch.
    pub(super) fn start(root: &Path, files: Files) -> notify::Result<Self> {
        let mut watcher =
            notify::recommended_watcher(move |seen: notify::Result<Event>| match seen {
                Ok(event) if event.need_rescan() => files.touch(None),
                Ok(event) => tell(&files, &event),
                Err(_) => files.touch(None),
            })?;
        for status in Status::ALL {
            watcher.watch(&root.join(status_folder(status)), RecursiveMode::NonRecursive)?;
        }
        Ok(Self { _watcher: watcher })
    }
}

fn tell(files: &Files, event: &Event) {
    if matches!(event.kind, EventKind::Access(_)) {
        return;
    }
    for path in &event.paths {
        let name = path.file_name().and_then(|name| name.to_str());
        let id = name.and_then(|name| name.strip_suffix(".md"));
        if let Some(Ok(task)) = id.map(TaskId::parse) {
            files.touch(Some(task));
        }
    }
}
