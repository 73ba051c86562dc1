//! Works on a disk that is full again and again, and sees that nothing is ever half done.
//!
//! Its one argument is a small disk of its own; with `--limited` it is a folder, and a limit on
//! the size of files stands in for the disk.
#![expect(clippy::print_stdout, reason = "what happened is what the test reads")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use adjutant_core::World;
use adjutant_core::command::Start;
use adjutant_runtime::{Engine, Request};
use adjutant_store::file::Folder;
use adjutant_store::file::doctor::examine;
use adjutant_store::{FileStore, StoreError};
use adjutant_testkit::SetClock;
use adjutant_testkit::audit::{Record, problems};
use adjutant_testkit::dice::Dice;
use adjutant_testkit::hand::{NOW, folder, open};
use adjutant_testkit::message::{completion, progress};
use adjutant_testkit::project::{add, id_of, send};
use adjutant_testkit::room::{Room, Stock};
use adjutant_testkit::snapshot::Snapshot;

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let limited = arguments.first().is_some_and(|first| first == "--limited");
    let home = PathBuf::from(arguments.pop().expect("a disk"));
    let mut desk = Desk::new(&home);
    if limited {
        desk.work_until_it_fails();
    } else {
        desk.work_on_a_full_disk();
    }
    println!("{} requests done, full at: {:?}", desk.done, desk.full_at);
}

/// Somebody who works on a disk that fills up.
struct Desk {
    room: Room,
    folder: Folder,
    engine: Engine<FileStore>,
    dice: Dice,
    task: String,
    done: u32,
    /// How often there was no room, by what for.
    full_at: BTreeMap<String, u32>,
}

impl Desk {
    fn new(home: &Path) -> Self {
        let seed = Dice::seed();
        println!("ADJUTANT_SEED={seed}");
        let folder = folder(home);
        let engine = open(&folder, &SetClock::at(NOW));
        let (room, dice, task) = (Room::at(home), Dice::from_seed(seed), String::new());
        let mut desk = Self { room, folder, engine, dice, task, done: 0, full_at: BTreeMap::new() };
        desk.take_on_another();
        desk.engine.rest().expect("at rest");
        desk
    }

    /// Clears the disk, so that what was done before does not fill it for good.
    fn start_over(&mut self) {
        std::fs::remove_dir_all(self.folder.root()).expect("removed");
        let home = self.folder.root().parent().expect("a disk").to_owned();
        self.folder = folder(&home);
        self.engine = open(&self.folder, &SetClock::at(NOW));
        self.take_on_another();
        self.engine.rest().expect("at rest");
    }

    fn take_on_another(&mut self) {
        let added = self.engine.submit_one(add("Work", Start::Ready)).expect("added");
        self.task = id_of(&added).to_string();
    }

    fn work_on_a_full_disk(&mut self) {
        for round in 0..ROUNDS_MAX {
            if round > 0 && round % ROUNDS_MIN == 0 {
                self.start_over();
            }
            for stock in [Stock::Blocks, Stock::Files] {
                for left in 0..=LEFT_MAX {
                    self.work_with(stock, left, round + left);
                }
                self.open_with(stock, round % (LEFT_MAX + 1));
                self.rest_with(stock, round % 3);
            }
            if round + 1 >= ROUNDS_MIN && STEPS.iter().all(|step| self.full_at.contains_key(*step))
            {
                return self.expect_sound("at the end");
            }
        }
        panic!("of {STEPS:?} only these met a full disk: {:?}", self.full_at);
    }

    /// Asks for something with so much room; if it was refused, asks again with enough.
    fn work_with(&mut self, stock: Stock, left: u64, kind: u64) {
        let requests = self.requests(kind);
        let (world, files) = (self.engine.world().clone(), self.files());
        self.room.leave(stock, left);
        let answered = self.engine.submit(&requests).map(drop);
        let when = format!("{left} {stock:?} left");
        if self.was_full(answered, &when) {
            self.expect_unchanged(&world, &files, &when);
            self.room.free();
            self.engine.submit(&requests).unwrap_or_else(|error| panic!("{when}: {error:?}"));
        } else {
            self.room.free();
        }
        self.done += u32::try_from(requests.len()).expect("a few");
        let found = examine(&self.folder).expect("a look");
        assert_eq!(found, [], "{when}");
    }

