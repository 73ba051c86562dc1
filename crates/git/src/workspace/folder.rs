//! Lists and compares the files of a folder without git, up to a limit.

use std::path::Path;
use std::{fs, io};

use serde::{Deserialize, Serialize};

use super::byte_path::BytePath;
use super::fingerprint::{ContentFingerprint, ReadBudget};
use super::{ChangeKind, ChangedFile, FILES_MAX, InspectionError};

/// The files of a folder and their fingerprints.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FolderListing {
    files: Vec<(BytePath, ContentFingerprint)>,
}

impl FolderListing {
    pub(super) fn capture(folder: &Path, data: &Path) -> Result<Self, InspectionError> {
        let mut budget = ReadBudget::default();
        let mut files = Vec::new();
        for name in list_files(folder, data)? {
            let path = folder.join(name.as_path());
            let taken = ContentFingerprint::take(&path, &mut budget);
            let taken = taken.map_err(|error| read_error(&path, &error))?;
            files.push((name, taken));
        }
        Ok(Self { files })
    }

    /// Returns what changed. `named` is the path of the folder relative to the workspace.
    pub(super) fn compare(
        &self,
        folder: &Path,
        data: &Path,
        named: &BytePath,
    ) -> Result<Vec<ChangedFile>, InspectionError> {
        let mut changed = changed_files(folder, named, &self.files)?;
        let known: std::collections::BTreeSet<&BytePath> =
            self.files.iter().map(|(name, _)| name).collect();
        for name in list_files(folder, data)?.iter().filter(|name| !known.contains(name)) {
            changed.push(ChangedFile {
                path: name.join_onto(named).to_display(),
                how: ChangeKind::Added,
            });
        }
        Ok(changed)
    }
}

/// Returns which of these files changed.
pub(super) fn changed_files(
    folder: &Path,
    named: &BytePath,
    files: &[(BytePath, ContentFingerprint)],
) -> Result<Vec<ChangedFile>, InspectionError> {
    let mut changed = Vec::new();
    for (name, before) in files {
        let path = folder.join(name.as_path());
        let same = before.matches_file(&path).map_err(|error| read_error(&path, &error))?;
        if !same {
            let there = path.symlink_metadata().is_ok();
            let how = match before {
                ContentFingerprint::Absent => ChangeKind::Added,
                _ if there => ChangeKind::Modified,
                _ => ChangeKind::Deleted,
            };
            changed.push(ChangedFile { path: name.join_onto(named).to_display(), how });
        }
    }
    Ok(changed)
}

/// Lists every file below a folder, except the data folder and `.git` folders. Links
/// are not followed.
pub(super) fn list_files(folder: &Path, data: &Path) -> Result<Vec<BytePath>, InspectionError> {
    let (mut found, mut left) = (Vec::new(), vec![BytePath::new(b"")]);
    while let Some(inner) = left.pop() {
        let path = folder.join(inner.as_path());
        let entries = match fs::read_dir(&path) {
            // The folder was removed after its name was read.
            Err(error)
                if error.kind() == io::ErrorKind::NotFound && inner != BytePath::new(b"") =>
            {
                continue;
            }
            entries => entries.map_err(|error| read_error(&path, &error))?,
        };
        for entry in entries {
            let entry = entry.map_err(|error| read_error(&path, &error))?;
            let name = BytePath::from(inner.as_path().join(entry.file_name()));
            let kind = entry.file_type().map_err(|error| read_error(&path, &error))?;
            if !kind.is_dir() {
                found.push(name);
            } else if entry.file_name() != ".git" && entry.path() != data {
                left.push(name);
            }
            if found.len() + left.len() > FILES_MAX {
                return Err(too_many_error(folder));
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

pub(super) fn too_many_error(folder: &Path) -> InspectionError {
    InspectionError(format!("more than {FILES_MAX} files to list in {}", folder.display()))
}

pub(super) fn read_error(path: &Path, error: &io::Error) -> InspectionError {
    InspectionError(format!("cannot read {}: {error}", path.display()))
}
