//! Servers are killed and come back, one after the other, while several nodes commit: nothing that
//! was answered is lost, nothing is there twice, and every folder is the same in the end.

#![expect(clippy::print_stdout, reason = "a random test says what it did")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use adjutant_core::Policy;
use adjutant_core::command::Start;
use adjutant_runtime::{Engine, SystemClock};
use adjutant_store::file::doctor::examine;
use adjutant_store_nats::{Commits, Fleet, NatsStore, Options};
use adjutant_test_support::soak::cases;
use adjutant_testkit::cluster::Cluster;
use adjutant_testkit::dice::Dice;
use adjutant_testkit::nodes::{Nodes, files};
use adjutant_testkit::project::add;

const WRITERS: usize = 3;

fn engine(nodes: &Nodes<Commits>, node: usize) -> Engine<NatsStore> {
    let (mirror, loaded) = nodes.mirror(node).expect("the folder opens");
    Engine::start(mirror, loaded, Box::new(SystemClock), Policy::default()).expect("it starts")
}

/// What a writer was told of each task it asked for: whether it was answered.
type Told = BTreeMap<String, bool>;

fn write(mut engine: Engine<NatsStore>, writer: usize, over: &AtomicBool) -> Told {
    let mut told = Told::new();
    while !over.load(Ordering::SeqCst) {
        let title = format!("Task {writer}.{}", told.len());
        let answered = engine.submit_one(add(&title, Start::Ready)).is_ok();
        told.insert(title, answered);
    }
    told
}

#[test]
fn what_was_answered_is_there_once_however_servers_die() {
    let seed = Dice::seed();
    println!("ADJUTANT_SEED={seed}");
    let mut dice = Dice::from_seed(seed);
    let mut cluster = Cluster::start();
    let address = cluster.address();
    let patience = Duration::from_mins(1);
    let options = Options { patience, ..Options::parse(&address).expect("a good address") };
    let fleet = |options: &Options| Fleet::connect(options).expect("the fleet can be reached");
    let connected = options.clone();
    let nodes = Nodes::new(WRITERS, move |_| Commits::new(&fleet(&connected)));
    let engines: Vec<_> = (0..WRITERS).map(|node| engine(&nodes, node)).collect();
    let over = AtomicBool::new(false);
    let told: Vec<Told> = thread::scope(|scope| {
        let writers: Vec<_> = engines
            .into_iter()
            .enumerate()
            .map(|(writer, engine)| {
                scope.spawn({
                    let over = &over;
                    move || write(engine, writer, over)
                })
            })
            .collect();
        for _ in 0..cases(2_u32) {
            let server = dice.below(cluster.len());
            thread::sleep(Duration::from_millis(500));
            cluster.kill(server);
            thread::sleep(Duration::from_millis(500 + 100 * dice.below(20) as u64));
            cluster.revive(server);
            // It must have come back before another goes: two of three are needed.
            thread::sleep(Duration::from_secs(3));
        }
        over.store(true, Ordering::SeqCst);
        writers.into_iter().map(|writer| writer.join().expect("no writer panics")).collect()
    });
    check(&nodes, &told);
}

fn check(nodes: &Nodes<Commits>, told: &[Told]) {
    let mut engines: Vec<_> = (0..WRITERS).map(|node| engine(nodes, node)).collect();
    let mut there: BTreeMap<&str, u32> = BTreeMap::new();
    for task in engines[0].world().tasks() {
        *there.entry(&task.title).or_default() += 1;
    }
    let asked: usize = told.iter().map(BTreeMap::len).sum();
    let answered = told.iter().flatten().filter(|(_, answered)| **answered).count();
    println!("{asked} tasks asked for, {answered} answered, {} there", there.len());
    assert!(answered > 50, "the servers took something: {answered}");
    for (title, answered) in told.iter().flatten() {
        let times = there.remove(title.as_str()).unwrap_or(0);
        let fits = if *answered { times == 1 } else { times <= 1 };
        assert!(fits, "{title} is there {times} times; answered: {answered}");
    }
    assert_eq!(there, BTreeMap::new(), "nobody asked for these");
    for engine in &mut engines {
        engine.look_around().expect("a look around");
    }
    drop(engines);
    let first = files(nodes.folder(0));
    for node in 0..WRITERS {
        assert!(files(nodes.folder(node)) == first, "node {node} has other files than node 0");
        assert_eq!(examine(nodes.folder(node)).expect("a look"), [], "the record is whole");
    }
}
