//! A folder as one file: everything that travels, at rest, in a fixed order.
//!
//! The same folder makes the same archive, byte for byte. What was committed and is owed travels
//! in a last entry, which also says how much came before it: an archive that was cut off, or
//! changed, is known as such before anything is put in place.

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

use super::disk::{Disk, sync_all};
use super::folder::{Folder, make_folders};
use super::format_check::FolderFormats;
use super::journal::{Entry, Journal};
use super::parcel::{LABEL, Parcel, is_own};
use super::{FileStore, Turn};
use crate::batch::Version;
use crate::document::{JOURNAL, TASKS};
use crate::format::{ARCHIVE_FORMAT, FormatPart, NewerFormat};
use crate::store::StoreError;
use crate::wire::OwedWire;

/// What an archive says of itself.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Label {
    /// The format of the archive.
    export: u64,
    version: u64,
    /// The day whose file the record ends in, if it has any.
    day: Option<String>,
    owed: Vec<OwedWire>,
    files: u64,
    /// Of every path and every byte before.
    sha256: String,
}

/// How much an archive holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packed {
    /// The version the folder is at.
    pub version: Version,
    /// How many files.
    pub files: u64,
}

/// Why an archive was not unpacked. Nothing was changed.
#[derive(Debug, Error)]
pub enum UnpackError {
    /// Something is where the data folder would be.
    #[error("there is {name} in {} already, and nothing is written over", root.display())]
    Occupied {
        /// Where.
        root: PathBuf,
        /// What.
        name: String,
    },
    /// It is no archive, or not as it was made.
    #[error("the archive cannot be taken: {0}")]
    Bad(String),
    /// A newer version made it.
    #[error("the archive cannot be taken")]
    Newer(#[from] NewerFormat),
    /// Something about the disk went wrong.
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
    /// Writes the folder into an archive. Called in turn, with a world that has caught up.
    pub fn pack(
        &mut self,
        world: &World,
        parcel: Parcel,
        out: impl Write,
    ) -> Result<Packed, StoreError> {
        if self.turn != Turn::Ours {
            return Err(StoreError::Stopped);
        }
        self.rest_at(world)?;
        let mut tar = Packing { tar: Builder::new(out), sum: Sha256::new(), files: 0 };
        for path in files(self.disk.root(), parcel)? {
            tar.add(self.disk.root(), &path)?;
        }
        let day = Some(self.log.day(adjutant_core::Time::from_millis(0)));
        let label = Label {
            export: ARCHIVE_FORMAT.into(),
            version: self.version.0,
            day: day.filter(|day| !day.starts_with("1970")),
            owed: self.owed.values().map(OwedWire::from).collect(),
            files: tar.files,
            sha256: hex(tar.sum.clone()),
        };
        let text = serde_json::to_string(&label).expect("text and numbers always make JSON");
        tar.put(Path::new(LABEL), text.as_bytes())?;
        tar.tar.into_inner().and_then(|mut out| out.flush()).map_err(writing())?;
        Ok(Packed { version: self.version, files: label.files })
    }
}

fn writing() -> impl FnOnce(io::Error) -> StoreError {
    StoreError::io("write", "the archive")
}

/// What cannot be read of an archive is what somebody else made of it, in all but the rarest cases.
fn reading(error: impl Display) -> UnpackError {
    bad(&error.to_string())
}

fn bad(what: &str) -> UnpackError {
    UnpackError::Bad(what.to_owned())
}

struct Packing<W: Write> {
    tar: Builder<W>,
    sum: Sha256,
    files: u64,
}

impl<W: Write> Packing<W> {
    /// A file that is gone by now was somebody else's, and is left out.
    fn add(&mut self, root: &Path, path: &Path) -> Result<(), StoreError> {
        let full = root.join(path);
        let bytes = match fs::read(&full) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(StoreError::io("read", full)(error)),
        };
        count(&mut self.sum, path, bytes.len() as u64);
        self.sum.update(&bytes);
        self.files += 1;
        self.put(path, &bytes)
    }

    /// Whose it is and since when belongs to the machine.
    fn put(&mut self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_size(bytes.len() as u64);
        header.set_mode(0o600);
        self.tar.append_data(&mut header, path, bytes).map_err(writing())
    }
}

/// Counts what a file is called and how long it is, so that no two folders make the same sum.
fn count(sum: &mut Sha256, path: &Path, bytes: u64) {
    let path = path.as_os_str().as_encoded_bytes();
    sum.update((path.len() as u64).to_be_bytes());
    sum.update(path);
    sum.update(bytes.to_be_bytes());
}

fn hex(sum: Sha256) -> String {
    let mut text = String::new();
    for byte in sum.finalize() {
        write!(text, "{byte:02x}").expect("a string takes all that is written to it");
    }
    text
}

/// Returns every plain file that travels, in order.
fn files(root: &Path, parcel: Parcel) -> Result<BTreeSet<PathBuf>, StoreError> {
    let mut found = BTreeSet::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let full = root.join(&folder);
        for entry in fs::read_dir(&full).map_err(StoreError::io("read", &full))? {
            let entry = entry.map_err(StoreError::io("read", &full))?;
            let path = folder.join(entry.file_name());
            let kind = entry.file_type().map_err(StoreError::io("read", &full))?;
            if kind.is_dir() && parcel.may_lie_in(&path) {
                folders.push(path);
            } else if kind.is_file() && parcel.holds(&path) {
                found.insert(path);
            }
        }
    }
    Ok(found)
}

