//! Durable messages a second, from one sender and from many at once.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use adjutant_core::Policy;
use adjutant_core::{TaskId, Verdict};
use adjutant_runtime::{Asked, Client, Engine, Request, Service, SystemClock};
use adjutant_store::{FileStore, Store};

use crate::floor::{self, Trace};
use crate::folder::{self, Sized};
use crate::report::Report;

/// Measures messages into a small and a large folder, in turns, each against its floor.
pub(crate) fn measure(report: &mut Report, small: &Sized, large: &Sized, quick: bool) {
    let (few, many) = if quick { (100, 400) } else { (1_000, 4_000) };
    for (senders, messages) in [(1, few), (32, many)] {
        let mut rates = Vec::new();
        for sized in [small, large] {
            rates.push(one(report, sized, senders, messages));
        }
        let ratio = format!("{:.2}", rates[1] / rates[0]);
        let what = format!("{senders} senders: {} tasks to {}", large.tasks, small.tasks);
        report.add(
            &what,
            format!("{:.0}/s to {:.0}/s", rates[1], rates[0]),
            String::new(),
            ratio,
            ">= 0.90",
        );
    }
}

/// Takes the best of three rounds: the machine has other things to do.
fn one(report: &mut Report, sized: &Sized, senders: usize, messages: usize) -> f64 {
    let bare = folder::make(sized.tasks);
    let mut best = (0.0_f64, 0.0_f64);
    for _ in 0..3 {
        let (time, trace) = send(sized, senders, messages);
        let floor = floor::replay(&trace, &bare.root());
        let rate = |time: Duration| messages as f64 / time.as_secs_f64();
        best = (best.0.max(rate(time)), best.1.max(rate(floor)));
    }
    let what = format!("messages, {senders} at once, {} tasks", sized.tasks);
    let target = if senders > 1 { ">= 0.50" } else { "" };
    let floor = format!("{:.0}/s (same bytes, files, syncs)", best.1);
    report.add(&what, format!("{:.0}/s", best.0), floor, format!("{:.2}", best.0 / best.1), target);
    best.0
}

/// Sends messages into one engine, and returns how long it took and what it wrote.
fn send(sized: &Sized, senders: usize, messages: usize) -> (Duration, Trace) {
    let (store, loaded) = FileStore::open(&sized.folder()).expect("it opens");
    let started = Engine::start(store, loaded, Box::new(SystemClock), Policy::default());
    let mut engine = started.expect("it starts");
    engine.rest().expect("at rest");
    let before = Trace::start(&sized.root());
    let (took, service) = send_all(engine, &sized.working(), senders, messages);
    let trace = before.end();
    service.stop().expect("it stops");
    (took, trace)
}

/// Has as many senders send messages on these tasks into an engine, each when its last is answered,
/// and returns how long that took. One thread is enough for all of them, as it is for the floors.
pub(crate) fn send_all<S: Store + Send + 'static>(
    engine: Engine<S>,
    ids: &[TaskId],
    senders: usize,
    messages: usize,
) -> (Duration, Service) {
    let service = Service::start(engine);
    let client = service.client();
    let start = Instant::now();
    let mut waiting: VecDeque<Asked> = VecDeque::with_capacity(senders);
    for number in 0..messages {
        if waiting.len() == senders {
            waiting.pop_front().into_iter().for_each(hear);
        }
        waiting.push_back(send_one(&client, &ids[number % ids.len()], number));
    }
    waiting.into_iter().for_each(hear);
    (start.elapsed(), service)
}

fn send_one(client: &Client, id: &TaskId, number: usize) -> Asked {
    let message = format!(
        r#"{{"protocol":"aof","version":1,"type":"status.update","taskId":"{id}","fromAgent":"swe-backend","toAgent":"dispatcher","sentAt":"2026-02-09T21:10:00.000Z","payload":{{"taskId":"{id}","agentId":"swe-backend","progress":"Step {number} is done","notes":"Nothing unusual so far"}}}}"#
    );
    client.put(Request::Message(message.into_bytes())).expect("the engine runs")
}

fn hear(asked: Asked) {
    let answered = asked.wait().expect("an answer");
    assert_eq!(answered.answer.verdict, Verdict::Applied);
}
