//! Packs a data folder into one archive, and unpacks it.
//!
//! The same folder always gives the same archive, byte for byte. The last entry holds the pending
//! effects, the number of files and a checksum. So a truncated or altered archive is refused before
//! anything is put in place.

use std::collections::BTreeSet;
use std::fmt::{Display, Write as _};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use adjutant_core::World;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tar::{Archive, Builder, EntryType, Header};
use thiserror::Error;

use super::archive_scope::{ArchiveScope, LABEL, is_machine_file};
use super::disk::{FolderDisk, sync_all};
use super::folder::{DataFolder, make_folders};
use super::format_check::FolderFormats;
use super::journal::{CommitJournal, JournalEntry};
use super::{FileStore, WriteTurn};
use crate::archive_summary::ArchiveSummary;
use crate::batch::{PendingEffect, StoreVersion};
use crate::document_paths::{JOURNAL, TASKS};
use crate::format::{ARCHIVE_FORMAT, FormatPart, NewerFormat};
use crate::store::StoreError;

/// The last entry of an archive.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ArchiveLabel {
    /// The format version of the archive.
    export: u64,
    version: u64,
    /// The day of the last event file; `None` if there are no events.
    day: Option<String>,
    #[serde(rename = "owed")]
    pending_effects: Vec<PendingEffect>,
    files: u64,
    /// Covers every path and every byte before this entry.
    pub(super) sha256: String,
}

/// Why an archive was not unpacked. The target folder is unchanged.
#[derive(Debug, Error)]
pub enum UnpackError {
    #[error("{name} exists already in {}, and existing files are not overwritten", root.display())]
    Occupied { root: PathBuf, name: String },
    /// The input is not an archive, or it was altered or truncated.
    #[error("the archive cannot be imported: {0}")]
    Malformed(String),
    #[error("the archive cannot be imported")]
    Newer(#[from] NewerFormat),
    #[error(transparent)]
    Store(StoreError),
}

impl From<StoreError> for UnpackError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Newer(format) => Self::Newer(format),
            error => Self::Store(error),
        }
    }
}

impl FileStore {
    /// Writes the folder into an archive. The caller holds the write lock, and `world` is
    /// up to date.
    pub fn pack(
        &mut self,
        world: &World,
        scope: ArchiveScope,
        out: impl Write,
    ) -> Result<ArchiveSummary, StoreError> {
        if self.turn != WriteTurn::Ours {
            return Err(StoreError::Stopped);
        }
        self.bring_to_rest(world)?;
        let mut tar = ArchiveWriter { tar: Builder::new(out), sum: Sha256::new(), files: 0 };
        for path in archived_files(self.disk.root(), scope)? {
            tar.add(self.disk.root(), &path)?;
        }
        let day = Some(self.log.day(adjutant_model::Time::from_millis(0)));
        let label = ArchiveLabel {
            export: ARCHIVE_FORMAT.into(),
            version: self.version.0,
            day: day.filter(|day| !day.starts_with("1970")),
            pending_effects: self.pending_effects.values().cloned().collect(),
            files: tar.files,
            sha256: hex(tar.sum.clone()),
        };
        let text = serde_json::to_string(&label).expect("text and numbers always make JSON");
        tar.append(Path::new(LABEL), text.as_bytes())?;
        tar.tar.into_inner().and_then(|mut out| out.flush()).map_err(write_error())?;
        Ok(ArchiveSummary { version: self.version, files: label.files })
    }
}

pub(super) fn write_error() -> impl FnOnce(io::Error) -> StoreError {
    StoreError::io("write", "the archive")
}

/// A read error almost always means that the archive is malformed, so it is not an I/O error here.
pub(super) fn read_error(error: impl Display) -> UnpackError {
    malformed(&error.to_string())
}

fn malformed(what: &str) -> UnpackError {
    UnpackError::Malformed(what.to_owned())
}

pub(super) struct ArchiveWriter<W: Write> {
    pub(super) tar: Builder<W>,
    pub(super) sum: Sha256,
    pub(super) files: u64,
}

