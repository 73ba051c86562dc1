//! Finds data folders, and creates new ones.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
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
        Ok(Self { root: root.to_owned() })
    }

    /// Walks up from a folder until one contains a data folder, as git does.
    pub fn find(from: &Path) -> Result<Self, FolderError> {
        let inside = from.ancestors().map(|above| above.join(DATA_FOLDER));
        let mut data = inside.filter(|data| data.join(TASKS).is_dir());
        data.next().map(|root| Self { root }).ok_or_else(|| FolderError::NotFound(from.to_owned()))
    }

    /// Creates a data folder inside `project`, for the owner only.
    pub fn init(project: &Path) -> Result<Self, FolderError> {
        let root = project.join(DATA_FOLDER);
        if root.join(TASKS).is_dir() {
            return Err(FolderError::Exists(root));
        }
        fs::create_dir_all(project)
            .map_err(|source| FolderError::Io { path: project.to_owned(), source })?;
        make_folders(&root).map_err(|source| FolderError::Io { path: root.clone(), source })?;
        Ok(Self { root })
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

/// Creates every missing folder. `tasks` comes last, because it makes the folder a data folder.
pub(super) fn make_folders(root: &Path) -> io::Result<()> {
    let own = [JOURNAL, TEMPORARY, EVENTS, RUNS].map(str::to_owned);
    let folders = own.into_iter().chain(Status::ALL.map(status_folder));
    folders.map(|folder| root.join(folder)).try_for_each(|folder| make_folder(&folder))
}

fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    fault::point();
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
