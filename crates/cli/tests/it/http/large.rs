//! A large project: what is sent and what is read for a page follows what is seen, not what there
//! is.

use std::fs;
use std::io::{BufWriter, Write};

use crate::http::stage::{Stage, Up};

/// How many tasks there are: most of them done, some to be looked at, some that nobody can do.
const TASKS: usize = 8_000;
const REVIEWS: usize = 2_000;
const READY: usize = 2_000;

/// The most that a page sends.
const SENT_MAX: usize = 256 << 10;
/// The most that is read from files for a page.
const READ_MAX: u64 = 1 << 20;

/// How long the logs are.
const LOG_BYTES: usize = 20 << 20;

fn id(number: usize) -> String {
    format!("TASK-2026-01-{:02}-{:03}", number / 900 + 1, number % 900 + 1)
}

fn make(stage: &Stage) {
    for number in 0..TASKS {
        let (id, status) = match number {
            _ if number < REVIEWS => (id(number), "review"),
            _ if number < REVIEWS + READY => (id(number), "ready"),
            _ => (id(number), "done"),
        };
        let text = format!(
            "---\nschemaVersion: 1\nid: {id}\ntitle: \"Task {number}: make it <b>work</b>\"\n\
             status: {status}\npriority: normal\ncreatedAt: 2026-02-09T20:00:00.000Z\n\
             updatedAt: 2026-02-09T20:00:00.000Z\nlastTransitionAt: 2026-02-09T20:00:00.000Z\n\
             createdBy: human:alice\nrouting:\n  agent: nobody\n---\n\nAs it says.\n"
        );
        fs::write(stage.path(&format!("tasks/{status}/{id}.md")), text).expect("written");
        if number % 4 == 0 {
            fs::create_dir_all(stage.path(&format!("runs/{id}/attempts"))).expect("a folder");
        }
    }
}

/// Writes a log of lines, with one that says something else at its end; or of one line.
fn write_log(stage: &Stage, task: &str, end: &str) {
    let folder = stage.path(&format!("runs/{task}/attempts/1"));
    fs::create_dir_all(&folder).expect("a folder");
    let mut log = BufWriter::new(fs::File::create(folder.join("output.log")).expect("a log"));
    let line = format!("{}{end}", "<what> & \"so\" on ".repeat(8));
    for _ in 0..LOG_BYTES / line.len() {
        log.write_all(line.as_bytes()).expect("written");
    }
    log.write_all(b"the needle").expect("written");
    log.flush().expect("written");
}

/// Asks for a page, and says how much was sent and read for it.
fn asked(up: &Up, path: &str) -> (String, usize, u64) {
    let before = up.bytes_read();
    let reply = up.get(path);
    assert_eq!(reply.status, 200, "{path}: {}", reply.text());
    (reply.text(), reply.body.len(), up.bytes_read() - before)
}

#[test]
fn a_page_sends_and_reads_what_is_seen_and_no_more() {
    let stage = Stage::new();
    make(&stage);
    let (lines, line) = (id(TASKS - 1), id(TASKS - 2));
    write_log(&stage, &lines, "\n");
    write_log(&stage, &line, "");
    let up = stage.up();
    // What is looked through once is looked through now.
    for path in ["/figures", "/inbox", &format!("/tasks/{lines}")] {
        up.get(path);
    }
    for path in [
        "/".to_owned(),
        "/?status=done".to_owned(),
        "/?status=review".to_owned(),
        "/?q=make".to_owned(),
        format!("/?q={}", TASKS - 1),
        "/inbox".to_owned(),
        "/inbox?page=7".to_owned(),
        "/record".to_owned(),
        format!("/record?task={lines}"),
        "/figures".to_owned(),
        "/agents".to_owned(),
        "/stories".to_owned(),
        format!("/tasks/{lines}"),
        format!("/tasks/{line}"),
        "/v1/tasks".to_owned(),
        "/v1/tasks?status=review&order=desc".to_owned(),
    ] {
        let (_, sent, read) = asked(&up, &path);
        assert!(sent <= SENT_MAX, "{path} sends {sent} bytes");
        assert!(read <= READ_MAX, "{path} reads {read} bytes");
    }
    let (shown, ..) = asked(&up, "/inbox");
    assert!(shown.contains("2,000 things wait for you"), "{shown}");
    let (shown, ..) = asked(&up, &format!("/?q={}", TASKS - 1));
    assert!(shown.contains(&lines), "what is looked for is found among all: {shown}");
    for task in [&lines, &line] {
        let (shown, sent, read) = asked(&up, &format!("/tasks/{task}?find=the+needle"));
        assert!(sent <= SENT_MAX, "{task} sends {sent} bytes");
        assert!(shown.contains("needle"), "{task}: {shown}");
        let whole = LOG_BYTES as u64 + READ_MAX;
        assert!(read <= whole, "a log is gone through once, and {read} bytes were read");
    }
}