impl<W: Write> ArchiveWriter<W> {
    /// Skips a file that has vanished meanwhile: the store deletes none at rest, so it
    /// was not ours.
    fn add(&mut self, root: &Path, path: &Path) -> Result<(), StoreError> {
        let full = root.join(path);
        let bytes = match fs::read(&full) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(StoreError::io("read", full)(error)),
        };
        add_to_checksum(&mut self.sum, path, bytes.len() as u64);
        self.sum.update(&bytes);
        self.files += 1;
        self.append(path, &bytes)
    }

    /// Owner and times are left out: they belong to this machine.
    pub(super) fn append(&mut self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_size(bytes.len() as u64);
        header.set_mode(0o600);
        self.tar.append_data(&mut header, path, bytes).map_err(write_error())
    }
}

/// Adds name and length too, so that no two different folders have the same checksum.
pub(super) fn add_to_checksum(sum: &mut Sha256, path: &Path, bytes: u64) {
    let path = path.as_os_str().as_encoded_bytes();
    sum.update((path.len() as u64).to_be_bytes());
    sum.update(path);
    sum.update(bytes.to_be_bytes());
}

pub(super) fn hex(sum: Sha256) -> String {
    let mut text = String::new();
    for byte in sum.finalize() {
        write!(text, "{byte:02x}").expect("a string takes all that is written to it");
    }
    text
}

/// Returns every plain file that belongs in the archive, sorted.
fn archived_files(root: &Path, scope: ArchiveScope) -> Result<BTreeSet<PathBuf>, StoreError> {
    let mut found = BTreeSet::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let full = root.join(&folder);
        for entry in fs::read_dir(&full).map_err(StoreError::io("read", &full))? {
            let entry = entry.map_err(StoreError::io("read", &full))?;
            let path = folder.join(entry.file_name());
            let kind = entry.file_type().map_err(StoreError::io("read", &full))?;
            if kind.is_dir() && scope.may_contain(&path) {
                folders.push(path);
            } else if kind.is_file() && scope.includes(&path) {
                found.insert(path);
            }
        }
    }
    Ok(found)
}

/// Creates a data folder from an archive: all of it, or nothing.
pub fn unpack(
    archive: impl Read,
    root: &Path,
) -> Result<(DataFolder, ArchiveSummary), UnpackError> {
    expect_empty(root)?;
    let parent = root.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    make_folder(parent)?;
    let new = parent.join(format!(".adjutant-import-{}", std::process::id()));
    let made = unpack_into(archive, &new, |_| true).and_then(|packed| {
        put_in_place(&new, root)?;
        Ok(packed)
    });
    // The temporary folder is empty now, or holds the rest of a failed attempt.
    let _ = fs::remove_dir_all(&new);
    let folder = |packed| match DataFolder::at(root) {
        Ok(folder) => Ok((folder, packed)),
        Err(error) => Err(malformed(&error.to_string())),
    };
    made.and_then(folder)
}

fn expect_empty(root: &Path) -> Result<(), UnpackError> {
    let there = match fs::read_dir(root) {
        Ok(entries) => entries.filter_map(Result::ok).map(|entry| entry.file_name()).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeSet::new(),
        Err(error) => return Err(StoreError::io("read", root)(error).into()),
    };
    let Some(name) = there.first() else { return Ok(()) };
    let (root, name) = (root.to_owned(), name.to_string_lossy().into_owned());
    Err(UnpackError::Occupied { root, name })
}

fn make_folder(folder: &Path) -> Result<(), StoreError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(StoreError::io("create", folder))
}

/// Unpacks the wanted files into a new folder. Reads the others too, to verify the checksum.
pub(super) fn unpack_into(
    archive: impl Read,
    new: &Path,
    is_included: impl Fn(&Path) -> bool,
) -> Result<ArchiveSummary, UnpackError> {
    DirBuilder::new().mode(0o700).create(new).map_err(StoreError::io("create", new))?;
    let mut archive = Archive::new(archive);
    let (mut sum, mut files, mut label) = (Sha256::new(), 0_u64, None);
    for entry in archive.entries().map_err(read_error)? {
        let mut entry = entry.map_err(read_error)?;
        let path = entry.path().map_err(read_error)?.into_owned();
        if label.is_some() || entry.header().entry_type() != EntryType::Regular {
            return Err(malformed(&format!(
                "it contains {}, which does not belong in an archive",
                path.display()
            )));
        }
        if path == Path::new(LABEL) {
            let mut text = String::new();
            entry.read_to_string(&mut text).map_err(read_error)?;
            label = Some(read_label(&text)?);
            continue;
        }
        expect_inside(&path)?;
        add_to_checksum(&mut sum, &path, entry.size());
        let to =
            if is_included(&path) { create_file(&new.join(&path))? } else { Box::new(io::sink()) };
        copy(&mut entry, to, &path, &mut sum)?;
        files += 1;
    }
    let label = label.ok_or_else(|| malformed("it is truncated: its last entry is missing"))?;
    if (label.files, label.sha256.as_str()) != (files, hex(sum).as_str()) {
        return Err(malformed("its content does not match its checksum"));
    }
    FolderFormats::read(new)?;
    start_journal(new, &label)?;
    sync_folder_tree(new)?;
    Ok(ArchiveSummary { version: StoreVersion(label.version), files })
}

