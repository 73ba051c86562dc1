//! Measures durable messages per second, from one sender and from many at once.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use adjutant_engine::{Engine, EngineHandle, EngineRequest, EngineService, PendingAnswer};
use adjutant_model::{AnswerVerdict, Policy, TaskId};
use adjutant_process::clock::SystemClock;
use adjutant_store::{FileStore, Store};

use crate::bench_folder::{self, BenchFolder};
use crate::commit_floor::{self, CommitTrace};
use crate::report::BenchReport;

/// The rounds of which the median counts.
const POOL_ROUNDS: usize = 7;

/// Measures messages into a small and a large folder, alternating, each against its floor.
pub(crate) fn measure(
    report: &mut BenchReport,
    small: &BenchFolder,
    large: &BenchFolder,
    quick: bool,
) {
    let (few, many) = if quick { (100, 400) } else { (1_000, 4_000) };
    for (senders, messages) in [(1, few), (32, many)] {
        let mut rates = Vec::new();
        for sized in [small, large] {
            rates.push(measure_senders(report, sized, senders, messages));
        }
        let ratio = format!("{:.2}", rates[1] / rates[0]);
        let what = format!("{senders} senders: {} tasks to {}", large.tasks, small.tasks);
        report.add_row(
            &what,
            format!("{:.0}/s to {:.0}/s", rates[1], rates[0]),
            String::new(),
            ratio,
            ">= 0.90",
        );
    }
    measure_file_pool(report, small, many);
    measure_file_pool(report, large, many);
}

/// Takes the best of three rounds: the machine has other things to do.
fn measure_senders(
    report: &mut BenchReport,
    sized: &BenchFolder,
    senders: usize,
    messages: usize,
) -> f64 {
    let bare = bench_folder::make_folder(sized.tasks);
    let mut best = (0.0_f64, 0.0_f64);
    for _ in 0..3 {
        let (time, trace) = send_messages(sized, FilePoolUse::On, senders, messages);
        let floor = commit_floor::replay_trace(&trace, &bare.root());
        let rate = |time: Duration| messages as f64 / time.as_secs_f64();
        best = (best.0.max(rate(time)), best.1.max(rate(floor)));
    }
    let what = format!("messages, {senders} at once, {} tasks", sized.tasks);
    let target = if senders > 1 { ">= 0.50" } else { "" };
    let floor = format!("{:.0}/s (same bytes, files, syncs)", best.1);
    report.add_row(
        &what,
        format!("{:.0}/s", best.0),
        floor,
        format!("{:.2}", best.0 / best.1),
        target,
    );
    best.0
}

/// Whether the store reuses replaced files.
#[derive(Clone, Copy)]
enum FilePoolUse {
    On,
    Off,
}

/// Compares 32 senders with and without the pool of reused files, in alternating rounds.
fn measure_file_pool(report: &mut BenchReport, sized: &BenchFolder, messages: usize) {
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..POOL_ROUNDS {
        with.push(send_messages(sized, FilePoolUse::On, 32, messages).0);
        without.push(send_messages(sized, FilePoolUse::Off, 32, messages).0);
    }
    let rate = |times: &mut Vec<Duration>| {
        times.sort_unstable();
        messages as f64 / times[times.len() / 2].as_secs_f64()
    };
    let (with, without) = (rate(&mut with), rate(&mut without));
    report.add_row(
        &format!("32 at once, {} tasks: file pool on to off", sized.tasks),
        format!("{with:.0}/s to {without:.0}/s"),
        String::new(),
        format!("{:.2}", with / without),
        ">= 1.10",
    );
}

/// Sends messages into one engine; returns the duration and the commits it wrote.
fn send_messages(
    sized: &BenchFolder,
    pool: FilePoolUse,
    senders: usize,
    messages: usize,
) -> (Duration, CommitTrace) {
    let (mut store, loaded) = FileStore::open(&sized.folder()).expect("it opens");
    if matches!(pool, FilePoolUse::Off) {
        store.set_file_pool_capacity(0);
    }
    let started = Engine::start(store, loaded, Box::new(SystemClock), Policy::default());
    let mut engine = started.expect("it starts");
    engine.rest().expect("at rest");
    let before = CommitTrace::mark_journal(&sized.root());
    let (took, service) = send_all(engine, &sized.in_progress_ids(), senders, messages);
    let trace = before.read_trace();
    service.stop().expect("it stops");
    (took, trace)
}

/// Sends messages on these tasks into an engine and returns the duration. Each sender waits for its
/// last answer. One thread plays all senders, as it does for the floors.
pub(crate) fn send_all<S: Store + Send + 'static>(
    engine: Engine<S>,
    ids: &[TaskId],
    senders: usize,
    messages: usize,
) -> (Duration, EngineService) {
    let service = EngineService::start(engine);
    let client = service.handle();
    let start = Instant::now();
    let mut waiting: VecDeque<PendingAnswer> = VecDeque::with_capacity(senders);
    for number in 0..messages {
        if waiting.len() == senders {
            waiting.pop_front().into_iter().for_each(expect_applied);
        }
        waiting.push_back(send_one(&client, &ids[number % ids.len()], number));
    }
    waiting.into_iter().for_each(expect_applied);
    (start.elapsed(), service)
}

fn send_one(client: &EngineHandle, id: &TaskId, number: usize) -> PendingAnswer {
    let message = format!(
        r#"{{"protocol":"aof","version":1,"type":"status.update","taskId":"{id}","fromAgent":"swe-backend","toAgent":"dispatcher","sentAt":"2026-02-09T21:10:00.000Z","payload":{{"taskId":"{id}","agentId":"swe-backend","progress":"Step {number} is done","notes":"Nothing unusual so far"}}}}"#
    );
    client.submit(EngineRequest::message(message.into_bytes())).expect("the engine runs")
}

fn expect_applied(asked: PendingAnswer) {
    let answered = asked.wait().expect("an answer");
    assert_eq!(answered.answer.verdict, AnswerVerdict::Applied);
}
