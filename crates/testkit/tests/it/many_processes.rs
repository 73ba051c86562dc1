//! Eight processes send to one folder at once (about a thousand messages for every change, ten
//! thousand and more in a soak), while the journal is cut repeatedly, more senders are killed
//! during a commit and a reader reads: nothing is lost, repeated or torn.
#![expect(clippy::print_stdout, reason = "how much was done is worth knowing")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use adjutant_core::World;
use adjutant_model::TaskId;
use adjutant_model::command::InitialStatus;
use adjutant_store::file::{DataFolder, EventFiles, read_world};
use adjutant_store::hash::ShortHash;
use adjutant_test_support::soak::cases;
use adjutant_testkit::ManualClock;
use adjutant_testkit::audit::{EventLogScope, find_problems};
use adjutant_testkit::crash_child::{NOW, open_engine, open_or_init_folder};
use adjutant_testkit::project::{add_request, task_id_of};
use adjutant_testkit::seeded_rng::SeededRng;
use adjutant_testkit::snapshot::fast_temp_folder;
use serde_json::Value;

const CHILD: &str = env!("CARGO_BIN_EXE_sender");

const SENDERS: usize = 8;
/// Messages of each sender for every change.
const MESSAGES_EACH: usize = 160;
/// The tasks that all senders write to.
const SHARED_TASKS: usize = 64;
/// Further senders that are killed on the way.
const KILLED_SENDERS: usize = 4;
/// Each is killed at a random write, rename or sync up to this number per message.
const DIE_AT_MAX_PER_MESSAGE: usize = 3;

fn messages_each() -> usize {
    let factor = usize::try_from(cases(1_u32)).expect("a small number");
    MESSAGES_EACH * factor
}

#[test]
fn eight_processes_lose_and_repeat_nothing() {
    let seed = SeededRng::seed_from_env();
    println!("ADJUTANT_SEED={seed}");
    let mut rng = SeededRng::from_seed(seed);
    let home = fast_temp_folder();
    let folder = open_or_init_folder(home.path());
    let tasks = make_shared_tasks(&folder);
    let mut start = |name| {
        let die_at =
            (name >= SENDERS).then(|| 100 + rng.below(DIE_AT_MAX_PER_MESSAGE * messages_each()));
        SenderChild::start(home.path(), name, &tasks, die_at)
    };
    let mut senders: Vec<SenderChild> = (0..SENDERS + KILLED_SENDERS).map(&mut start).collect();
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
    let engine = open_engine(&folder, &ManualClock::at(NOW));
    let found = find_problems(&folder, engine.world(), EventLogScope::Complete);
    assert!(found.is_empty(), "{found:#?}");
    let record = EventLogKeys::read(&folder);
    for sender in &senders {
        sender.check(&record);
    }
    check_work_logs(&folder, &record);
    let world = ShortHash::digest(format!("{:?}", engine.world()).as_bytes()).to_string();
    let killed = senders.split_off(SENDERS);
    for sender in senders {
        assert_eq!(sender.ask_world_hash(), world);
    }
    println!(
        "{} messages and {} of {KILLED_SENDERS} that were killed, {} events, the journal cut {} times, \
         {reads} reads",
        SENDERS * messages_each(),
        killed.iter().map(|sender| sender.answered.len()).sum::<usize>(),
        record.kinds.len(),
        last_journal(&folder) - 1,
    );
}

fn make_shared_tasks(folder: &DataFolder) -> Vec<String> {
    let mut engine = open_engine(folder, &ManualClock::at(NOW));
    let requests: Vec<_> =
        (0..SHARED_TASKS).map(|_| add_request("Shared", InitialStatus::Ready)).collect();
    let answers = engine.submit(&requests).expect("answers");
    engine.rest().expect("at rest");
    answers.iter().map(|answered| task_id_of(answered).to_string()).collect()
}

