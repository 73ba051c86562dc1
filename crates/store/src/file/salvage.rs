//! Reports that came too late, as they lie in the folders of the runs.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use adjutant_core::TaskId;

use crate::document::{self, RUNS};
use crate::store::StoreError;

/// Returns every report that came too late and waits for a person, by task and name. What was
/// applied lies a folder deeper, and links are not followed.
pub fn list(root: &Path) -> Result<Vec<(TaskId, String)>, StoreError> {
    let mut found = Vec::new();
    for task in names(&root.join(RUNS))?.iter().filter_map(|name| TaskId::parse(name).ok()) {
        found.extend(of(root, &task)?.into_iter().map(|name| (task.clone(), name)));
    }
    found.sort();
    Ok(found)
}

/// Returns the names of those of one task, in order.
pub fn of(root: &Path, task: &TaskId) -> Result<Vec<String>, StoreError> {
    let folder = root.join(document::run_folder(task)).join("salvage");
    let is_plain = |name: &String| {
        let plain = fs::symlink_metadata(folder.join(name)).is_ok_and(|meta| meta.is_file());
        plain && document::salvage(task, name).is_some()
    };
    let mut names: Vec<String> = names(&folder)?.into_iter().filter(is_plain).collect();
    names.sort();
    Ok(names)
}

/// Returns where one lies.
pub fn path(root: &Path, task: &TaskId, name: &str) -> PathBuf {
    root.join(document::run_folder(task)).join("salvage").join(name)
}

fn names(folder: &Path) -> Result<Vec<String>, StoreError> {
    match fs::read_dir(folder) {
        Ok(entries) => {
            Ok(entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
        }
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(vec![])
        }
        Err(error) => Err(StoreError::io("read", folder)(error)),
    }
}
