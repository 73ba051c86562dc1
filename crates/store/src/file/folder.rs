//! Finds data folders, and creates new ones.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use adjutant_model::Status;
use thiserror::Error;

use super::disk::TEMPORARY;
use super::fault;
use crate::document_paths::{EVENTS, JOURNAL, RUNS, TASKS, status_folder};

/// The name of a data folder inside a project.
pub const DATA_FOLDER: &str = ".adjutant";

/// An existing data folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFolder {
    root: PathBuf,
}

#[derive(Debug, Error)]
pub enum FolderError {
    /// The given folder does not exist.
    #[error("there is no data folder at {}", .0.display())]
    Absent(PathBuf),
    /// The given folder exists but is not a data folder.
    #[error("{} is not a data folder: it has no tasks folder", .0.display())]
    NotData(PathBuf),
    /// No folder was given, and none was found.
    #[error("there is no {DATA_FOLDER} folder in {} or above it", .0.display())]
    NotFound(PathBuf),
    #[error("{} is a data folder already", .0.display())]
    Exists(PathBuf),
    #[error("cannot create {}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// Another user could change what commands do with the folder.
    #[error("{} belongs to another user (uid {owner}, not {user})", path.display())]
    ForeignOwner { root: PathBuf, path: PathBuf, owner: u32, user: u32 },
    #[error("other users can write to {} (mode {:03o})", path.display(), mode & 0o777)]
    OpenToOthers { root: PathBuf, path: PathBuf, mode: u32 },
}

impl DataFolder {
    /// Uses the given folder: one of ours, or one that the original AOF wrote.
    pub fn at(root: &Path) -> Result<Self, FolderError> {
        if !root.is_dir() {
            return Err(FolderError::Absent(root.to_owned()));
        }
        if !root.join(TASKS).is_dir() {
            return Err(FolderError::NotData(root.to_owned()));
        }
        check_owner(root)?;
        Ok(Self { root: root.to_owned() })
    }

    /// Walks up from a folder until one contains a data folder, as git does.
    pub fn find(from: &Path) -> Result<Self, FolderError> {
        let inside = from.ancestors().map(|above| above.join(DATA_FOLDER));
        let mut data = inside.filter(|data| data.join(TASKS).is_dir());
        let root = data.next().ok_or_else(|| FolderError::NotFound(from.to_owned()))?;
        check_owner(&root)?;
        Ok(Self { root })
    }

    /// Creates a data folder inside `project`, for the owner only.
    pub fn init(project: &Path) -> Result<Self, FolderError> {
        fs::create_dir_all(project)
            .map_err(|source| FolderError::Io { path: project.to_owned(), source })?;
        Self::create(&project.join(DATA_FOLDER))
    }

    /// Creates a data folder of any name, for the owner only.
    pub fn create(root: &Path) -> Result<Self, FolderError> {
        if root.join(TASKS).is_dir() {
            return Err(FolderError::Exists(root.to_owned()));
        }
        if root.exists() {
            check_owner(root)?;
        }
        let made = make_folder_and_parents(root).and_then(|()| make_folders(root));
        made.map_err(|source| FolderError::Io { path: root.to_owned(), source })?;
        Ok(Self { root: root.to_owned() })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the folder in which agents work: the parent of the data folder.
    pub fn workspace(&self) -> PathBuf {
        let parent = self.root.parent().filter(|parent| !parent.as_os_str().is_empty());
        parent.map_or_else(|| PathBuf::from("."), Path::to_owned)
    }
}

/// What other users must not be able to replace or change, beside the status folders. Task files are
/// in the status folders, and a file in them that others can write to is rare enough for `chmod -R`.
const GUARDED: [&str; 8] =
    [TASKS, JOURNAL, EVENTS, RUNS, "adjutant.toml", "secret", "operator-token", "node-key"];

/// Refuses a folder that another user owns or can write to: what is in it is obeyed. Root is no
/// exception, also under `sudo`. The files of a folder may also belong to root.
fn check_owner(root: &Path) -> Result<(), FolderError> {
    let user = rustix::process::geteuid().as_raw();
    let at_root = fs::metadata(root);
    // Others who cannot enter the folder cannot write to what is in it.
    let is_closed = at_root.as_ref().is_ok_and(|folder| folder.mode() & 0o011 == 0);
    let guarded = GUARDED.map(str::to_owned).into_iter().chain(Status::ALL.map(status_folder));
    let inside = guarded.map(|name| root.join(name)).map(|path| (fs::metadata(&path), path));
    for (found, path) in [(at_root, root.to_owned())].into_iter().chain(inside) {
        let Ok(found) = found else { continue };
        let (owner, mode, is_root) = (found.uid(), found.mode(), path == root);
        let root = root.to_owned();
        if owner != user && (is_root || owner != 0) {
            return Err(FolderError::ForeignOwner { root, path, owner, user });
        }
        if mode & 0o022 != 0 && (is_root || !is_closed) {
            return Err(FolderError::OpenToOthers { root, path, mode });
        }
    }
    Ok(())
}

/// Creates every missing folder in a data folder, which itself must exist: one that was moved away
/// must not be created again. The status folders come last, because they make it a data folder.
pub(super) fn make_folders(root: &Path) -> io::Result<()> {
    let own = [JOURNAL, TEMPORARY, EVENTS, RUNS, TASKS].map(str::to_owned);
    let folders = own.into_iter().chain(Status::ALL.map(status_folder));
    folders.map(|folder| root.join(folder)).try_for_each(|folder| make_folder(&folder))
}

fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    fault::point();
    match DirBuilder::new().mode(0o700).create(folder) {
        // Another process may have made it meanwhile.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        made => made,
    }
}

fn make_folder_and_parents(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    fault::point();
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
