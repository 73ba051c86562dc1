//! The HTTP server under load: calls a second beside a bare handler of the same framework, while
//! many follow the record and agents work; and what that takes.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use adjutant_core::Status;
use adjutant_runtime::{Clock, SystemClock};
use axum::Json;
use axum::routing::{get, post};
use serde_json::{Value, json};

use crate::caller::{Call, Caller, Place, Rate, rate};
use crate::commands::adjutant;
use crate::daemon::Up;
use crate::folder::{Sized, fill};
use crate::followers::Followers;
use crate::opening::ms;
use crate::report::Report;
use crate::{mcp, pages};

/// How many follow the record.
const FOLLOWERS: usize = 200;

/// How many tasks are ready, for agents that work as long as anything is measured.
const READY: usize = 300;

/// How many tasks messages are posted about.
const TALKED_ABOUT: usize = 500;

/// How many tasks wait for a review.
const WAITING: usize = 1_000;

/// Agents that print a line every now and then for some seconds.
const CREW: &str = r#"
[scheduler]
concurrency = 8
[agents.swe-backend]
kind = "command"
command = ["sh", "-c", "for n in 1 2 3 4 5 6 7 8 9 10; do echo step $n; sleep 0.5; done"]
slots = 8
on_exit_ok = "done"
"#;

/// Measures a daemon on a folder of a size.
pub(crate) fn measure(report: &mut Report, tasks: usize, quick: bool) {
    let folder = fill(tasks, status);
    let loud = pages::age(&folder, SystemClock.now());
    fs::write(folder.root().join("adjutant.toml"), CREW).expect("a configuration");
    let (up, place) = start(&folder);
    load(report, &place, &folder, if quick { 2 } else { 8 });
    pages::measure(report, &place, tasks, &loud);
    let peak = up.kilobytes("VmHWM") / 1024;
    let what = format!("daemon under that load, {tasks} tasks: memory at most");
    report.add(&what, format!("{peak} MB"), String::new(), String::new(), "< 200 MB");
    mcp::measure(report, &folder, loud.as_str());
    drop(up);
    report.keep(folder.into_home());
}

fn status(number: usize) -> Status {
    match number {
        _ if number < READY => Status::Ready,
        _ if number < READY + TALKED_ABOUT => Status::Backlog,
        _ if number < READY + TALKED_ABOUT + WAITING => Status::Review,
        _ => Status::Done,
    }
}

fn start(folder: &Sized) -> (Up, Place) {
    let mut command = Command::new(adjutant());
    command.arg("--data").arg(folder.root()).args(["up", "--json", "--listen", "127.0.0.1:0"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("a daemon");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let url = lines.by_ref().map_while(Result::ok).find_map(|line| {
        let said: Value = serde_json::from_str(&line).ok()?;
        said["url"].as_str().map(str::to_owned)
    });
    thread::spawn(move || lines.for_each(drop));
    let token = fs::read_to_string(folder.root().join("operator-token")).expect("a token");
    let authority = url.expect("an address").trim_start_matches("http://").to_owned();
    (Up(child), Place { authority, token: token.trim().to_owned() })
}

/// Has callers read, list and post while others follow, each beside a server that does nothing.
fn load(report: &mut Report, place: &Place, folder: &Sized, secs: u64) {
    let (lasts, tasks) = (Duration::from_secs(secs), folder.tasks);
    let talked_about: Vec<String> =
        folder.ids().skip(READY).take(TALKED_ABOUT).map(|id| id.to_string()).collect();
    let read = format!("/v1/tasks/{}", talked_about[0]);
    let list = "/v1/tasks?status=backlog&limit=20";
    let mut first = Caller::new(place);
    let floor = bare([&read, list].map(|path| first.call(&Call::get(path)).1.len()));
    let followers = Followers::start(place, FOLLOWERS);
    let message = |caller: usize, number: usize| {
        status_update(&talked_about[(caller * 61 + number) % TALKED_ABOUT], number)
    };
    let reads = ["read a task", "list 20 of them"].into_iter().zip([&read, list]);
    for ((name, path), bare) in reads.zip(["/task", "/list"]) {
        let bare = rate(&floor, lasts, &|_, _| Call::get(bare));
        let own = rate(place, lasts, &|_, _| Call::get(path));
        row(report, &format!("HTTP, {tasks} tasks: {name}"), &own, &bare, "> 0.33");
    }
    let bare = rate(&floor, lasts, &|caller, n| Call::post("/post", message(caller, n)));
    let own = rate(place, lasts, &|caller, n| Call::post("/v1/messages", message(caller, n)));
    row(report, &format!("HTTP, {tasks} tasks: post a message, synced"), &own, &bare, "");
    let (events, wrong) = followers.end(place);
    let what = format!("{FOLLOWERS} who follow the record, {events} events: lost or doubled");
    report.add(&what, wrong.to_string(), String::new(), String::new(), "0");
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

fn row(report: &mut Report, what: &str, own: &Rate, bare: &Rate, target: &str) {
    let text = |rate: &Rate| format!("{:.0}/s, p99 {}", rate.a_second, ms(rate.p99));
    let ratio = format!("{:.2}", own.a_second / bare.a_second);
    report.add(what, text(own), format!("{} (bare axum)", text(bare)), ratio, target);
}

/// A server that does nothing but answer, with as much as the daemon answers with.
fn bare([short, long]: [usize; 2]) -> Place {
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
    Place { authority, token: String::new() }
}
