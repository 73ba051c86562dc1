//! Measures the HTTP server under load: calls per second beside a bare handler of the same
//! framework, while clients follow the event stream and agents work; and the memory that takes.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use adjutant_model::Status;
use adjutant_process::clock::{Clock, SystemClock};
use axum::Json;
use axum::routing::{get, post};
use serde_json::{Value, json};

use crate::bench_folder::{BenchFolder, fill_folder};
use crate::commands::adjutant_program;
use crate::daemon::BenchDaemon;
use crate::followers::StreamFollowers;
use crate::http_caller::{BenchCall, HttpConnection, MeasuredRate, ServerEndpoint, measure_rate};
use crate::opening::format_ms;
use crate::report::BenchReport;
use crate::{mcp, pages};

/// The number of clients that follow the event stream.
const FOLLOWERS: usize = 200;

/// The number of ready tasks; enough for agents to work as long as the measurements take.
const READY_TASKS: usize = 300;

/// The number of tasks that messages are posted about.
const MESSAGED_TASKS: usize = 500;

/// The number of tasks that wait for review.
const REVIEW_TASKS: usize = 1_000;

/// Agents that print a line every half second for five seconds.
const CHATTY_AGENTS: &str = r#"
[scheduler]
concurrency = 8
[agents.swe-backend]
kind = "command"
sandbox = "none"
command = ["sh", "-c", "for n in 1 2 3 4 5 6 7 8 9 10; do echo step $n; sleep 0.5; done"]
slots = 8
on_exit_ok = "done"
"#;

pub(crate) fn measure(report: &mut BenchReport, tasks: usize, quick: bool) {
    let folder = fill_folder(tasks, status_of_number);
    let loud = pages::add_history(&folder, SystemClock.now());
    fs::write(folder.root().join("adjutant.toml"), CHATTY_AGENTS).expect("a configuration");
    let (up, place) = start_daemon(&folder);
    measure_load(report, &place, &folder, if quick { 2 } else { 8 });
    pages::measure(report, &place, tasks, &loud);
    let peak = up.status_kilobytes("VmHWM") / 1024;
    let what = format!("daemon under that load, {tasks} tasks: memory at most");
    report.add_row(&what, format!("{peak} MB"), String::new(), String::new(), "< 200 MB");
    mcp::measure(report, &folder, loud.as_str());
    drop(up);
    report.keep_folder(folder.into_home());
}

fn status_of_number(number: usize) -> Status {
    match number {
        _ if number < READY_TASKS => Status::Ready,
        _ if number < READY_TASKS + MESSAGED_TASKS => Status::Backlog,
        _ if number < READY_TASKS + MESSAGED_TASKS + REVIEW_TASKS => Status::Review,
        _ => Status::Done,
    }
}

fn start_daemon(folder: &BenchFolder) -> (BenchDaemon, ServerEndpoint) {
    let mut command = Command::new(adjutant_program());
    command.arg("--data").arg(folder.root()).args(["up", "--json", "--listen", "127.0.0.1:0"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("a daemon");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let url = lines.by_ref().map_while(Result::ok).find_map(|line| {
        let started: Value = serde_json::from_str(&line).ok()?;
        started["url"].as_str().map(str::to_owned)
    });
    thread::spawn(move || lines.for_each(drop));
    let token = fs::read_to_string(folder.root().join("operator-token")).expect("a token");
    let authority = url.expect("an address").trim_start_matches("http://").to_owned();
    (BenchDaemon(child), ServerEndpoint { authority, token: token.trim().to_owned() })
}

/// Measures reads, lists and posts while others follow, each beside a server that does nothing.
fn measure_load(report: &mut BenchReport, place: &ServerEndpoint, folder: &BenchFolder, secs: u64) {
    let (lasts, tasks) = (Duration::from_secs(secs), folder.tasks);
    let talked_about: Vec<String> =
        folder.ids().skip(READY_TASKS).take(MESSAGED_TASKS).map(|id| id.to_string()).collect();
    let read = format!("/v1/tasks/{}", talked_about[0]);
    let list = "/v1/tasks?status=backlog&limit=20";
    let mut first = HttpConnection::new(place);
    let floor =
        start_bare_server([&read, list].map(|path| first.call(&BenchCall::get(path)).1.len()));
    let followers = StreamFollowers::start(place, FOLLOWERS);
    let message = |caller: usize, number: usize| {
        status_update(&talked_about[(caller * 61 + number) % MESSAGED_TASKS], number)
    };
    let reads = ["read a task", "list 20 of them"].into_iter().zip([&read, list]);
    for ((name, path), bare) in reads.zip(["/task", "/list"]) {
        let bare = measure_rate(&floor, lasts, &|_, _| BenchCall::get(bare));
        let own = measure_rate(place, lasts, &|_, _| BenchCall::get(path));
        add_row(report, &format!("HTTP, {tasks} tasks: {name}"), &own, &bare, "> 0.33");
    }
    let bare =
        measure_rate(&floor, lasts, &|caller, n| BenchCall::post("/post", message(caller, n)));
    let own = measure_rate(place, lasts, &|caller, n| {
        BenchCall::post("/v1/messages", message(caller, n))
    });
    add_row(report, &format!("HTTP, {tasks} tasks: post a message, synced"), &own, &bare, "");
    let (events, wrong) = followers.finish(place);
    let what = format!("{FOLLOWERS} who follow the record, {events} events: lost or doubled");
    report.add_row(&what, wrong.to_string(), String::new(), String::new(), "0");
}

fn status_update(id: &str, number: usize) -> String {
    json!({
        "protocol": "aof", "version": 1, "type": "status.update", "taskId": id,
        "fromAgent": "swe-backend", "toAgent": "dispatcher",
        "sentAt": "2026-02-09T21:10:00.000Z",
        "payload": {"taskId": id, "agentId": "swe-backend", "progress": format!("step {number}")},
    })
    .to_string()
}

fn add_row(
    report: &mut BenchReport,
    what: &str,
    own: &MeasuredRate,
    bare: &MeasuredRate,
    target: &str,
) {
    let text = |rate: &MeasuredRate| {
        format!("{:.0}/s, p99 {}", rate.calls_per_second, format_ms(rate.p99))
    };
    let ratio = format!("{:.2}", own.calls_per_second / bare.calls_per_second);
    report.add_row(what, text(own), format!("{} (bare axum)", text(bare)), ratio, target);
}

/// Starts a server that only answers, with as many bytes as the daemon's answers.
fn start_bare_server([short, long]: [usize; 2]) -> ServerEndpoint {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a socket");
    let authority = listener.local_addr().expect("an address").to_string();
    let text = |length: usize| json!({ "text": "x".repeat(length.saturating_sub(11)) });
    let (short, long) = (text(short), text(long));
    let posted = short.clone();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async move {
            let router = axum::Router::new()
                .route("/task", get(async move || Json(short.clone())))
                .route("/list", get(async move || Json(long.clone())))
                .route("/post", post(async move |_: String| Json(posted.clone())));
            let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
            axum::serve(listener, router).await.expect("it serves");
        });
    });
    ServerEndpoint { authority, token: String::new() }
}
