//! Carries files that agents leave from the folder they are in to every other.
//!
//! They travel in the order of the commits, so that what happens to a task's folder happens to
//! them too, in every folder alike.

use std::borrow::Cow;

use adjutant_core::path::RelPath;
use adjutant_core::{TaskId, Time};

use super::disk::Look;
use super::follow::Order;
use super::journal::{Entry, OpWire};
use super::{FileStore, Trust, Turn};
use crate::batch::Version;
use crate::document::{companion, run_folder};
use crate::store::StoreError;

/// A file that an agent left, on this machine or another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    /// The task it was left for.
    pub task: TaskId,
    /// Whose folder it lies in.
    pub home: Home,
    /// Where in that folder.
    pub path: RelPath,
    /// What it says.
    pub content: Vec<u8>,
}

/// The two folders a task has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// The companion folder, which moves with the task.
    Task,
    /// The folder of its runs.
    Run,
}

/// Where files are carried from, and what this node is called.
#[derive(Debug, Clone, Copy)]
pub struct Way<'a> {
    /// The node whose agents wrote the files: what lies there is newer than what is carried.
    pub from: &'a str,
    /// This node.
    pub here: &'a str,
}

impl FileStore {
    /// Commits files that agents left, in turn, after `order` has agreed.
    pub fn carry_through(
        &mut self,
        files: &[Carried],
        way: Way<'_>,
        order: Order<'_>,
    ) -> Result<Version, StoreError> {
        if self.trust != Trust::Good || self.turn != Turn::Ours {
            return Err(StoreError::Stopped);
        }
        let carried = self.carry_all(files, way, order);
        match &carried {
            Ok(_) => {}
            Err(StoreError::Stopped) => self.trust = Trust::Stopped,
            Err(_) => self.distrust(),
        }
        carried
    }

    fn carry_all(
        &mut self,
        files: &[Carried],
        way: Way<'_>,
        order: Order<'_>,
    ) -> Result<Version, StoreError> {
        let ops = files.iter().filter_map(|file| self.laid(file, way.from)).collect();
        let version = self.version.next();
        let day = self.log.day(Time::from_millis(0)).into();
        let mut entry = Entry { version: version.0, day, ops, ..Entry::default() };
        order(&|| serde_json::to_string(&entry).expect("text always makes JSON"), &mut || {})?;
        entry.ops.retain(|_| way.from != way.here);
        self.journal.append(&entry)?;
        self.version = version;
        self.show(std::slice::from_ref(&entry))?;
        Ok(version)
    }

    /// A task that is not known has no folder, and what is no file is not written over.
    fn laid<'a>(&self, file: &'a Carried, from: &'a str) -> Option<OpWire<'a>> {
        let folder = match file.home {
            Home::Task => companion(self.known.get(&file.task)?.status, &file.task),
            Home::Run => run_folder(&file.task),
        };
        let path = format!("{folder}/{}", file.path);
        let was = match self.disk.look(&path) {
            Ok(Look::Other) | Err(_) => return None,
            Ok(Look::File(_) | Look::Nothing) => self.hash_of(&path),
        };
        let (text, origin) = (file.content.as_slice().into(), Some(Cow::Borrowed(from)));
        Some(OpWire::Put { path: path.into(), was, text, origin })
    }
}
