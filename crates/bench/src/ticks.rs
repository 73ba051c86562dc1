//! Measures a tick in a folder with many tasks, few of them ready.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use adjutant_engine::{Engine, EngineRequest, HeartbeatsOnly, Request};
use adjutant_model::policy::{AgentPolicy, OnExitOk, Policy, SchedulerPolicy};
use adjutant_model::run::RunExit;
use adjutant_model::{AgentId, Status};
use adjutant_process::clock::SystemClock;
use adjutant_store::FileStore;

use crate::bench_folder::make_ready_folder;
use crate::opening::{format_ms, median};
use crate::report::BenchReport;

const READY: usize = 100;

const SLOTS: u32 = 8;

const ROUNDS: usize = 11;

/// Measures a tick that assigns nothing because every slot is taken, and one that assigns runs.
pub(crate) fn measure(report: &mut BenchReport, tasks: usize) {
    let folder = make_ready_folder(tasks, READY + SLOTS as usize * (ROUNDS - 1));
    let (store, loaded) = FileStore::open(&folder.folder()).expect("it opens");
    let started = Engine::start(store, loaded, Box::new(SystemClock), policy());
    let mut engine = started.expect("it starts");
    engine.rest().expect("at rest");
    let sync = median(31, || time_sync(&folder.root()));
    let plan =
        median(31, || measure_time(|| drop(engine.tick_dry(&HeartbeatsOnly).expect("a plan"))));
    let (give, bare) = measure_assignment(&mut engine, &folder.root());
    let idle = median(31, || measure_time(|| drop(engine.tick(&HeartbeatsOnly).expect("a tick"))));
    let bare_text = "the same files, one sync";
    let rows = [
        ("planned", plan, sync, "one sync"),
        ("that gives out 8", give, bare, bare_text),
        ("with no room", idle, sync, "one sync"),
    ];
    for (what, time, floor, floor_text) in rows {
        let ratio = format!("{:.2}x", time.as_secs_f64() / floor.as_secs_f64());
        let what = format!("a tick {what}, {tasks} tasks, {READY} ready");
        report.add_row(
            &what,
            format_ms(time),
            format!("{} ({floor_text})", format_ms(floor)),
            ratio,
            "< 5 ms",
        );
    }
    drop(engine);
    report.keep_folder(folder.into_home());
}

/// Assigns runs repeatedly, each time right after its floor, and returns both durations: the load
/// of the machine changes from one moment to the next.
fn measure_assignment(engine: &mut Engine<FileStore>, root: &Path) -> (Duration, Duration) {
    let mut floors = Vec::new();
    let give = median(ROUNDS, || {
        end_all_runs(engine);
        floors.push(time_bare_files(&root.join(format!("floor-{}", floors.len()))));
        let mut actions = vec![];
        let took = measure_time(|| actions = engine.tick(&HeartbeatsOnly).expect("a tick").actions);
        assert_eq!(actions.len(), SLOTS as usize, "every slot is given");
        took
    });
    floors.sort_unstable();
    (give, floors[floors.len() / 2])
}

/// Does the least that assignment must do to files: for each run a folder with one file and a
/// replaced task file, and one journal sync for all.
fn time_bare_files(folder: &Path) -> Duration {
    fs::create_dir(folder).expect("a folder");
    let mut journal = File::create(folder.join("journal")).expect("a file");
    let task = |number: u32| folder.join(format!("{number}.md"));
    for number in 0..SLOTS {
        let mut file = File::create(task(number)).expect("a file");
        file.write_all(&[b'x'; 600]).and_then(|()| file.sync_all()).expect("room");
    }
    measure_time(|| {
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

/// Ends every run, so that all slots are free again.
fn end_all_runs(engine: &mut Engine<FileStore>) {
    let runs = engine.world().with_status(Status::InProgress);
    let ended = runs.filter_map(|task| {
        let (task, fence) = (task.id.clone(), task.lease()?.fence);
        Some(Request::RunExited {
            task,
            fence,
            exit: RunExit::Code(0),
            tail: String::new(),
            telemetry: Box::default(),
        })
    });
    let ended: Vec<EngineRequest> = ended.map(Into::into).collect();
    engine.submit(&ended).expect("they end");
}

fn policy() -> Policy {
    let (slots, on_exit_ok) = (SLOTS, OnExitOk::Done);
    let agent = AgentPolicy { slots, on_exit_ok, ..AgentPolicy::default() };
    let name = AgentId::parse("swe-backend").expect("a good name");
    let scheduler = SchedulerPolicy { concurrency: slots, ..SchedulerPolicy::default() };
    Policy { agents: [(name, agent)].into(), scheduler, ..Policy::default() }
}

fn measure_time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// Appends to a file, syncs it and returns the duration.
fn time_sync(root: &Path) -> Duration {
    let options = fs::OpenOptions::new().append(true).create(true).open(root.join("floor"));
    let mut file = options.expect("a file");
    measure_time(|| file.write_all(&[b'x'; 4096]).and_then(|()| file.sync_data()).expect("a sync"))
}
