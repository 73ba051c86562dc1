//! Tests of `adjutant demo`.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::commands::support::{adjutant, document, run};

/// What the lines of the summary contain, in order.
const ENDS: [&str; 10] = [
    "12 tasks: 1 blocked, 10 done, 1 deadletter",
    " runs by 3 agents, ",
    "“Write the migrations”: its agent was killed with kill -9; done in attempt ",
    "“Load-test the users API”: its agent hung, and was stopped by the idle timeout; done in attempt ",
    "“Port the old importer”: its agent failed every time; given up after 3 attempts",
    "“Retire the old importer”: depends on that task, and is held back; blocked",
    "“Build the users API”: was reviewed and approved by a person; done",
    "“Test the users API”: was delegated by one agent to another; done",
    "“Add licence headers”: its agent asked a question and got an answer; done in attempt ",
    " events in the event log, each chained to the one before",
];

fn count(folder: &Path) -> usize {
    std::fs::read_dir(folder).expect("the folder can be read").count()
}

#[test]
fn demo_runs_to_end_and_removes_its_folder() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let ran = run(adjutant().arg("demo").env("TMPDIR", home.path()));
    assert_eq!((ran.code, &*ran.err), (0, ""), "{ran:?}");
    let (story, told) = ran.out.split_once("\nSummary, after ").expect("it is told at the end");
    let told: Vec<&str> = told.lines().skip(1).take(ENDS.len()).collect();
    for (line, end) in told.iter().zip(ENDS) {
        assert!(line.contains(end), "{line:?} tells {end:?}\n{}", ran.out);
    }
    for part in [
        "  swe-backend  delegates “Test the users API” to swe-qa",
        "  swe-qa       accepts “Test the users API”",
        "  you          approve the work",
        "  you          answer: Apache-2.0",
        "  you          kill -9 ",
        "failed: killed by signal 9",
        "failed: printed nothing for too long",
        "  scheduler    “Port the old importer” failed too often and was given up (deadletter)",
    ] {
        assert!(story.contains(part), "{part:?} in\n{story}");
    }
    assert!(!ran.out.contains('\u{1b}'), "no colour where there is no terminal");
    let hint = ran.out.lines().last().expect("a last line");
    let called = format!("`{} demo --keep` keeps the folder", env!("CARGO_BIN_EXE_adjutant"));
    assert!(hint.starts_with(&called), "what it says can be typed: {hint}");
    assert_eq!(count(home.path()), 0);
}

#[test]
fn demo_json_is_event_log_then_summary() {
    let mut command = adjutant();
    command.args(["demo", "--json"]).env("ADJUTANT_RUN_TOKEN", "inside-a-run");
    let ran = run(command.env("ADJUTANT_SCHEDULER_CONCURRENCY", "0"));
    assert_eq!((ran.code, &*ran.err), (0, ""), "{ran:?}");
    let mut lines: Vec<_> = ran.out.lines().map(document).collect();
    let last = lines.pop().expect("a summary");
    let numbers: Vec<u64> = lines.iter().filter_map(|line| line["eventId"].as_u64()).collect();
    let all: Vec<u64> = (1..=lines.len() as u64).collect();
    assert_eq!(numbers, all, "every event, in order");
    let summary = &last["summary"];
    assert_eq!((&summary["tasks"], &summary["events"]), (&json!(12), &json!(lines.len())));
    assert_eq!(summary["counts"], json!({"blocked": 1, "deadletter": 1, "done": 10}));
    let warnings = lines.iter().filter(|line| line["type"] == "protocol.message.warning");
    assert_eq!(warnings.count(), 0, "what a good agent leaves is there");
}

#[test]
fn demo_keep_leaves_folder_that_commands_can_read() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let ran = run(adjutant().args(["demo", "--keep"]).env("TMPDIR", home.path()));
    let kept = ran.out.lines().find_map(|line| line.strip_prefix("The folder is kept: "));
    let kept = kept.expect("it says where");
    let own = format!("Try: {} ", env!("CARGO_BIN_EXE_adjutant"));
    let commands: Vec<&str> =
        ran.out.lines().filter_map(|line| line.strip_prefix(own.as_str())).collect();
    assert_eq!(commands.len(), 5, "{}", ran.out);
    for command in commands {
        let ran = run(adjutant().args(command.split(' ')));
        assert!(ran.code == 0 && !ran.out.is_empty(), "{command}: {ran:?}");
    }
    let list = run(adjutant().args(["task", "list", "--data", kept]));
    assert_eq!((list.code, list.out.lines().count()), (0, 13), "{list:?}");
    let doctor = run(adjutant().args(["doctor", "--data", kept]));
    assert_eq!((doctor.code, &*doctor.out), (0, "no problems found\n"));
}

#[test]
fn demo_interrupted_prints_no_summary() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let mut command = adjutant();
    command.args(["demo", "--keep"]).env("TMPDIR", home.path());
    let mut demo =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut out = BufReader::new(demo.stdout.take().expect("an output"));
    let mut said = String::new();
    while !said.contains("starts “") {
        assert_ne!(out.read_line(&mut said).expect("it is read"), 0, "{said}");
    }
    kill_process(Pid::from_child(&demo), Signal::INT).expect("it is told");
    out.read_to_string(&mut said).expect("it is read");
    let ended = demo.wait_with_output().expect("it ends");
    let err = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{said}{err}");
    assert!(!said.contains("Summary"), "{said}");
    assert!(err.starts_with("error: cannot finish the demo\n"), "{err}");
    let (_, kept) = err.trim_end().rsplit_once("the folder is kept: ").expect("a hint");
    assert_eq!(run(adjutant().args(["task", "list", "--data", kept])).code, 0);
}
