//! A tick in a folder with many tasks, few of them ready.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use adjutant_core::policy::{AgentPolicy, OnExitOk, Policy, SchedulerPolicy};
use adjutant_core::run::Exit;
use adjutant_core::{AgentId, Status};
use adjutant_runtime::{Engine, NobodyKnows, Request, SystemClock};
use adjutant_store::FileStore;

use crate::folder::make_ready;
use crate::opening::{median, ms};
use crate::report::Report;

/// How many tasks are ready.
const READY: usize = 100;

/// How many are given out at once.
const SLOTS: u32 = 8;

/// How often something is given out.
const ROUNDS: usize = 11;

/// Measures a tick that gives nothing out, because every slot is taken, and one that gives out.
pub(crate) fn measure(report: &mut Report, tasks: usize) {
    let folder = make_ready(tasks, READY + SLOTS as usize * (ROUNDS - 1));
    let (store, loaded) = FileStore::open(&folder.folder()).expect("it opens");
    let started = Engine::start(store, loaded, Box::new(SystemClock), policy());
    let mut engine = started.expect("it starts");
    engine.rest().expect("at rest");
    let sync = median(31, || one_sync(&folder.root()));
    let plan = median(31, || timed(|| drop(engine.tick_dry(&NobodyKnows).expect("a plan"))));
    let (give, bare) = give(&mut engine, &folder.root());
    let idle = median(31, || timed(|| drop(engine.tick(&NobodyKnows).expect("a tick"))));
    let bare_text = "the same files, one sync";
    let rows = [
        ("planned", plan, sync, "one sync"),
        ("that gives out 8", give, bare, bare_text),
        ("with no room", idle, sync, "one sync"),
    ];
    for (what, time, floor, floor_text) in rows {
        let ratio = format!("{:.2}x", time.as_secs_f64() / floor.as_secs_f64());
        let what = format!("a tick {what}, {tasks} tasks, {READY} ready");
        report.add(&what, ms(time), format!("{} ({floor_text})", ms(floor)), ratio, "< 5 ms");
    }
    drop(engine);
    report.keep(folder.into_home());
}

/// Gives out again and again, each time right after the floor was measured, and returns both: what
/// else the machine does changes from one moment to the next.
fn give(engine: &mut Engine<FileStore>, root: &Path) -> (Duration, Duration) {
    let mut floors = Vec::new();
    let give = median(ROUNDS, || {
        end_all(engine);
        floors.push(bare(&root.join(format!("floor-{}", floors.len()))));
        let mut actions = vec![];
        let took = timed(|| actions = engine.tick(&NobodyKnows).expect("a tick").actions);
        assert_eq!(actions.len(), SLOTS as usize, "every slot is given");
        took
    });
    floors.sort_unstable();
    (give, floors[floors.len() / 2])
}

/// Does to files what giving out must do at the least: for each run a folder with a paper in it
/// and a task's file replaced, and one sync of a journal for all.
fn bare(folder: &Path) -> Duration {
    fs::create_dir(folder).expect("a folder");
    let mut journal = File::create(folder.join("journal")).expect("a file");
    let task = |number: u32| folder.join(format!("{number}.md"));
    for number in 0..SLOTS {
        let mut file = File::create(task(number)).expect("a file");
        file.write_all(&[b'x'; 600]).and_then(|()| file.sync_all()).expect("room");
    }
    timed(|| {
        for number in 0..SLOTS {
            let runs = folder.join(number.to_string());
            fs::create_dir(&runs).expect("a folder");
            fs::write(runs.join("run.json"), [b'x'; 300]).expect("room");
            fs::write(folder.join("staged"), [b'x'; 700]).expect("room");
            fs::rename(folder.join("staged"), task(number)).expect("there");
        }
        journal.write_all(&[b'x'; 16 << 10]).and_then(|()| journal.sync_data()).expect("a sync");
    })
}

/// Ends every run there is, so that there is room again.
fn end_all(engine: &mut Engine<FileStore>) {
    let runs = engine.world().with_status(Status::InProgress);
    let ended = runs.filter_map(|task| {
        let (task, fence) = (task.id.clone(), task.lease()?.fence);
        Some(Request::RunExited {
            task,
            fence,
            exit: Exit::Code(0),
            tail: String::new(),
            told: Box::default(),
        })
    });
    let ended: Vec<Request> = ended.collect();
    engine.submit(&ended).expect("they end");
}

fn policy() -> Policy {
    let (slots, on_exit_ok) = (SLOTS, OnExitOk::Done);
    let agent = AgentPolicy { slots, on_exit_ok, ..AgentPolicy::default() };
    let name = AgentId::parse("swe-backend").expect("a good name");
    let scheduler = SchedulerPolicy { concurrency: slots, ..SchedulerPolicy::default() };
    Policy { agents: [(name, agent)].into(), scheduler, ..Policy::default() }
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// Appends to a file and syncs it.
fn one_sync(root: &Path) -> Duration {
    let options = fs::OpenOptions::new().append(true).create(true).open(root.join("floor"));
    let mut file = options.expect("a file");
    timed(|| file.write_all(&[b'x'; 4096]).and_then(|()| file.sync_data()).expect("a sync"))
}
