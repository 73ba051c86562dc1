//! Pages of a project that has been at work for long: how long they take, and how much is sent.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use adjutant_core::event::{Happened, Manner};
use adjutant_core::{Actor, Event, EventId, Recorded, Status, TaskId, Time};
use adjutant_store::record::Chain;

use crate::caller::{Call, Caller, Place};
use crate::folder::Sized;
use crate::opening::{median, ms};
use crate::report::Report;

/// How long the log is that is looked at, in lines of 100 bytes: 100 MB.
const LOG_LINES: usize = 1_000_000;

/// How many events the record has for each task.
const EVENTS_A_TASK: u64 = 4;

/// What is in the last line of the log and in no other.
const NEEDLE: &str = "and that was all";

/// Lets a folder look as if agents had worked through it: a record, a folder of runs for each task,
/// and a long log for one of them. Returns that one.
pub(crate) fn age(folder: &Sized, now: Time) -> TaskId {
    let ids: Vec<TaskId> = folder.ids().collect();
    write_record(&folder.root(), &ids, now);
    for id in &ids {
        fs::create_dir_all(folder.root().join(format!("runs/{id}/attempts"))).expect("a folder");
    }
    let loud = ids.last().expect("a task").clone();
    let attempt = folder.root().join(format!("runs/{loud}/attempts/1"));
    fs::create_dir_all(&attempt).expect("a folder");
    write_log(&attempt.join("output.log"));
    loud
}

fn write_record(root: &Path, ids: &[TaskId], now: Time) {
    let ways = [Status::Backlog, Status::Ready, Status::InProgress, Status::Review, Status::Done];
    let (mut chain, mut number) = (Chain::default(), 0);
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
                manner: Manner::Ruled,
            };
            let happened = Happened { actor: Actor::Scheduler, task: Some(id.clone()), event };
            let recorded = Recorded { id: EventId(number), at: now, happened };
            for line in chain.extend(&[recorded]) {
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
pub(crate) fn measure(report: &mut Report, place: &Place, tasks: usize, loud: &TaskId) {
    let mut caller = Caller::new(place);
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
        let (call, mut size) = (Call::get(&path), 0);
        let took = median(rounds, || {
            let began = Instant::now();
            let (status, body) = caller.call_with(&call, more);
            let took = began.elapsed();
            assert!(status == 200 || status == 206, "{path}: {status}");
            size = body.len();
            took
        });
        let what = format!("page, {tasks} tasks: {name}");
        let value = format!("{}, {} kB", ms(took), size.div_ceil(1024));
        let target = if name == "that log, searched" || rounds == 1 { "" } else { "< 100 ms" };
        report.add(&what, value, String::new(), String::new(), target);
    }
}
