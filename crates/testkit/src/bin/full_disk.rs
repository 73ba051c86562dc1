//! Works on a disk that fills up repeatedly and checks that no request is half done.
//!
//! Its argument is the mount point of a small disk; with `--limited` it is a folder, and a limit on
//! the size of files stands in for the disk.
#![expect(clippy::print_stdout, reason = "what happened is what the test reads")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use adjutant_core::World;
use adjutant_engine::{Engine, EngineRequest};
use adjutant_model::command::InitialStatus;
use adjutant_store::file::DataFolder;
use adjutant_store::file::doctor::examine;
use adjutant_store::{FileStore, StoreError};
use adjutant_testkit::ManualClock;
use adjutant_testkit::audit::{EventLogScope, find_problems};
use adjutant_testkit::crash_child::{NOW, open_engine, open_or_init_folder};
use adjutant_testkit::disk_space::{DiskResource, SmallDiskSpace};
use adjutant_testkit::message::{completion, progress};
use adjutant_testkit::project::{add_request, message_request, task_id_of};
use adjutant_testkit::seeded_rng::SeededRng;
use adjutant_testkit::snapshot::FolderSnapshot;

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let limited = arguments.first().is_some_and(|first| first == "--limited");
    let home = PathBuf::from(arguments.pop().expect("a disk"));
    let mut test = FullDiskTest::new(&home);
    if limited {
        test.work_until_it_fails();
    } else {
        test.work_on_a_full_disk();
    }
    println!("{} requests done, full at: {:?}", test.done, test.full_counts);
}

/// Sends requests to an engine while its disk fills up.
struct FullDiskTest {
    space: SmallDiskSpace,
    folder: DataFolder,
    engine: Engine<FileStore>,
    rng: SeededRng,
    task: String,
    done: u32,
    /// How often the disk was full, by the kind of file that was written.
    full_counts: BTreeMap<String, u32>,
}

impl FullDiskTest {
    fn new(home: &Path) -> Self {
        let seed = SeededRng::seed_from_env();
        println!("ADJUTANT_SEED={seed}");
        let folder = open_or_init_folder(home);
        let engine = open_engine(&folder, &ManualClock::at(NOW));
        let (room, rng, task) =
            (SmallDiskSpace::at(home), SeededRng::from_seed(seed), String::new());
        let mut test =
            Self { space: room, folder, engine, rng, task, done: 0, full_counts: BTreeMap::new() };
        test.add_task();
        test.engine.rest().expect("at rest");
        test
    }

    /// Clears the disk, so that earlier work does not fill it permanently.
    fn start_over(&mut self) {
        std::fs::remove_dir_all(self.folder.root()).expect("removed");
        let home = self.folder.root().parent().expect("a disk").to_owned();
        self.folder = open_or_init_folder(&home);
        self.engine = open_engine(&self.folder, &ManualClock::at(NOW));
        self.add_task();
        self.engine.rest().expect("at rest");
    }

    fn add_task(&mut self) {
        let added =
            self.engine.submit_one(add_request("Work", InitialStatus::Ready)).expect("added");
        self.task = task_id_of(&added).to_string();
    }

    fn work_on_a_full_disk(&mut self) {
        for round in 0..ROUNDS_MAX {
            if round > 0 && round % ROUNDS_MIN == 0 {
                self.start_over();
            }
            for stock in [DiskResource::Blocks, DiskResource::Files] {
                for left in 0..=LEFT_MAX {
                    self.submit_with_space(stock, left, round + left);
                }
                self.open_with_space(stock, round % (LEFT_MAX + 1));
                self.rest_with_space(stock, round % 3);
            }
            if round + 1 >= ROUNDS_MIN
                && FULL_DISK_STEPS.iter().all(|step| self.full_counts.contains_key(*step))
            {
                return self.expect_sound("at the end");
            }
        }
        panic!("of {FULL_DISK_STEPS:?} only these met a full disk: {:?}", self.full_counts);
    }

    /// Sends requests with `left` blocks or files free; if refused, sends them again with enough.
    fn submit_with_space(&mut self, stock: DiskResource, left: u64, kind: u64) {
        let requests = self.requests(kind);
        let (world, files) = (self.engine.world().clone(), self.files());
        self.space.fill_up_to(stock, left);
        let answered = self.engine.submit(&requests).map(drop);
        let when = format!("{left} {stock:?} left");
        if self.note_if_full(answered, &when) {
            self.expect_unchanged(&world, &files, &when);
            self.space.release();
            self.engine.submit(&requests).unwrap_or_else(|error| panic!("{when}: {error:?}"));
        } else {
            self.space.release();
        }
        self.done += u32::try_from(requests.len()).expect("a few");
        let found = examine(&self.folder).expect("a look");
        assert_eq!(found, [], "{when}");
    }

