//! Watches the task files and the configuration for edits while the daemon runs.

use std::path::Path;

use adjutant_model::{Status, TaskId};
use adjutant_store::document_paths::status_folder;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::event_queue::FileChangeSender;

/// Watches the task folders until it is dropped.
pub(super) struct TaskFileWatcher {
    _watcher: RecommendedWatcher,
}

impl TaskFileWatcher {
    pub(super) fn start(root: &Path, files: FileChangeSender) -> notify::Result<Self> {
        let mut watcher =
            notify::recommended_watcher(move |seen: notify::Result<Event>| match seen {
                Ok(event) if event.need_rescan() => files.file_changed(None),
                Ok(event) => report_changes(&files, &event),
                Err(_) => files.file_changed(None),
            })?;
        watcher.watch(root, RecursiveMode::NonRecursive)?;
        for status in Status::ALL {
            watcher.watch(&root.join(status_folder(status)), RecursiveMode::NonRecursive)?;
        }
        Ok(Self { _watcher: watcher })
    }
}

fn report_changes(files: &FileChangeSender, event: &Event) {
    if matches!(event.kind, EventKind::Access(_)) {
        return;
    }
    for path in &event.paths {
        let name = path.file_name().and_then(|name| name.to_str());
        if name == Some(adjutant_config::FILE) {
            files.config_changed();
        }
        let id = name.and_then(|name| name.strip_suffix(".md"));
        if let Some(Ok(task)) = id.map(TaskId::parse) {
            files.file_changed(Some(task));
        }
    }
}
