//! The event stream: every follower gets every event exactly once.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::http::project::{HttpProject, ListeningDaemon};

/// A client of the event stream.
struct StreamFollower {
    lines: BufReader<TcpStream>,
}

impl StreamFollower {
    fn new(up: &ListeningDaemon, path: &str, headers: &str) -> Self {
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

    /// Returns the id and the data of the next event.
    fn next(&mut self) -> (u64, Value) {
        let mut id = None;
        loop {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).expect("a line") > 0, "it goes on");
            // In chunked encoding, lines with chunk sizes come in between.
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
fn event_stream_delivers_every_event_once_from_any_position() {
    let stage = HttpProject::new();
    for n in 0..20 {
        stage.add(&[&format!("Before {n}")]);
    }
    let up = stage.up();
    let mut from_start = StreamFollower::new(&up, "/v1/events/stream?after=0", "");
    let mut from_ten = StreamFollower::new(&up, "/v1/events", "Last-Event-ID: 10\r\n");
    let mut from_now = StreamFollower::new(&up, "/v1/events/stream", "");
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
    // A disconnected follower resumes after the last id it received.
    drop(from_start);
    stage.add(&["Meanwhile"]);
    let mut again = StreamFollower::new(&up, "/v1/events/stream", "Last-Event-ID: 340\r\n");
    let (id, event) = again.next();
    assert_eq!((id, &event["payload"]["task"]["title"]), (341, &Value::from("Meanwhile")));
}

/// 200 concurrent followers while agents work: each gets every event in order and once.
#[test]
fn event_stream_serves_two_hundred_followers() {
    const FOLLOWERS: usize = 200;
    let crew = "[scheduler]\nconcurrency = 8\n[agents.swe]\nkind = \"command\"\nslots = 8\n\
                command = [\"true\"]\non_exit_ok = \"done\"\n";
    let stage = HttpProject::with_settings(crew);
    let up = stage.up();
    let mut followers: Vec<StreamFollower> =
        (0..FOLLOWERS).map(|_| StreamFollower::new(&up, "/v1/events/stream?after=0", "")).collect();
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

/// Browsers ignore a server-sent event without data.
#[test]
fn board_change_event_carries_data_for_browsers() {
    let stage = HttpProject::new();
    let up = stage.up();
    let mut page = StreamFollower::new(&up, "/board/changes", "");
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
fn slow_stream_follower_misses_nothing_and_delays_no_one() {
    let stage = HttpProject::new();
    let up = stage.up();
    let mut slow = StreamFollower::new(&up, "/v1/events/stream?after=0", "");
    let mut of_kind =
        StreamFollower::new(&up, "/v1/events/stream?after=0&type=task.transitioned", "");
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
fn event_stream_ends_when_daemon_stops() {
    let stage = HttpProject::new();
    let up = stage.up();
    let mut follower = StreamFollower::new(&up, "/v1/events/stream", "");
    stage.ok(&["down"]);
    let mut rest = Vec::new();
    let ended = std::io::Read::read_to_end(&mut follower.lines, &mut rest);
    assert!(ended.is_ok() || !rest.is_empty(), "{ended:?}");
}
