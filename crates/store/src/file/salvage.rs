//! Lists late reports, which are kept in the folders of the runs.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use adjutant_model::TaskId;

use crate::document_paths::{self, RUNS};
use crate::store::StoreError;

/// Returns every late report that waits for a person, as task and file name. Applied reports lie in
/// a subfolder and are left out. Links are not followed.
pub fn list_all(root: &Path) -> Result<Vec<(TaskId, String)>, StoreError> {
    let mut found = Vec::new();
    for task in names(&root.join(RUNS))?.iter().filter_map(|name| TaskId::parse(name).ok()) {
        found.extend(list_of_task(root, &task)?.into_iter().map(|name| (task.clone(), name)));
    }
    found.sort();
    Ok(found)
}

/// Returns the names of a task's late reports, sorted.
pub fn list_of_task(root: &Path, task: &TaskId) -> Result<Vec<String>, StoreError> {
    let folder = root.join(document_paths::run_folder(task)).join("salvage");
    let is_plain = |name: &String| {
        let plain = fs::symlink_metadata(folder.join(name)).is_ok_and(|meta| meta.is_file());
        plain && document_paths::salvage_file(task, name).is_some()
    };
    let mut names: Vec<String> = names(&folder)?.into_iter().filter(is_plain).collect();
    names.sort();
    Ok(names)
}

pub fn report_path(root: &Path, task: &TaskId, name: &str) -> PathBuf {
    root.join(document_paths::run_folder(task)).join("salvage").join(name)
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
