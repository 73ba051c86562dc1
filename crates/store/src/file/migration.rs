//! Migrates a data folder of an older format in place, and keeps a backup.
//!
//! The order makes a crash harmless at any point: first the backup is complete and synced, then
//! each step runs, then `format.json` gets the new numbers. Until that last rename the folder has
//! its old numbers, and the next opening starts over. So every step must be idempotent. The caller
//! holds the write lock.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::fault;
use super::format_check::{FolderFormats, StoredFormats};
use super::journal::sync_folder;
use super::open::INDEX;
use crate::document_paths::{BACKUP, FORMAT_FILE, JOURNAL};
use crate::format::FormatPart;
use crate::store::StoreError;

/// A step from one format to the next.
struct FormatMigration {
    part: FormatPart,
    from: u64,
    /// The folder that the step may change, and that is backed up. It must touch nothing else.
    rewrites: &'static str,
    run: fn(&Path) -> Result<(), StoreError>,
}

/// Every step, in the order in which they run.
const MIGRATIONS: [FormatMigration; 2] = [
    // The index is rebuilt from the task files when the folder is opened.
    FormatMigration { part: FormatPart::Index, from: 1, rewrites: JOURNAL, run: remove_index },
    // Format 2 is format 1 with a `format.json`.
    FormatMigration { part: FormatPart::Folder, from: 1, rewrites: JOURNAL, run: |_| Ok(()) },
];

/// Migrates a folder that is already open, in case an older one was put in its place. Returns
/// whether it did. Costs one small read if there is nothing to do.
pub(super) fn migrate_if_due(root: &Path) -> Result<bool, StoreError> {
    if StoredFormats::read(root)? == Some(StoredFormats::NEWEST) {
        return Ok(false);
    }
    migrate(root).map(|()| true)
}

/// Migrates a folder, or writes the format numbers of a new one. Leaves a current folder alone.
pub(super) fn migrate(root: &Path) -> Result<(), StoreError> {
    let formats = FolderFormats::read(root)?;
    let is_due =
        |step: &&FormatMigration| formats.of(step.part).is_some_and(|found| found <= step.from);
    let due: Vec<&FormatMigration> = MIGRATIONS.iter().filter(is_due).collect();
    if !due.is_empty() {
        let from = formats.of(FormatPart::Folder).unwrap_or(1);
        back_up(root, &due, from)?;
    }
    due.iter().try_for_each(|step| (step.run)(root))?;
    if formats.stored == Some(StoredFormats::NEWEST) {
        return Ok(());
    }
    write_format_file(root)
}

fn remove_index(root: &Path) -> Result<(), StoreError> {
    let path = root.join(INDEX);
    fault::point();
    ignore_not_found("remove", &path, fs::remove_file(&path))?;
    sync_folder(&root.join(JOURNAL))
}

/// A rename puts the complete file in place.
fn write_format_file(root: &Path) -> Result<(), StoreError> {
    let mut text = serde_json::to_string(&StoredFormats::NEWEST).expect("numbers make JSON");
    text.push('\n');
    // Not under `journal/`, which was just backed up.
    let (new, path) = (root.join(format!("{FORMAT_FILE}.new")), root.join(FORMAT_FILE));
    write_synced(&new, text.as_bytes())?;
    fault::point();
    fs::rename(&new, &path).map_err(StoreError::io("create", &path))?;
    fault::note_sync(&path);
    sync_folder(root)
}

/// Backs up everything that these steps may change. The backup gets its name only when it is
/// complete and synced.
fn back_up(root: &Path, steps: &[&FormatMigration], from: u64) -> Result<(), StoreError> {
    let backup = root.join(BACKUP);
    let new = backup.join(".new");
    make_folder(&backup)?;
    // The `.gitignore` of an older `adjutant init` does not list this folder.
    write_synced(&backup.join(".gitignore"), b"*\n")?;
    remove_folder(&new)?;
    let rewrites: BTreeSet<&str> = steps.iter().map(|step| step.rewrites).collect();
    let copied = make_folder(&new).and_then(|()| {
        copy_format_file(root, &new)?;
        rewrites.into_iter().try_for_each(|path| copy_folder(&root.join(path), &new.join(path)))
    });
    if let Err(error) = copied {
        // Frees the space in case the disk is full.
        let _ = fs::remove_dir_all(&new);
        return Err(error);
    }
    sync_folder(&new)?;
    match free_name(&backup, from, &new)? {
        None => remove_folder(&new)?,
        Some(name) => {
            fault::point();
            fs::rename(&new, &name).map_err(StoreError::io("create", &name))?;
            fault::note_sync(&name);
        }
    }
    sync_folder(&backup)?;
    sync_folder(root)
}

