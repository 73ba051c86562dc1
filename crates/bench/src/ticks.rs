//! A tick in a folder with many tasks, few of them ready.

use std::time::{Duration, Instant};

use adjutant_core::AgentId;
use adjutant_core::policy::{AgentPolicy, Policy, SchedulerPolicy};
use adjutant_runtime::{Engine, NobodyKnows, SystemClock};
use adjutant_store::FileStore;

use crate::folder::make_ready;
use crate::opening::{median, ms};
use crate::report::Report;

/// How many tasks are ready.
const READY: usize = 100;

/// Measures a tick that gives nothing out, because every slot is taken, and one that gives out.
pub(crate) fn measure(report: &mut Report, tasks: usize) {
    let folder = make_ready(tasks, READY);
    let (store, loaded) = FileStore::open(&folder.folder()).expect("it opens");
    let started = Engine::start(store, loaded, Box::new(SystemClock), policy());
    let mut engine = started.expect("it starts");
    engine.rest().expect("at rest");
    let floor = median(31, || one_sync(&folder.root()));
    let plan = median(31, || timed(|| drop(engine.tick_dry(&NobodyKnows).expect("a plan"))));
    let give = timed(|| {
        let ticked = engine.tick(&NobodyKnows).expect("a tick");
        assert_eq!(ticked.actions.len(), 8, "every slot is given");
    });
    let idle = median(31, || timed(|| drop(engine.tick(&NobodyKnows).expect("a tick"))));
    for (what, time) in [("planned", plan), ("that gives out 8", give), ("with no room", idle)] {
        let ratio = format!("{:.2}x", time.as_secs_f64() / floor.as_secs_f64());
        let what = format!("a tick {what}, {tasks} tasks, {READY} ready");
        report.add(&what, ms(time), format!("{} (one sync)", ms(floor)), ratio, "< 5 ms");
    }
}

fn policy() -> Policy {
    let agent = AgentPolicy { slots: 8, ..AgentPolicy::default() };
    let name = AgentId::parse("swe-backend").expect("a good name");
    let scheduler = SchedulerPolicy { concurrency: 8, ..SchedulerPolicy::default() };
    Policy { agents: [(name, agent)].into(), scheduler, ..Policy::default() }
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// Appends to a file and syncs it.
fn one_sync(root: &std::path::Path) -> Duration {
    use std::io::Write;
    let options = std::fs::OpenOptions::new().append(true).create(true).open(root.join("floor"));
    let mut file = options.expect("a file");
    timed(|| file.write_all(&[b'x'; 4096]).and_then(|()| file.sync_data()).expect("a sync"))
}