/// Makes everything in the folder survive a power cut.
pub(super) fn sync_folder_tree(new: &Path) -> Result<(), StoreError> {
    let folder = File::open(new).map_err(StoreError::io("open", new))?;
    sync_all(&folder.into(), new).map_err(|errno| StoreError::io("sync", new)(errno.into()))
}

pub(super) fn read_label(text: &str) -> Result<ArchiveLabel, UnpackError> {
    /// Reads only the format number: a newer format may have other fields.
    #[derive(Deserialize)]
    struct LabelFormat {
        export: u64,
    }
    let nonsense =
        |error: serde_json::Error| malformed(&format!("its last entry is invalid ({error})"));
    let LabelFormat { export } = serde_json::from_str(text).map_err(nonsense)?;
    FormatPart::Archive.expect_known(export)?;
    serde_json::from_str(text).map_err(nonsense)
}

/// Refuses paths that would let a foreign archive write outside the folder, or over own files.
fn expect_inside(path: &Path) -> Result<(), UnpackError> {
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    if plain && path.components().next().is_some() && !is_machine_file(path) {
        return Ok(());
    }
    Err(malformed(&format!(
        "it contains {}, which does not belong in a data folder",
        path.display()
    )))
}

fn create_file(path: &Path) -> Result<Box<dyn Write>, UnpackError> {
    make_folder(path.parent().unwrap_or(path))?;
    let mut options = OpenOptions::new();
    let made = options.write(true).create_new(true).mode(0o600).open(path);
    Ok(Box::new(made.map_err(StoreError::io("create", path))?))
}

fn copy(
    from: &mut impl Read,
    mut to: Box<dyn Write>,
    path: &Path,
    sum: &mut Sha256,
) -> Result<(), UnpackError> {
    let mut bytes = vec![0; 64 << 10];
    loop {
        let read = from.read(&mut bytes).map_err(read_error)?;
        if read == 0 {
            return Ok(());
        }
        sum.update(&bytes[..read]);
        to.write_all(&bytes[..read]).map_err(StoreError::io("write", path))?;
    }
}

/// Starts a journal at the version of the archive. Its first commit has no changes and only carries
/// the pending effects over.
fn start_journal(root: &Path, label: &ArchiveLabel) -> Result<(), StoreError> {
    make_folders(root).map_err(StoreError::io("create", root))?;
    let folder = root.join(JOURNAL);
    let Some(before) = label.version.checked_sub(1) else { return Ok(()) };
    let mut journal = CommitJournal::begin(&folder, StoreVersion(before))?;
    journal.append(&JournalEntry {
        version: label.version,
        day: label.day.clone().unwrap_or_else(|| "1970-01-01".into()).into(),
        lines: vec![],
        ops: vec![],
        pending_effects: label.pending_effects.clone(),
        settled: vec![],
        answers: vec![],
    })
}

/// Moves `tasks` last, because a folder with `tasks` counts as a data folder.
fn put_in_place(new: &Path, root: &Path) -> Result<(), UnpackError> {
    make_folder(root)?;
    let entries = fs::read_dir(new).map_err(StoreError::io("read", new))?;
    let mut names: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.file_name()).collect();
    names.sort_by_key(|name| (name == TASKS, name.clone()));
    for name in names {
        let (from, to) = (new.join(&name), root.join(&name));
        fs::rename(&from, &to).map_err(StoreError::io("create", &to))?;
    }
    let folder = DataFolder::at(root).map_err(|error| malformed(&error.to_string()))?;
    Ok(FolderDisk::open(&folder)?.sync_now(&BTreeSet::from([TASKS.to_owned()]))?)
}
