//! Tells whether the data folder at a path is still the one that was opened.
//!
//! A folder that a person moved, replaced or removed must not be created again at its old path: the
//! project would have two of them.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::journal::is_same_file;
use crate::store::StoreError;

/// An open data folder. While it is open, no other folder gets its inode.
pub struct FolderHandle {
    folder: File,
    root: PathBuf,
}

impl FolderHandle {
    /// Opens the folder at a path.
    pub fn open(root: &Path) -> Result<Self, StoreError> {
        let folder = File::open(root).map_err(|error| match error.kind() {
            ErrorKind::NotFound => StoreError::FolderGone(root.to_owned()),
            _ => StoreError::io("open", root)(error),
        })?;
        Ok(Self { folder, root: root.to_owned() })
    }

    /// Refuses to go on unless the folder is still at its path.
    pub fn check(&self) -> Result<(), StoreError> {
        if is_same_file(&self.folder, &self.root) {
            return Ok(());
        }
        Err(StoreError::FolderGone(self.root.clone()))
    }
}
