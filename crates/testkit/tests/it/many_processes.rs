//! Eight processes send to one folder at once (a thousand messages for every change, ten thousand
//! and more in a soak), while the journal is cut again and again, others are killed in the middle of a commit and somebody reads: nothing is
//! lost, doubled or torn.
#![expect(clippy::print_stdout, reason = "how much was done is worth knowing")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use adjutant_core::command::Start;
use adjutant_core::{TaskId, World};
use adjutant_store::file::{EventFiles, Folder, read_world};
use adjutant_store::hash::Hash;
use adjutant_test_support::soak::cases;
use adjutant_testkit::SetClock;
use adjutant_testkit::audit::{Record, problems};
use adjutant_testkit::dice::Dice;
use adjutant_testkit::hand::{NOW, folder, open};
use adjutant_testkit::project::{add, id_of};
use adjutant_testkit::snapshot::quick_folder;
use serde_json::Value;

const CHILD: &str = env!("CARGO_BIN_EXE_sender");

const SENDERS: usize = 8;
/// How many messages each of them sends for every change.
const MESSAGES_EACH: usize = 160;
/// The tasks they all write to.
const SHARED: usize = 64;
/// So many more are killed on the way.
const DOOMED: usize = 4;
/// Each is killed at some write, rename or sync before this one, by the messages it would send.
const DIE_AT_MAX_PER_MESSAGE: usize = 3;

fn messages_each() -> usize {
    let factor = usize::try_from(cases(1_u32)).expect("a small number");
    MESSAGES_EACH * factor
}

#[test]
fn eight_processes_lose_and_double_nothing() {
    let seed = Dice::seed();
    println!("ADJUTANT_SEED={seed}");
    let mut dice = Dice::from_seed(seed);
    let home = quick_folder();
    let folder = folder(home.path());
    let tasks = make_shared_tasks(&folder);
    let mut start = |name| {
        let die_at =
            (name >= SENDERS).then(|| 100 + dice.below(DIE_AT_MAX_PER_MESSAGE * messages_each()));
        Sender::start(home.path(), name, &tasks, die_at)
    };
    let mut senders: Vec<Sender> = (0..SENDERS + DOOMED).map(&mut start).collect();
    let done = AtomicBool::new(false);
    let reads = thread::scope(|scope| {
        let reader = scope.spawn(|| read_until(&done, &folder, &tasks));
        let running: Vec<_> =
            senders.iter_mut().map(|sender| scope.spawn(move || sender.work())).collect();
        for sender in running {
            sender.join().expect("a sender");
        }
        done.store(true, Ordering::SeqCst);
        reader.join().expect("a reader")
    });
    let engine = open(&folder, &SetClock::at(NOW));
    let found = problems(&folder, engine.world(), Record::Whole);
    assert!(found.is_empty(), "{found:#?}");
    let record = Told::read(&folder);
    for sender in &senders {
        sender.check(&record);
    }
    check_work_logs(&folder, &record);
    let world = Hash::of(format!("{:?}", engine.world()).as_bytes()).to_string();
    let killed = senders.split_off(SENDERS);
    for sender in senders {
        assert_eq!(sender.look(), world);
    }
    println!(
        "{} messages and {} of {DOOMED} that were killed, {} events, the journal cut {} times, \
         {reads} reads",
        SENDERS * messages_each(),
        killed.iter().map(|sender| sender.got.len()).sum::<usize>(),
        record.kinds.len(),
        last_journal(&folder) - 1,
    );
}

fn make_shared_tasks(folder: &Folder) -> Vec<String> {
    let mut engine = open(folder, &SetClock::at(NOW));
    let requests: Vec<_> = (0..SHARED).map(|_| add("Shared", Start::Ready)).collect();
    let answers = engine.submit(&requests).expect("answers");
    engine.rest().expect("at rest");
    answers.iter().map(|answered| id_of(answered).to_string()).collect()
}

/// Reads the folder again and again without the lock: every task is there every time.
fn read_until(done: &AtomicBool, folder: &Folder, tasks: &[String]) -> u32 {
    let ids: Vec<TaskId> = tasks.iter().map(|id| TaskId::parse(id).expect("an id")).collect();
    let mut before = World::default();
    let mut reads = 0;
    while !done.load(Ordering::SeqCst) {
        let world = read_world(folder).expect("a reader never fails");
        assert!(ids.iter().all(|id| world.task(id).is_some()), "a task was not seen");
        let missing = before.tasks().find(|task| world.task(&task.id).is_none());
        assert!(missing.is_none(), "{missing:?} was seen before and not now");
        before = world;
        reads += 1;
    }
    reads
}

fn last_journal(folder: &Folder) -> u64 {
    let names = std::fs::read_dir(folder.root().join("journal")).expect("a journal");
    let names = names.map(|entry| entry.expect("an entry").file_name());
    let numbers = names.filter_map(|name| name.to_str()?.strip_suffix(".wal")?.parse().ok());
    numbers.max().expect("a file of the journal")
}