    /// Nothing of it was done, and nothing is left of it; also as who had it open sees it.
    fn expect_unchanged(&mut self, world: &World, files: &Snapshot, when: &str) {
        let differences = files.differences(&self.files());
        assert!(differences.is_empty(), "{when}: {differences:#?}");
        assert_eq!(examine(&self.folder).expect("a look"), [], "{when}");
        self.engine.look_around().unwrap_or_else(|error| panic!("{when}: {error:?}"));
        assert_eq!(self.engine.world(), world, "{when}");
    }

    /// Opens the folder as another process would.
    fn open_with(&mut self, stock: Stock, left: u64) {
        self.room.leave(stock, left);
        let opened = FileStore::open(&self.folder).map(drop);
        self.was_full(opened, "opening");
        self.room.free();
        self.expect_sound("after opening");
    }

    /// Comes to rest; now and then all of the index must be written for that.
    fn rest_with(&mut self, stock: Stock, left: u64) {
        if self.dice.below(2) == 0 {
            let _ = std::fs::remove_file(self.folder.root().join("journal/index"));
        }
        self.room.leave(stock, left);
        let rested = self.engine.rest();
        self.was_full(rested, "resting");
        self.room.free();
        self.engine.rest().expect("at rest");
        self.expect_sound("after resting");
    }

    /// With files that cannot grow, works until one should.
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

    fn requests(&mut self, kind: u64) -> Vec<Request> {
        let said = "x".repeat(1 + self.dice.below(400));
        let mut requests = vec![send(&progress(&self.task, "a", &said))];
        match kind % 5 {
            0 => requests.push(add("More work", Start::Ready)),
            1 => {
                self.take_on_another();
                requests.push(send(&completion(&self.task, "a", "blocked")));
            }
            2 => requests.push(Request::Message(b"AOF/1 {".to_vec())),
            _ => {}
        }
        requests
    }

    fn files(&self) -> Snapshot {
        let mut files = Snapshot::take(self.folder.root()).without("journal/");
        files.files.retain(|path, bytes| !path.starts_with("events/") || !bytes.is_empty());
        files
    }

    /// Says whether there was no room, and takes note of what for. Nothing else may go wrong.
    fn was_full(&mut self, done: Result<(), StoreError>, when: &str) -> bool {
        let path = match done {
            Ok(()) => return false,
            Err(StoreError::Full { path, .. }) => path,
            Err(error) => panic!("{when}: {error:?}"),
        };
        let path = path.strip_prefix(self.folder.root()).expect("a path in the folder");
        *self.full_at.entry(kind_of(path)).or_default() += 1;
        true
    }

    fn expect_sound(&mut self, when: &str) {
        self.engine.look_around().expect("a look around");
        let found = problems(&self.folder, self.engine.world(), Record::Whole);
        assert!(found.is_empty(), "{when}: {found:#?}");
    }
}

/// What must have met a full disk: a staged file, the journal, the record, the index, a folder.
const STEPS: [&str; 5] =
    ["journal/tmp", "journal/.wal", "events/.jsonl", "journal/index", "runs/TASK"];
/// How often at least it is gone from nothing left to enough left, so that files end at ever other bytes;
/// the disk has room for as many rounds.
const ROUNDS_MIN: u64 = 8;
const ROUNDS_MAX: u64 = 80;
/// So many blocks or files are enough for any request.
const LEFT_MAX: u64 = 12;

/// Names what there was no room for: the first two parts of its path, without numbers.
fn kind_of(path: &Path) -> String {
    let parts: Vec<String> =
        path.iter().take(2).map(|part| part.to_string_lossy().into_owned()).collect();
    parts.join("/").replace(|c: char| c.is_ascii_digit(), "").replace("--", "")
}
