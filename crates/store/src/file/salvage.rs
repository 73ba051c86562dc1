//! Reports that came too late, as they lie in the folders of the runs.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use adjutant_core::TaskId;

use crate::document::{self, RUNS};
use crate::store::StoreError;

/// Returns every report that came too late and waits for a person, by task and name. What was
/// applied lies a folder deeper, and links are not followed.
pub fn list(root: &Path) -> Result<Vec<(TaskId, String)>, StoreError> {
    let mut found = Vec::new();
    for task in names(&root.join(RUNS))?.iter().filter_map(|name| TaskId::parse(name).ok()) {
        let folder = root.join(document::run_folder(&task)).join("salvage");
        for name in names(&folder)? {
            let plain = fs::symlink_metadata(folder.join(&name)).is_ok_and(|meta| meta.is_file());
            if plain && document::salvage(&task, &name).is_some() {
                found.push((task.clone(), name));
            }
        }
    }
    found.sort();
    Ok(found)
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
