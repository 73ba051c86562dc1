//! A large project: the bytes sent and read for a page depend on what the page shows, not on the
//! size of the project.

use std::fs;
use std::io::{BufWriter, Write};

use crate::http::project::{HttpProject, ListeningDaemon};

/// The total number of tasks: most are done, some wait for review, some have no agent.
const TASKS: usize = 8_000;
const REVIEWS: usize = 2_000;
const READY: usize = 2_000;

const SENT_MAX: usize = 256 << 10;
const READ_MAX: u64 = 1 << 20;

const LOG_BYTES: usize = 20 << 20;

fn id(number: usize) -> String {
    format!("TASK-2026-01-{:02}-{:03}", number / 900 + 1, number % 900 + 1)
}

fn write_task_files(stage: &HttpProject) {
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

/// Writes a log of equal lines that ends with the needle; with an empty `end` it is a single line.
fn write_log(stage: &HttpProject, task: &str, end: &str) {
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

/// Requests a page, and returns it with the number of bytes sent and read.
fn request_page(up: &ListeningDaemon, path: &str) -> (String, usize, u64) {
    let before = up.bytes_read();
    let reply = up.get(path);
    assert_eq!(reply.status, 200, "{path}: {}", reply.text());
    (reply.text(), reply.body.len(), up.bytes_read() - before)
}

#[test]
fn large_project_page_sends_and_reads_bounded_bytes() {
    let stage = HttpProject::new();
    write_task_files(&stage);
    let (lines, line) = (id(TASKS - 1), id(TASKS - 2));
    write_log(&stage, &lines, "\n");
    write_log(&stage, &line, "");
    let up = stage.up();
    // Warms the caches: these pages scan everything on the first request.
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
        let (_, sent, read) = request_page(&up, &path);
        assert!(sent <= SENT_MAX, "{path} sends {sent} bytes");
        assert!(read <= READ_MAX, "{path} reads {read} bytes");
    }
    let (shown, ..) = request_page(&up, "/inbox");
    assert!(
        shown.contains("4,000 items need your decision"),
        "no agent can do the ready tasks: {shown}"
    );
    let (shown, ..) = request_page(&up, &format!("/?q={}", TASKS - 1));
    assert!(shown.contains(&lines), "what is looked for is found among all: {shown}");
    for task in [&lines, &line] {
        let (shown, sent, read) = request_page(&up, &format!("/tasks/{task}?find=the+needle"));
        assert!(sent <= SENT_MAX, "{task} sends {sent} bytes");
        assert!(shown.contains("needle"), "{task}: {shown}");
        let whole = LOG_BYTES as u64 + READ_MAX;
        assert!(read <= whole, "a log is gone through once, and {read} bytes were read");
    }
}
