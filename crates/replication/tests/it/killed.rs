//! Kills and restarts servers one after another while several nodes commit: no answered commit is
//! lost, none is stored twice, and all folders are equal in the end.

#![expect(clippy::print_stdout, reason = "a random test says what it did")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use adjutant_engine::Engine;
use adjutant_model::Policy;
use adjutant_model::command::InitialStatus;
use adjutant_process::clock::SystemClock;
use adjutant_replication::nats::{CommitStream, FleetConnection, FleetOptions, NatsStore};
use adjutant_store::file::doctor::examine;
use adjutant_test_support::soak::cases;
use adjutant_testkit::cluster::NatsCluster;
use adjutant_testkit::fleet_keys::fleet_options;
use adjutant_testkit::nodes::{TestFleet, files_without_journal};
use adjutant_testkit::project::add_request;
use adjutant_testkit::seeded_rng::SeededRng;

const WRITERS: usize = 3;

/// How many commits are answered, at least, before the next server is killed.
const COMMITS_PER_KILL: usize = 25;

fn engine(nodes: &TestFleet<CommitStream>, node: usize) -> Engine<NatsStore> {
    let (replica, loaded) = nodes.open_replica(node).expect("the folder opens");
    Engine::start(replica, loaded, Box::new(SystemClock), Policy::default()).expect("it starts")
}

/// For each task title a writer asked for, whether it got an answer.
type WriterAnswers = BTreeMap<String, bool>;

/// What the writers and the thread that kills servers tell each other.
#[derive(Default)]
struct WriterControl {
    is_over: AtomicBool,
    /// How many commits were answered.
    answered: AtomicUsize,
}

impl WriterControl {
    /// Waits until more commits are answered, however slow the machine is.
    fn wait_for_commits(&self, count: usize) {
        let enough = self.answered.load(Ordering::SeqCst) + count;
        while self.answered.load(Ordering::SeqCst) < enough {
            thread::sleep(Duration::from_millis(10));
        }
    }
}

fn write(mut engine: Engine<NatsStore>, writer: usize, control: &WriterControl) -> WriterAnswers {
    let mut answers = WriterAnswers::new();
    while !control.is_over.load(Ordering::SeqCst) {
        let title = format!("Task {writer}.{}", answers.len());
        let answered = engine.submit_one(add_request(&title, InitialStatus::Ready)).is_ok();
        control.answered.fetch_add(usize::from(answered), Ordering::SeqCst);
        answers.insert(title, answered);
    }
    answers
}

#[test]
fn answered_commit_is_stored_once_when_servers_are_killed() {
    let seed = SeededRng::seed_from_env();
    println!("ADJUTANT_SEED={seed}");
    let mut dice = SeededRng::from_seed(seed);
    let mut cluster = NatsCluster::start();
    let address = cluster.address();
    let patience = Duration::from_mins(1);
    let options = FleetOptions { retry_timeout: patience, ..fleet_options(&address, "node-0") };
    let fleet = |options: &FleetOptions| {
        FleetConnection::connect(options).expect("the fleet can be reached")
    };
    let connected = options.clone();
    let nodes = TestFleet::new(WRITERS, move |_| CommitStream::new(&fleet(&connected)));
    let engines: Vec<_> = (0..WRITERS).map(|node| engine(&nodes, node)).collect();
    let control = WriterControl::default();
    let answers: Vec<WriterAnswers> = thread::scope(|scope| {
        let writers: Vec<_> = engines
            .into_iter()
            .enumerate()
            .map(|(writer, engine)| {
                scope.spawn({
                    let control = &control;
                    move || write(engine, writer, control)
                })
            })
            .collect();
        for _ in 0..cases(2_u32) {
            let server = dice.below(cluster.len());
            control.wait_for_commits(COMMITS_PER_KILL);
            cluster.kill_server(server);
            thread::sleep(Duration::from_millis(500 + 100 * dice.below(20) as u64));
            cluster.restart_server(server);
            // A server must be back before the next is killed: two of three are needed.
            thread::sleep(Duration::from_secs(3));
        }
        control.wait_for_commits(COMMITS_PER_KILL);
        control.is_over.store(true, Ordering::SeqCst);
        writers.into_iter().map(|writer| writer.join().expect("no writer panics")).collect()
    });
    check(&nodes, &answers);
}

fn check(nodes: &TestFleet<CommitStream>, answers: &[WriterAnswers]) {
    let mut engines: Vec<_> = (0..WRITERS).map(|node| engine(nodes, node)).collect();
    let mut there: BTreeMap<&str, u32> = BTreeMap::new();
    for task in engines[0].world().tasks() {
        *there.entry(&task.title).or_default() += 1;
    }
    let asked: usize = answers.iter().map(BTreeMap::len).sum();
    let answered = answers.iter().flatten().filter(|(_, answered)| **answered).count();
    println!("{asked} tasks asked for, {answered} answered, {} there", there.len());
    for (title, answered) in answers.iter().flatten() {
        let times = there.remove(title.as_str()).unwrap_or(0);
        let fits = if *answered { times == 1 } else { times <= 1 };
        assert!(fits, "{title} is there {times} times; answered: {answered}");
    }
    assert_eq!(there, BTreeMap::new(), "nobody asked for these");
    for engine in &mut engines {
        engine.check_all_files().expect("a look around");
    }
    drop(engines);
    let first = files_without_journal(nodes.folder(0));
    for node in 0..WRITERS {
        assert!(
            files_without_journal(nodes.folder(node)) == first,
            "node {node} has other files than node 0"
        );
        assert_eq!(examine(nodes.folder(node)).expect("a look"), [], "the record is whole");
    }
}
