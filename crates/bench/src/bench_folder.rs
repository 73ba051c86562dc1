//! Makes folders with many tasks: some in progress, the rest done long ago.

use std::path::PathBuf;

use adjutant_model::{Status, TaskId, Time};
use adjutant_store::file::DataFolder;
use tempfile::TempDir;

/// The number of tasks in progress, independent of the size of the folder.
pub(crate) const IN_PROGRESS_TASKS: usize = 1_000;

pub(crate) struct BenchFolder {
    home: TempDir,
    pub(crate) tasks: usize,
}

impl BenchFolder {
    pub(crate) fn folder(&self) -> DataFolder {
        DataFolder::at(&self.root()).expect("the folder was just made")
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.home.path().join(".adjutant")
    }

    /// Returns the temporary folder, which must outlive the measurements (see `Report::keep`).
    pub(crate) fn into_home(self) -> TempDir {
        self.home
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = TaskId> {
        (0..self.tasks).map(task_id)
    }

    pub(crate) fn in_progress_ids(&self) -> Vec<TaskId> {
        (0..IN_PROGRESS_TASKS.min(self.tasks)).map(task_id).collect()
    }
}

/// Makes a folder as another program would write it: without journal and index.
pub(crate) fn make_folder(tasks: usize) -> BenchFolder {
    fill_folder(
        tasks,
        |number| if number < IN_PROGRESS_TASKS { Status::InProgress } else { Status::Done },
    )
}

/// Makes a folder with `ready` ready tasks; the rest are done.
pub(crate) fn make_ready_folder(tasks: usize, ready: usize) -> BenchFolder {
    fill_folder(tasks, |number| if number < ready { Status::Ready } else { Status::Done })
}

/// Makes a folder in which `status` gives the status of each task by its number.
pub(crate) fn fill_folder(tasks: usize, status: impl Fn(usize) -> Status) -> BenchFolder {
    let home = tempfile::Builder::new().prefix("adjutant-bench-").tempdir().expect("a folder");
    let folder = DataFolder::init(home.path()).expect("a data folder");
    for number in 0..tasks {
        let status = status(number);
        let path = format!("tasks/{status}/{}.md", task_id(number));
        std::fs::write(folder.root().join(path), task_text(number, status)).expect("a task file");
    }
    std::fs::remove_dir_all(folder.root().join("journal")).expect("an empty journal");
    // Otherwise the next sync would pay for data that is still on its way to the disk.
    let root = std::fs::File::open(folder.root()).expect("the folder");
    rustix::fs::syncfs(root).expect("a sync");
    BenchFolder { home, tasks }
}

fn task_id(number: usize) -> TaskId {
    const FIRST_DAY: i64 = 1_767_225_600_000;
    let days = i64::try_from(number / 900).expect("no folder is that large");
    TaskId::numbered(Time::from_millis(FIRST_DAY + 86_400_000 * days), number as u64 % 900 + 1)
}

fn task_text(number: usize, status: Status) -> String {
    format!(
        "---\nschemaVersion: 1\nid: {}\ntitle: \"Task {number}: make the thing do what it should\"\n\
         status: {status}\npriority: normal\ncreatedAt: 2026-02-09T20:00:00.000Z\n\
         updatedAt: 2026-02-09T20:00:00.000Z\nlastTransitionAt: 2026-02-09T20:00:00.000Z\n\
         createdBy: human:alice\nrouting:\n  agent: swe-backend\n  tags:\n    - rust\n    - api\n\
         metadata:\n  reviewRequired: true\n---\n\n# What\n\nMake the thing do what it should, \
         and show that it does.\n\n# Why\n\nBecause a user asked for it.\n",
        task_id(number)
    )
}