/// A child that sends, and everything it said.
struct Sender {
    child: Child,
    to: ChildStdin,
    from: Lines<BufReader<ChildStdout>>,
    /// The events each request was answered with.
    got: BTreeMap<String, Vec<u64>>,
    /// What it was asking for when it was killed.
    trying: Vec<String>,
}

impl Sender {
    fn start(home: &Path, name: usize, tasks: &[String], die_at: Option<usize>) -> Self {
        let mut command = Command::new(CHILD);
        command.arg(home).args([name.to_string(), messages_each().to_string(), tasks.join(",")]);
        command.env("ADJUTANT_JOURNAL_BYTES_MAX", "400000");
        command.envs(die_at.map(|point| ("ADJUTANT_DIE_AT", point.to_string())));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a child");
        let to = child.stdin.take().expect("a way in");
        let from = BufReader::new(child.stdout.take().expect("a way out")).lines();
        Self { child, to, from, got: BTreeMap::new(), trying: vec![] }
    }

    /// Lets it work until it is done, or killed.
    fn work(&mut self) {
        writeln!(self.to, "go").expect("it listens");
        while let Some(line) = self.from.next() {
            match line.expect("a line").as_str() {
                "done" => return,
                line => self.take(line),
            }
        }
        let died = self.child.wait().expect("it is dead");
        assert_eq!(died.signal(), Some(9), "it was killed, and did not fail");
    }

    fn take(&mut self, line: &str) {
        let mut words = line.split(' ');
        match words.next() {
            Some("try") => self.trying = words.map(str::to_owned).collect(),
            Some("got") => {
                self.trying.clear();
                for (key, ids) in words.map(|word| word.split_once(':').expect("an answer")) {
                    let ids = ids.split(',').map(|id| id.parse().expect("an id")).collect();
                    assert!(self.got.insert(key.to_owned(), ids).is_none(), "{key} twice");
                }
            }
            _ => panic!("{line:?}"),
        }
    }

    /// Everything that was answered is told once, by the events that were named; of what was not
    /// answered, everything or nothing.
    fn check(&self, record: &Told) {
        for (key, ids) in self.got.iter().filter(|(key, _)| !key.starts_with("bad-")) {
            let told = record.keys.get(key).unwrap_or_else(|| panic!("{key} is lost"));
            assert!(told.len() == 1 && ids.contains(&told[0]), "{key}: {told:?}, not {ids:?}");
        }
        let bad = |ids: &Vec<u64>| ids.iter().all(|id| record.kinds[id] == REJECTED);
        assert!(
            self.got.iter().filter(|(key, _)| key.starts_with("bad-")).all(|(_, ids)| bad(ids))
        );
        let trying = self.trying.iter().filter(|key| !key.starts_with("bad-"));
        let told: Vec<bool> = trying.map(|key| record.keys.contains_key(key)).collect();
        assert!(told.windows(2).all(|two| two[0] == two[1]), "half of {:?}", self.trying);
    }

    /// Asks which world it sees now.
    fn look(mut self) -> String {
        writeln!(self.to, "look").expect("it listens");
        let line = self.from.next().expect("an answer").expect("a line");
        assert!(self.child.wait().expect("it ends").success());
        line.strip_prefix("world ").expect("a world").to_owned()
    }
}

const REJECTED: &str = "protocol.message.rejected";

/// The record, by what the senders put into it.
struct Told {
    /// The numbers of the events that carry a key.
    keys: BTreeMap<String, Vec<u64>>,
    kinds: BTreeMap<u64, String>,
}

impl Told {
    fn read(folder: &Folder) -> Self {
        let mut told = Self { keys: BTreeMap::new(), kinds: BTreeMap::new() };
        let mut files = EventFiles::open(folder.root());
        while let Some(line) = files.next_line().expect("the record can be read") {
            told.take(&serde_json::from_slice(&line.bytes).expect("an event"));
        }
        told
    }

    fn take(&mut self, event: &Value) {
        let id = event["eventId"].as_u64().expect("a number");
        let kind = event["type"].as_str().expect("a type");
        let payload = &event["payload"];
        let key = match kind {
            "task.created" => &payload["task"]["title"],
            "task.completed" => &payload["notes"],
            "task.logged" => &payload["progress"],
            _ => &Value::Null,
        };
        if let Some(key) = key.as_str() {
            self.keys.entry(key.to_owned()).or_default().push(id);
        }
        self.kinds.insert(id, kind.to_owned());
    }
}

/// Every line of every work log is there once, and nowhere else.
fn check_work_logs(folder: &Folder, record: &Told) {
    let mut lines: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(folder.root().join("tasks/ready")).expect("tasks") {
        let path = entry.expect("an entry").path();
        let text = if path.is_file() {
            std::fs::read_to_string(path).expect("a task")
        } else {
            String::new()
        };
        let logged = text.lines().filter_map(|line| line.split_once("Progress: "));
        lines.extend(logged.map(|(_, said)| said.to_owned()));
    }
    lines.sort();
    let told = record.keys.keys().filter(|key| key.starts_with("log-"));
    assert_eq!(lines, told.cloned().collect::<Vec<String>>());
}
