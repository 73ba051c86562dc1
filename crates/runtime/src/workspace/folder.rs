//! A folder without git: every file in it, within bounds.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::fingerprint::{Budget, Fingerprint};
use super::name::Name;
use super::{Changed, FILES_MAX, How, Unseen};

/// What a folder held.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Listing {
    files: Vec<(Name, Fingerprint)>,
}

impl Listing {
    pub(super) fn take(folder: &Path, data: &Path) -> Result<Self, Unseen> {
        let mut budget = Budget::default();
        let mut files = Vec::new();
        for name in names(folder, data)? {
            let path = folder.join(name.path());
            let taken = Fingerprint::take(&path, &mut budget);
            let taken = taken.map_err(|error| unread(&path, &error))?;
            files.push((name, taken));
        }
        Ok(Self { files })
    }

    /// Says what changed. `named` is what the folder is called among the others.
    pub(super) fn compare(
        &self,
        folder: &Path,
        data: &Path,
        named: &Name,
    ) -> Result<Vec<Changed>, Unseen> {
        let mut changed = changes(folder, named, &self.files)?;
        let known: std::collections::BTreeSet<&Name> =
            self.files.iter().map(|(name, _)| name).collect();
        for name in names(folder, data)?.iter().filter(|name| !known.contains(name)) {
            changed.push(Changed { path: name.below(named).shown(), how: How::Added });
        }
        Ok(changed)
    }
}

/// Returns which of these files are not as they were.
pub(super) fn changes(
    folder: &Path,
    named: &Name,
    files: &[(Name, Fingerprint)],
) -> Result<Vec<Changed>, Unseen> {
    let mut changed = Vec::new();
    for (name, before) in files {
        let path = folder.join(name.path());
        let same = before.is_of(&path).map_err(|error| unread(&path, &error))?;
        if !same {
            let there = path.symlink_metadata().is_ok();
            let how = match before {
                Fingerprint::Absent => How::Added,
                _ if there => How::Modified,
                _ => How::Deleted,
            };
            changed.push(Changed { path: name.below(named).shown(), how });
        }
    }
    Ok(changed)
}

/// Returns every file below a folder, the data folder and what git keeps aside. Links are not
/// followed.
pub(super) fn names(folder: &Path, data: &Path) -> Result<Vec<Name>, Unseen> {
    let (mut found, mut left) = (Vec::new(), vec![Name::new(b"")]);
    while let Some(inner) = left.pop() {
        let path = folder.join(inner.path());
        let entries = match fs::read_dir(&path) {
            // Somebody took it away since its name was read.
            Err(error) if error.kind() == io::ErrorKind::NotFound && inner != Name::new(b"") => {
                continue;
            }
            entries => entries.map_err(|error| unread(&path, &error))?,
        };
        for entry in entries {
            let entry = entry.map_err(|error| unread(&path, &error))?;
            let name = Name::from(inner.path().join(entry.file_name()));
            let kind = entry.file_type().map_err(|error| unread(&path, &error))?;
            if !kind.is_dir() {
                found.push(name);
            } else if entry.file_name() != ".git" && entry.path() != data {
                left.push(name);
            }
            if found.len() + left.len() > FILES_MAX {
                return Err(too_many(folder));
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

pub(super) fn too_many(folder: &Path) -> Unseen {
    Unseen(format!("more than {FILES_MAX} files would have to be listed in {}", folder.display()))
}

pub(super) fn unread(path: &Path, error: &io::Error) -> Unseen {
    Unseen(format!("cannot read {}: {error}", path.display()))
}