/// Makes a data folder of an archive: all of it, or nothing.
pub fn unpack(archive: impl Read, root: &Path) -> Result<(Folder, Packed), UnpackError> {
    expect_room(root)?;
    let parent = root.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    make_folder(parent)?;
    let new = parent.join(format!(".adjutant-import-{}", std::process::id()));
    let made = unpack_into(archive, &new, |_| true).and_then(|packed| {
        put_in_place(&new, root)?;
        Ok(packed)
    });
    // What is left of one that failed is of no use to anybody.
    let _ = fs::remove_dir_all(&new);
    let folder = |packed| match Folder::at(root) {
        Ok(folder) => Ok((folder, packed)),
        Err(error) => Err(bad(&error.to_string())),
    };
    made.and_then(folder)
}

fn expect_room(root: &Path) -> Result<(), UnpackError> {
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
    made.map_err(StoreError::io("make", folder))
}

/// Makes a new folder of what is wanted of an archive. What is not wanted is read all the same, to
/// know that nobody changed it.
pub(super) fn unpack_into(
    archive: impl Read,
    new: &Path,
    wanted: impl Fn(&Path) -> bool,
) -> Result<Packed, UnpackError> {
    DirBuilder::new().mode(0o700).create(new).map_err(StoreError::io("make", new))?;
    let mut archive = Archive::new(archive);
    let (mut sum, mut files, mut label) = (Sha256::new(), 0_u64, None);
    for entry in archive.entries().map_err(reading)? {
        let mut entry = entry.map_err(reading)?;
        let path = entry.path().map_err(reading)?.into_owned();
        if label.is_some() || entry.header().entry_type() != EntryType::Regular {
            return Err(bad(&format!("{} does not belong into it", path.display())));
        }
        if path == Path::new(LABEL) {
            let mut text = String::new();
            entry.read_to_string(&mut text).map_err(reading)?;
            label = Some(read_label(&text)?);
            continue;
        }
        expect_inside(&path)?;
        count(&mut sum, &path, entry.size());
        let to = if wanted(&path) { make(&new.join(&path))? } else { Box::new(io::sink()) };
        copy(&mut entry, to, &path, &mut sum)?;
        files += 1;
    }
    let label = label.ok_or_else(|| bad("it is cut off: its last entry is missing"))?;
    if (label.files, label.sha256.as_str()) != (files, hex(sum).as_str()) {
        return Err(bad("what is in it is not what was put into it"));
    }
    FolderFormats::read(new)?;
    begin_journal(new, &label)?;
    sync(new)?;
    Ok(Packed { version: Version(label.version), files })
}

/// Sees to it that all that was put into a folder is there after a power cut.
pub(super) fn sync(new: &Path) -> Result<(), StoreError> {
    let folder = File::open(new).map_err(StoreError::io("open", new))?;
    sync_all(&folder.into(), new).map_err(|errno| StoreError::io("sync", new)(errno.into()))
}

fn read_label(text: &str) -> Result<Label, UnpackError> {
    /// The label of a newer format may have other fields besides.
    #[derive(Deserialize)]
    struct LabelFormat {
        export: u64,
    }
    let nonsense =
        |error: serde_json::Error| bad(&format!("its last entry makes no sense ({error})"));
    let LabelFormat { export } = serde_json::from_str(text).map_err(nonsense)?;
    FormatPart::Archive.expect_known(export)?;
    serde_json::from_str(text).map_err(nonsense)
}

/// An archive that somebody else made must not make us write anywhere else.
fn expect_inside(path: &Path) -> Result<(), UnpackError> {
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    if plain && path.components().next().is_some() && !is_own(path) {
        return Ok(());
    }
    Err(bad(&format!("{} does not belong into a data folder", path.display())))
}

fn make(path: &Path) -> Result<Box<dyn Write>, UnpackError> {
    make_folder(path.parent().unwrap_or(path))?;
    let mut options = OpenOptions::new();
    let made = options.write(true).create_new(true).mode(0o600).open(path);
    Ok(Box::new(made.map_err(StoreError::io("make", path))?))
}

fn copy(
    from: &mut impl Read,
    mut to: Box<dyn Write>,
    path: &Path,
    sum: &mut Sha256,
) -> Result<(), UnpackError> {
    let mut bytes = vec![0; 64 << 10];
    loop {
        let read = from.read(&mut bytes).map_err(reading)?;
        if read == 0 {
            return Ok(());
        }
        sum.update(&bytes[..read]);
        to.write_all(&bytes[..read]).map_err(StoreError::io("write", path))?;
    }
}

/// The folder goes on at the version it was packed at, with what was owed then: its journal begins
/// with a commit that owes it, and does nothing else.
fn begin_journal(root: &Path, label: &Label) -> Result<(), StoreError> {
    make_folders(root).map_err(StoreError::io("make", root))?;
    let folder = root.join(JOURNAL);
    let Some(before) = label.version.checked_sub(1) else { return Ok(()) };
    let mut journal = Journal::begin(&folder, Version(before))?;
    journal.append(&Entry {
        version: label.version,
        day: label.day.clone().unwrap_or_else(|| "1970-01-01".into()).into(),
        lines: vec![],
        ops: vec![],
        owed: label.owed.clone(),
        settled: vec![],
        answers: vec![],
    })
}

/// `tasks` comes last: it is what makes a data folder one.
fn put_in_place(new: &Path, root: &Path) -> Result<(), UnpackError> {
    make_folder(root)?;
    let entries = fs::read_dir(new).map_err(StoreError::io("read", new))?;
    let mut names: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.file_name()).collect();
    names.sort_by_key(|name| (name == TASKS, name.clone()));
    for name in names {
        let (from, to) = (new.join(&name), root.join(&name));
        fs::rename(&from, &to).map_err(StoreError::io("make", &to))?;
    }
    let folder = Folder::at(root).map_err(|error| bad(&error.to_string()))?;
    Ok(Disk::open(&folder)?.sync_now(&BTreeSet::from([TASKS.to_owned()]))?)
}