/// Returns a free name for the backup; `None` if the same backup exists already, made by a process
/// that died before the numbers were written.
fn free_name(backup: &Path, from: u64, new: &Path) -> Result<Option<PathBuf>, StoreError> {
    let own = files(new)?;
    for number in 1.. {
        let suffix = if number == 1 { String::new() } else { format!(".{number}") };
        let name = backup.join(format!("format-{from}{suffix}"));
        if name.symlink_metadata().is_err() {
            return Ok(Some(name));
        }
        if files(&name)? == own {
            return Ok(None);
        }
    }
    Ok(None)
}

/// Returns the content of every file in a folder, by path.
fn files(folder: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>, StoreError> {
    let (mut files, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(inside) = folders.pop() {
        for (path, is_folder) in entries(&inside)? {
            if is_folder {
                folders.push(path);
            } else {
                let bytes = fs::read(&path).map_err(StoreError::io("read", &path))?;
                let name = path.strip_prefix(folder).unwrap_or(&path).to_owned();
                files.insert(name, bytes);
            }
        }
    }
    Ok(files)
}

/// Copies `format.json`, which a folder of format 1 does not have.
fn copy_format_file(root: &Path, to: &Path) -> Result<(), StoreError> {
    let path = root.join(FORMAT_FILE);
    match fs::read(&path) {
        Ok(bytes) => write_synced(&to.join(FORMAT_FILE), &bytes),
        Err(error) => ignore_not_found("read", &path, Err(error)),
    }
}

/// Copies plain files and folders, except the lock file.
fn copy_folder(from: &Path, to: &Path) -> Result<(), StoreError> {
    make_folder(to)?;
    for (path, is_folder) in entries(from)? {
        let name = path.file_name().unwrap_or_default();
        if is_folder {
            copy_folder(&path, &to.join(name))?;
        } else if name != OsStr::new("lock") {
            let bytes = fs::read(&path).map_err(StoreError::io("read", &path))?;
            write_synced(&to.join(name), &bytes)?;
        }
    }
    fault::note_sync(to);
    sync_folder(to)
}

/// Returns the plain files and folders in a folder, sorted; true for a folder.
fn entries(folder: &Path) -> Result<BTreeMap<PathBuf, bool>, StoreError> {
    let failed = || StoreError::io("read", folder);
    let mut entries = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(failed())? {
        let entry = entry.map_err(failed())?;
        let kind = entry.file_type().map_err(failed())?;
        if kind.is_dir() || kind.is_file() {
            entries.insert(entry.path(), kind.is_dir());
        }
    }
    Ok(entries)
}

fn write_synced(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let mut options = OpenOptions::new();
    fault::point();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path);
    let mut file = file.map_err(StoreError::io("create", path))?;
    fault::write_all(&mut file, bytes).map_err(StoreError::io("write", path))?;
    fault::point();
    fault::note_sync(path);
    file.sync_all().map_err(StoreError::io("sync", path))
}

fn make_folder(path: &Path) -> Result<(), StoreError> {
    fault::point();
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(StoreError::io("create", path))
}

fn remove_folder(path: &Path) -> Result<(), StoreError> {
    fault::point();
    ignore_not_found("remove", path, fs::remove_dir_all(path))
}

/// Treats a missing file as success.
fn ignore_not_found(
    attempt: &'static str,
    path: &Path,
    done: io::Result<()>,
) -> Result<(), StoreError> {
    match done {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StoreError::io(attempt, path)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migration_exists_from_every_older_format() {
        use FormatPart::{EventLog, Folder, Index, Journal};
        for part in [Folder, EventLog, Journal, Index] {
            let steps = MIGRATIONS.iter().filter(|step| step.part == part);
            let from: Vec<u64> = steps.map(|step| step.from).collect();
            let older: Vec<u64> = (1..u64::from(part.newest())).collect();
            assert_eq!(from, older, "{part:?}");
        }
    }
}