    /// Nothing was applied and no file changed, also for the engine that had the folder open.
    fn expect_unchanged(&mut self, world: &World, files: &FolderSnapshot, when: &str) {
        let differences = files.differences(&self.files());
        assert!(differences.is_empty(), "{when}: {differences:#?}");
        assert_eq!(examine(&self.folder).expect("a look"), [], "{when}");
        self.engine.check_all_files().unwrap_or_else(|error| panic!("{when}: {error:?}"));
        assert_eq!(self.engine.world(), world, "{when}");
    }

    /// Opens the folder as another process would.
    fn open_with_space(&mut self, stock: DiskResource, left: u64) {
        self.space.fill_up_to(stock, left);
        let opened = FileStore::open(&self.folder).map(drop);
        self.note_if_full(opened, "opening");
        self.space.release();
        self.expect_sound("after opening");
    }

    /// Brings the store to rest; at random, the whole index must be written for that.
    fn rest_with_space(&mut self, stock: DiskResource, left: u64) {
        if self.rng.below(2) == 0 {
            let _ = std::fs::remove_file(self.folder.root().join("journal/index"));
        }
        self.space.fill_up_to(stock, left);
        let rested = self.engine.rest();
        self.note_if_full(rested, "resting");
        self.space.release();
        self.engine.rest().expect("at rest");
        self.expect_sound("after resting");
    }

    /// Works under the file size limit until a write fails.
    fn work_until_it_fails(&mut self) {
        for kind in 0.. {
            let requests = self.requests(kind);
            let (world, files) = (self.engine.world().clone(), self.files());
            if let Err(error) = self.engine.submit(&requests) {
                println!("stopped by {error:?}");
                return self.expect_unchanged(&world, &files, "limited");
            }
            self.done += 1;
        }
    }

    fn requests(&mut self, kind: u64) -> Vec<EngineRequest> {
        let notes = "x".repeat(1 + self.rng.below(400));
        let mut requests = vec![message_request(&progress(&self.task, "a", &notes))];
        match kind % 5 {
            0 => requests.push(add_request("More work", InitialStatus::Ready)),
            1 => {
                self.add_task();
                requests.push(message_request(&completion(&self.task, "a", "blocked")));
            }
            2 => requests.push(EngineRequest::message(b"AOF/1 {".to_vec())),
            _ => {}
        }
        requests
    }

    fn files(&self) -> FolderSnapshot {
        let mut files = FolderSnapshot::of_folder(self.folder.root()).without("journal/");
        files.files.retain(|path, bytes| !path.starts_with("events/") || !bytes.is_empty());
        files
    }

    /// Tells whether the disk was full, and counts by what for. Any other error is a failure.
    fn note_if_full(&mut self, done: Result<(), StoreError>, when: &str) -> bool {
        let path = match done {
            Ok(()) => return false,
            Err(StoreError::Full { path, .. }) => path,
            Err(error) => panic!("{when}: {error:?}"),
        };
        let path = path.strip_prefix(self.folder.root()).expect("a path in the folder");
        *self.full_counts.entry(path_kind(path)).or_default() += 1;
        true
    }

    fn expect_sound(&mut self, when: &str) {
        self.engine.check_all_files().expect("a look around");
        let found = find_problems(&self.folder, self.engine.world(), EventLogScope::Complete);
        assert!(found.is_empty(), "{when}: {found:#?}");
    }
}

/// Kinds of files whose writing must have met a full disk: a staged file, the journal, the event
/// log, the index, a run folder.
const FULL_DISK_STEPS: [&str; 5] =
    ["journal/tmp", "journal/.wal", "events/.jsonl", "journal/index", "runs/TASK"];
/// The least number of rounds from nothing left to enough left, so that files end at different
/// bytes each time. The disk has room for this many rounds.
const ROUNDS_MIN: u64 = 8;
const ROUNDS_MAX: u64 = 80;
/// Blocks or files that are enough for any request.
const LEFT_MAX: u64 = 12;

/// Returns the kind of a file: the first two parts of its path, without numbers.
fn path_kind(path: &Path) -> String {
    let parts: Vec<String> =
        path.iter().take(2).map(|part| part.to_string_lossy().into_owned()).collect();
    parts.join("/").replace(|c: char| c.is_ascii_digit(), "").replace("--", "")
}
