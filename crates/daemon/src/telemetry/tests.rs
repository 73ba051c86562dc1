//! Golden files of the OTLP documents sent to a collector.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc;

use adjutant_model::event::EventSeverity;
use adjutant_model::run::{RunExit, RunPlace};
use adjutant_model::sandbox_level::SandboxLevel;
use adjutant_model::{Event, RecordedEvent};
use adjutant_test_support::assert_every_variant;
use adjutant_test_support::golden::GoldenFolder;
use adjutant_testkit::golden_samples::{agent, recorded, time};

use super::OtlpExporter;

/// Runs that succeeded and failed, an event of every severity, and one without a task.
fn events() -> Vec<RecordedEvent> {
    let (attempt, place) = (1, RunPlace::Here);
    let started = |fence| Event::RunStarted {
        nonce: None,
        agent: agent(),
        attempt,
        fence,
        expires_at: time(),
        place: place.clone(),
        sandbox: SandboxLevel::None,
    };
    let exited =
        |fence, exit| Event::RunExited { attempt, fence, exit, reason: "no such file".into() };
    let heartbeat = Event::RunHeartbeat { fence: 1, expires_at: time() };
    let failed =
        Event::RunFailed { attempt, fence: 2, reason: "exit code 1".into(), not_before: None };
    let all = [
        started(1),
        heartbeat,
        exited(1, RunExit::Code(0)),
        started(2),
        exited(2, RunExit::Code(1)),
        failed,
        Event::FolderAdopted { tasks: 1 },
    ];
    let levels = all.each_ref().map(Event::severity);
    assert_every_variant!(&levels, EventSeverity { Debug, Info, Warn });
    let mut events: Vec<RecordedEvent> =
        (1..).zip(all).map(|(number, event)| recorded(number, event)).collect();
    events.last_mut().expect("there are events").new_event.task = None;
    events
}

/// Acts as a collector: sends the path and body of each post to `posts`, until its
/// receiver is gone.
fn collect(listener: &TcpListener, posts: &mpsc::Sender<(String, String)>) {
    for connection in listener.incoming().flatten() {
        let mut reader = BufReader::new(connection);
        let (mut path, mut length) = (String::new(), 0);
        let mut line = String::new();
        while reader.read_line(&mut line).is_ok_and(|read| read > 0) && line.trim() != "" {
            if let Some(rest) = line.strip_prefix("POST ") {
                path = rest.split(' ').next().unwrap_or_default().to_owned();
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
            line.clear();
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).expect("a body");
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        reader.get_mut().write_all(answer).expect("it is answered");
        if posts.send((path, String::from_utf8(body).expect("text"))).is_err() {
            return;
        }
    }
}

#[test]
fn otlp_documents_match_golden_files() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let (posts, posted) = mpsc::channel();
    std::thread::spawn(move || collect(&listener, &posts));
    let exporter = OtlpExporter::start(&address, "0123-mark".into()).expect("an exporter");
    exporter.commit_callback()(&events());
    let mut golden = GoldenFolder::new("telemetry");
    let version = format!("\"{}\"", env!("CARGO_PKG_VERSION"));
    for _ in 0..2 {
        let (path, body) = posted.recv().expect("a post");
        let name = path.trim_start_matches("/v1/");
        golden.add(format!("{name}.json"), body.replace(&version, "\"<version>\"") + "\n");
    }
    golden.check();
}
