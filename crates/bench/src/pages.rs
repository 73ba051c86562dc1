//! Measures pages of a project with a long history: how long they take and how much they send.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use adjutant_model::event::{NewEvent, TransitionCause};
use adjutant_model::{Actor, Event, EventId, RecordedEvent, Status, TaskId, Time};
use adjutant_store::event_log::EventChain;

use crate::bench_folder::BenchFolder;
use crate::http_caller::{BenchCall, HttpConnection, ServerEndpoint};
use crate::opening::{format_ms, median};
use crate::report::BenchReport;

/// The length of the agent log, in lines of 100 bytes: 100 MB.
const LOG_LINES: usize = 1_000_000;

const EVENTS_A_TASK: u64 = 4;

/// A text that only the last line of the log contains.
const NEEDLE: &str = "and that was all";

/// Gives a folder a history: an event log, a folder of runs for each task, and a long log for one
/// task. Returns that task.
pub(crate) fn add_history(folder: &BenchFolder, now: Time) -> TaskId {
    let ids: Vec<TaskId> = folder.ids().collect();
    write_event_log(&folder.root(), &ids, now);
    for id in &ids {
        fs::create_dir_all(folder.root().join(format!("runs/{id}/attempts"))).expect("a folder");
    }
    let loud = ids.last().expect("a task").clone();
    let attempt = folder.root().join(format!("runs/{loud}/attempts/1"));
    fs::create_dir_all(&attempt).expect("a folder");
    write_log(&attempt.join("output.log"));
    loud
}

fn write_event_log(root: &Path, ids: &[TaskId], now: Time) {
    let ways = [Status::Backlog, Status::Ready, Status::InProgress, Status::Review, Status::Done];
    let (mut chain, mut number) = (EventChain::default(), 0);
    let file = root.join(format!("events/{}.jsonl", now.day()));
    fs::create_dir_all(root.join("events")).expect("a folder");
    let mut file = BufWriter::new(File::create(file).expect("a record"));
    for id in ids {
        for step in ways.windows(2).take(usize::try_from(EVENTS_A_TASK).unwrap_or(0)) {
            number += 1;
            let event = Event::TaskTransitioned {
                from: step[0],
                to: step[1],
                reason: "as it went".to_owned(),
                manner: TransitionCause::Ruled,
            };
            let happened = NewEvent { actor: Actor::Scheduler, task: Some(id.clone()), event };
            let recorded =
                RecordedEvent { id: EventId(number), at: now, node: None, new_event: happened };
            for line in chain.append_events(&[recorded]) {
                writeln!(file, "{line}").expect("a line");
            }
        }
    }
    file.flush().expect("a record");
}

fn write_log(path: &Path) {
    let mut log = BufWriter::new(File::create(path).expect("a log"));
    let words = "what the agent printed, word for word, ".repeat(3);
    for number in 0..LOG_LINES {
        writeln!(log, "{number:>8} {}", &words[..90]).expect("a line");
    }
    writeln!(log, "{NEEDLE}").expect("a line");
    log.flush().expect("a log");
}

/// Measures pages one after the other, over one connection.
pub(crate) fn measure(
    report: &mut BenchReport,
    place: &ServerEndpoint,
    tasks: usize,
    loud: &TaskId,
) {
    let mut caller = HttpConnection::new(place);
    let needle = NEEDLE.replace(' ', "+");
    let end = "Range: bytes=-65536\r\n";
    for (name, path, more) in [
        ("board", "/".to_owned(), ""),
        ("column of those done", "/?status=done".to_owned(), ""),
        ("board, searched", format!("/?q=task+{}", tasks / 2), ""),
        ("task with a log of 100 MB", format!("/tasks/{loud}"), ""),
        ("that log, searched", format!("/tasks/{loud}?find={needle}"), ""),
        ("the end of that log", format!("/v1/tasks/{loud}/log?attempt=1"), end),
        ("inbox", "/inbox".to_owned(), ""),
        ("record", "/record".to_owned(), ""),
        ("record of a task", format!("/record?task={loud}"), ""),
        ("figures, first look", "/figures".to_owned(), ""),
        ("figures", "/figures".to_owned(), ""),
        ("tasks, as JSON", "/v1/tasks".to_owned(), ""),
    ] {
        let rounds = if name.ends_with("first look") { 1 } else { 11 };
        let (call, mut size) = (BenchCall::get(&path), 0);
        let took = median(rounds, || {
            let began = Instant::now();
            let (status, body) = caller.call_with(&call, more);
            let took = began.elapsed();
            assert!(status == 200 || status == 206, "{path}: {status}");
            size = body.len();
            took
        });
        let what = format!("page, {tasks} tasks: {name}");
        let value = format!("{}, {} kB", format_ms(took), size.div_ceil(1024));
        let target = if name == "that log, searched" || rounds == 1 { "" } else { "< 100 ms" };
        report.add_row(&what, value, String::new(), String::new(), target);
    }
}
