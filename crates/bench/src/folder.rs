//! Folders with many tasks: some in progress, the rest done long ago.

use std::path::PathBuf;

use adjutant_core::{Status, TaskId, Time};
use adjutant_store::file::Folder;
use tempfile::TempDir;

/// How many tasks are in progress, whatever the size of the folder.
pub(crate) const WORKING: usize = 1_000;

/// A folder with many tasks.
pub(crate) struct Sized {
    home: TempDir,
    /// How many.
    pub(crate) tasks: usize,
}

impl Sized {
    /// Returns the data folder.
    pub(crate) fn folder(&self) -> Folder {
        Folder::at(&self.root()).expect("the folder was just made")
    }

    /// Returns the path of the data folder.
    pub(crate) fn root(&self) -> PathBuf {
        self.home.path().join(".adjutant")
    }

    /// Returns what is to be kept until all is measured.
    pub(crate) fn into_home(self) -> TempDir {
        self.home
    }

    /// Returns the ids of all tasks, in order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = TaskId> {
        (0..self.tasks).map(id)
    }

    /// Returns the ids of the tasks in progress.
    pub(crate) fn working(&self) -> Vec<TaskId> {
        (0..WORKING.min(self.tasks)).map(id).collect()
    }
}

/// Makes a folder, as if other programs had written it: no journal, no index.
pub(crate) fn make(tasks: usize) -> Sized {
    fill(tasks, |number| if number < WORKING { Status::InProgress } else { Status::Done })
}

/// Makes a folder in which some tasks are ready, and the rest done.
pub(crate) fn make_ready(tasks: usize, ready: usize) -> Sized {
    fill(tasks, |number| if number < ready { Status::Ready } else { Status::Done })
}

/// Makes a folder in which each task stands where its number says.
pub(crate) fn fill(tasks: usize, status: impl Fn(usize) -> Status) -> Sized {
    let home = tempfile::Builder::new().prefix("adjutant-bench-").tempdir().expect("a folder");
    let folder = Folder::init(home.path()).expect("a data folder");
    for number in 0..tasks {
        let status = status(number);
        let path = format!("tasks/{status}/{}.md", id(number));
        std::fs::write(folder.root().join(path), text(number, status)).expect("a task file");
    }
    std::fs::remove_dir_all(folder.root().join("journal")).expect("an empty journal");
    // What is still on its way to the disk would be paid for by whoever syncs next.
    let root = std::fs::File::open(folder.root()).expect("the folder");
    rustix::fs::syncfs(root).expect("a sync");
    Sized { home, tasks }
}

fn id(number: usize) -> TaskId {
    const FIRST_DAY: i64 = 1_767_225_600_000;
    let days = i64::try_from(number / 900).expect("no folder is that large");
    TaskId::numbered(Time::from_millis(FIRST_DAY + 86_400_000 * days), number as u64 % 900 + 1)
}

fn text(number: usize, status: Status) -> String {
    format!(
        "---\nschemaVersion: 1\nid: {}\ntitle: \"Task {number}: make the thing do what it should\"\n\
         status: {status}\npriority: normal\ncreatedAt: 2026-02-09T20:00:00.000Z\n\
         updatedAt: 2026-02-09T20:00:00.000Z\nlastTransitionAt: 2026-02-09T20:00:00.000Z\n\
         createdBy: human:alice\nrouting:\n  agent: swe-backend\n  tags:\n    - rust\n    - api\n\
         metadata:\n  reviewRequired: true\n---\n\n# What\n\nMake the thing do what it should, \
         and show that it does.\n\n# Why\n\nBecause somebody asked for it.\n",
        id(number)
    )
}