/// Reads the folder repeatedly without the lock: every task is there every time.
fn read_until(done: &AtomicBool, folder: &DataFolder, tasks: &[String]) -> u32 {
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

fn last_journal(folder: &DataFolder) -> u64 {
    let names = std::fs::read_dir(folder.root().join("journal")).expect("a journal");
    let names = names.map(|entry| entry.expect("an entry").file_name());
    let numbers = names.filter_map(|name| name.to_str()?.strip_suffix(".wal")?.parse().ok());
    numbers.max().expect("a file of the journal")
}

/// A sending child and everything it printed.
struct SenderChild {
    child: Child,
    to: ChildStdin,
    from: Lines<BufReader<ChildStdout>>,
    /// The events of each answered request.
    answered: BTreeMap<String, Vec<u64>>,
    /// The requests in progress when it was killed.
    trying: Vec<String>,
}

impl SenderChild {
    fn start(home: &Path, name: usize, tasks: &[String], die_at: Option<usize>) -> Self {
        let mut command = Command::new(CHILD);
        command.arg(home).args([name.to_string(), messages_each().to_string(), tasks.join(",")]);
        command.env("ADJUTANT_JOURNAL_BYTES_MAX", "400000");
        command.envs(die_at.map(|point| ("ADJUTANT_DIE_AT", point.to_string())));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a child");
        let to = child.stdin.take().expect("a way in");
        let from = BufReader::new(child.stdout.take().expect("a way out")).lines();
        Self { child, to, from, answered: BTreeMap::new(), trying: vec![] }
    }

    /// Lets it work until it is done or killed.
    fn work(&mut self) {
        writeln!(self.to, "go").expect("it listens");
        while let Some(line) = self.from.next() {
            match line.expect("a line").as_str() {
                "done" => return,
                line => self.parse_line(line),
            }
        }
        let died = self.child.wait().expect("it is dead");
        assert_eq!(died.signal(), Some(9), "it was killed, and did not fail");
    }

    fn parse_line(&mut self, line: &str) {
        let mut words = line.split(' ');
        match words.next() {
            Some("try") => self.trying = words.map(str::to_owned).collect(),
            Some("got") => {
                self.trying.clear();
                for (key, ids) in words.map(|word| word.split_once(':').expect("an answer")) {
                    let ids = ids.split(',').map(|id| id.parse().expect("an id")).collect();
                    assert!(self.answered.insert(key.to_owned(), ids).is_none(), "{key} twice");
                }
            }
            _ => panic!("{line:?}"),
        }
    }

    /// Every answered request is in the event log once, with the events of its answer; of a group
    /// without an answer, either all requests are or none.
    fn check(&self, record: &EventLogKeys) {
        for (key, ids) in self.answered.iter().filter(|(key, _)| !key.starts_with("bad-")) {
            let events = record.keys.get(key).unwrap_or_else(|| panic!("{key} is lost"));
            assert!(
                events.len() == 1 && ids.contains(&events[0]),
                "{key}: {events:?}, not {ids:?}"
            );
        }
        let bad = |ids: &Vec<u64>| ids.iter().all(|id| record.kinds[id] == REJECTED);
        assert!(
            self.answered
                .iter()
                .filter(|(key, _)| key.starts_with("bad-"))
                .all(|(_, ids)| bad(ids))
        );
        let trying = self.trying.iter().filter(|key| !key.starts_with("bad-"));
        let recorded: Vec<bool> = trying.map(|key| record.keys.contains_key(key)).collect();
        assert!(recorded.windows(2).all(|two| two[0] == two[1]), "half of {:?}", self.trying);
    }

    /// Asks for the hash of its current world.
    fn ask_world_hash(mut self) -> String {
        writeln!(self.to, "look").expect("it listens");
        let line = self.from.next().expect("an answer").expect("a line");
        assert!(self.child.wait().expect("it ends").success());
        line.strip_prefix("world ").expect("a world").to_owned()
    }
}

const REJECTED: &str = "protocol.message.rejected";

/// The event log, by the keys of the senders.
struct EventLogKeys {
    /// The numbers of the events that carry a key.
    keys: BTreeMap<String, Vec<u64>>,
    kinds: BTreeMap<u64, String>,
}

impl EventLogKeys {
    fn read(folder: &DataFolder) -> Self {
        let mut record = Self { keys: BTreeMap::new(), kinds: BTreeMap::new() };
        let mut files = EventFiles::open(folder.root());
        while let Some(line) = files.next_line().expect("the record can be read") {
            record.add_event(&serde_json::from_slice(&line.bytes).expect("an event"));
        }
        record
    }

    fn add_event(&mut self, event: &Value) {
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

/// Every line of every work log is there exactly once.
fn check_work_logs(folder: &DataFolder, record: &EventLogKeys) {
    let mut lines: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(folder.root().join("tasks/ready")).expect("tasks") {
        let path = entry.expect("an entry").path();
        let text = if path.is_file() {
            std::fs::read_to_string(path).expect("a task")
        } else {
            String::new()
        };
        let logged = text.lines().filter_map(|line| line.split_once("Progress: "));
        lines.extend(logged.map(|(_, text)| text.to_owned()));
    }
    lines.sort();
    let logged = record.keys.keys().filter(|key| key.starts_with("log-"));
    assert_eq!(lines, logged.cloned().collect::<Vec<String>>());
}
