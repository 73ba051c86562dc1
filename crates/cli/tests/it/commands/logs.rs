//! Tests of `adjutant logs`.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::Stdio;

use serde_json::json;

use crate::commands::support::{CliProject, LiveProcess, document, run};

const TALKS: &str = "\
attempts:
  1: [print: first, exit: 1]
steps: [print: second, complain: no oil, report: done]
";

#[test]
fn logs_shows_last_attempt_or_any_other() {
    let project = CliProject::with_script("swe", "", TALKS);
    let id = project.add(["one", "--status", "ready"]);
    assert_eq!(project.adjutant(["up", "--until-idle"]).code, 0);
    let log = project.does(["logs", &id]);
    assert!(log.contains("second\n") && log.contains("no oil\n"), "{log}");
    assert_eq!(project.does(["logs", &id, "--attempt", "1"]), "first\n");
    let line = project.json(["logs", &id, "--attempt", "1"]);
    assert_eq!(line, json!({"attempt": 1, "line": "first"}));
    let (code, error) = project.error(["logs", &id, "--attempt", "9"]);
    assert_eq!((code, &error["code"]), (1, &json!("no_log")), "{error}");
    assert_eq!(error["causes"], json!(["there is no log of attempt 9 on this machine"]));
}

#[test]
fn logs_of_task_that_never_ran_is_refused() {
    let project = CliProject::new();
    let id = project.add(["one"]);
    let ran = project.adjutant(["logs", &id, "--follow"]);
    let err = format!(
        "error: cannot show the log of {id}\n  \
         caused by: no agent has worked on it on this machine\n\
         hint: `adjutant why {id}` says why it does not start\n"
    );
    assert_eq!((ran.code, ran.err), (1, err));
    let (code, error) = project.error(["logs", "TASK-2026-02-09-999"]);
    assert_eq!((code, &error["code"]), (1, &json!("task_not_found")));
}

#[test]
fn logs_follow_ends_when_run_is_over() {
    let script = "steps: [print: begun, work: 500ms, print: going, work: 500ms, report: done]\n";
    let project = CliProject::with_script("swe", "", script);
    let id = project.add(["one", "--status", "ready"]);
    assert_eq!(project.adjutant(["tick"]).code, 0);
    let live = LiveProcess::start(&mut project.command(["logs", &id, "--follow", "--json"]));
    assert_eq!(live.next(), json!({"attempt": 1, "line": "begun"}));
    assert_eq!(live.next(), json!({"attempt": 1, "line": "going"}));
    let report = live.next()["line"].as_str().expect("text").to_owned();
    assert!(report.starts_with("AOF/1 "), "{report}");
    assert_eq!(live.finish(), Some(0));
    assert!(project.path(&format!("runs/{id}/attempts/1/exit.json")).is_file());
}

/// No shim supervises this run: the test writes its log, and the run counts as alive while the test
/// holds its lock.
#[test]
fn logs_follow_continues_across_rotation() {
    let project = CliProject::new();
    let id = project.add(["one"]);
    let at = |name: &str| format!("runs/{id}/attempts/1/{name}");
    project.write(&at("output.log.1"), "one\n");
    project.write(&at("output.log"), "two\nthr");
    project.write(&at("shim.json"), "spoilt");
    let lock = OpenOptions::new().create(true).append(true).open(project.path(&at("shim.lock")));
    let lock = lock.expect("a lock");
    lock.lock().expect("locked");
    let live = LiveProcess::start(&mut project.command(["logs", &id, "--follow", "--json"]));
    assert_eq!((&live.next()["line"], &live.next()["line"]), (&json!("one"), &json!("two")));
    std::fs::rename(project.path(&at("output.log")), project.path(&at("output.log.1")))
        .expect("put aside");
    let old = OpenOptions::new().append(true).open(project.path(&at("output.log.1")));
    old.expect("it is there").write_all(b"ee\n").expect("written");
    project.write(&at("output.log"), "four\nfi");
    assert_eq!((&live.next()["line"], &live.next()["line"]), (&json!("three"), &json!("four")));
    drop(lock);
    assert_eq!(live.next()["line"], "fi", "what has no end is shown at the end");
    assert_eq!(live.finish(), Some(0));
}

#[test]
fn logs_are_raw_bytes_in_pipe_and_valid_json_with_option() {
    let project = CliProject::new();
    let id = project.add(["one"]);
    let raw = b"\x1b[2Jred\tx\r\n\xff\xfe no newline";
    project.write(&format!("runs/{id}/attempts/1/output.log"), raw);
    let output = project.command(["logs", &id]).stdin(Stdio::null()).output().expect("it starts");
    assert_eq!(output.stdout, raw);
    let ran = run(&mut project.command(["logs", &id, "--json"]));
    let lines: Vec<_> = ran.out.lines().map(document).collect();
    assert_eq!(lines[0]["line"], "\u{1b}[2Jred\tx\r");
    assert_eq!(lines[1]["line"], "\u{fffd}\u{fffd} no newline");
}
