//! The record as it grows: every event once, for everybody who follows.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::http::stage::{Stage, Up};

/// Somebody who follows.
struct Follower {
    lines: BufReader<TcpStream>,
}

impl Follower {
    fn new(up: &Up, path: &str, headers: &str) -> Self {
        let mut stream = up.connect();
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
             Accept: text/event-stream\r\n{headers}\r\n",
            up.authority(),
            up.token
        );
        stream.write_all(head.as_bytes()).expect("it listens");
        let mut lines = BufReader::new(stream);
        let mut first = String::new();
        lines.read_line(&mut first).expect("an answer");
        assert!(first.contains("200"), "{first}");
        Self { lines }
    }

    /// Returns the next event: its id, and what it says.
    fn next(&mut self) -> (u64, Value) {
        let mut id = None;
        loop {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).expect("a line") > 0, "it goes on");
            // Chunks begin with their size in a line of its own.
            if let Some(number) = line.strip_prefix("id: ") {
                id = number.trim().parse().ok();
            }
            if let Some(data) = line.strip_prefix("data: ") {
                let event: Value = serde_json::from_str(data.trim()).expect("JSON");
                return (id.expect("an id comes first"), event);
            }
        }
    }

    fn ids(&mut self, count: usize) -> Vec<u64> {
        (0..count).map(|_| self.next().0).collect()
    }
}

#[test]
fn no_event_is_lost_or_doubled_whoever_follows_from_wherever() {
    let stage = Stage::new();
    for n in 0..20 {
        stage.add(&[&format!("Before {n}")]);
    }
    let up = stage.up();
    let mut from_start = Follower::new(&up, "/v1/events/stream?after=0", "");
    let mut from_ten = Follower::new(&up, "/v1/events", "Last-Event-ID: 10\r\n");
    let mut from_now = Follower::new(&up, "/v1/events/stream", "");
    std::thread::scope(|scope| {
        let add = |n: usize| {
            for m in 0..100 {
                let body = format!("{{\"title\": \"Task {n} {m}\"}}");
                assert_eq!(up.call("POST", "/v1/tasks", &body).status, 201);
            }
        };
        for n in 0..3 {
            scope.spawn(move || add(n));
        }
        scope.spawn(|| (0..20).for_each(|n| drop(stage.add(&[&format!("By command {n}")]))));
    });
    assert_eq!(from_start.ids(340), (1..=340).collect::<Vec<u64>>());
    assert_eq!(from_ten.ids(330), (11..=340).collect::<Vec<u64>>());
    assert_eq!(from_now.ids(320), (21..=340).collect::<Vec<u64>>());
    // Who was cut off comes back with the last number it heard.
    drop(from_start);
    stage.add(&["Meanwhile"]);
    let mut again = Follower::new(&up, "/v1/events/stream", "Last-Event-ID: 340\r\n");
    let (id, event) = again.next();
    assert_eq!((id, &event["payload"]["task"]["title"]), (341, &Value::from("Meanwhile")));
}

/// As many as are let in at once, while agents work: each hears everything, in order, and once.
#[test]
fn two_hundred_hear_every_event_once() {
    const FOLLOWERS: usize = 200;
    let crew = "[scheduler]\nconcurrency = 8\n[agents.swe]\nkind = \"command\"\nslots = 8\n\
                command = [\"true\"]\non_exit_ok = \"done\"\n";
    let stage = Stage::with(crew);
    let up = stage.up();
    let mut followers: Vec<Follower> =
        (0..FOLLOWERS).map(|_| Follower::new(&up, "/v1/events/stream?after=0", "")).collect();
    for n in 0..24 {
        let agent = if n % 3 == 0 { "swe" } else { "nobody" };
        let new =
            format!("{{\"title\": \"Task {n}\", \"status\": \"ready\", \"agent\": \"{agent}\"}}");
        let reply = up.call("POST", "/v1/tasks", &new);
        assert_eq!(reply.status, 201, "{reply:?}");
    }
    stage.wait_for("run.exited", 8);
    let last = stage.ok(&["events", "--json"]).lines().count();
    let expected: Vec<u64> = (1..=last as u64).collect();
    for follower in &mut followers {
        assert_eq!(follower.ids(last), expected);
    }
}

/// An event without data is none to a browser.
#[test]
fn a_page_is_told_of_a_change_so_that_a_browser_hears_it() {
    let stage = Stage::new();
    let up = stage.up();
    let mut page = Follower::new(&up, "/board/changes", "");
    stage.add(&["One"]);
    let mut lines = Vec::new();
    while lines.last().is_none_or(|line: &String| !line.starts_with("data: ")) {
        let mut line = String::new();
        assert!(page.lines.read_line(&mut line).expect("a line") > 0, "{lines:?}");
        lines.push(line);
    }
    assert!(lines.iter().any(|line| line == "event: changed\n"), "{lines:?}");
}

#[test]
fn who_reads_slowly_misses_nothing_and_holds_nobody_up() {
    let stage = Stage::new();
    let up = stage.up();
    let mut slow = Follower::new(&up, "/v1/events/stream?after=0", "");
    let mut of_kind = Follower::new(&up, "/v1/events/stream?after=0&type=task.transitioned", "");
    let body = "x".repeat(20_000);
    for n in 0..300 {
        let new = format!("{{\"title\": \"Task {n}\", \"body\": \"{body}\"}}");
        assert_eq!(up.call("POST", "/v1/tasks", &new).status, 201);
    }
    let first = stage.json(&["task", "list", "--limit", "1"])[0]["id"].clone();
    let id = first.as_str().expect("an id");
    up.call("POST", &format!("/v1/tasks/{id}/move"), r#"{"to": "ready"}"#);
    assert_eq!(of_kind.next().0, 301);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(slow.ids(301), (1..=301).collect::<Vec<u64>>());
}

#[test]
fn followers_are_let_go_when_the_daemon_leaves() {
    let stage = Stage::new();
    let up = stage.up();
    let mut follower = Follower::new(&up, "/v1/events/stream", "");
    stage.ok(&["down"]);
    let mut rest = Vec::new();
    let ended = std::io::Read::read_to_end(&mut follower.lines, &mut rest);
    assert!(ended.is_ok() || !rest.is_empty(), "{ended:?}");
}
