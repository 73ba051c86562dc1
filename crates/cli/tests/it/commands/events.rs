//! Tests of `adjutant events`.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::json;

use crate::commands::support::{CliProject, LiveProcess, document, lines, progress, run};

/// Makes a project whose event log has six events on two tasks.
fn recorded() -> (CliProject, String, String) {
    let project = CliProject::new();
    let one = project.add(["one", "--agent", "swe", "--status", "ready"]);
    let two = project.add(["two"]);
    project.does(["task", "move", &one, "in-progress"]);
    project.send(progress(&one, "swe", "half way").to_string().as_bytes());
    project.error(["approve", &two]);
    (project, one, two)
}

fn ids(project: &CliProject, args: &[&str]) -> Vec<u64> {
    let ran = project.adjutant([&["events", "--json"], args].concat());
    assert_eq!((ran.code, &*ran.err), (0, ""), "{args:?}");
    ran.out.lines().map(|line| document(line)["eventId"].as_u64().expect("a number")).collect()
}

#[test]
fn events_json_prints_event_log_unchanged() {
    let (project, ..) = recorded();
    let ran = project.adjutant(["events", "--json"]);
    let files = std::fs::read_dir(project.path("events")).expect("a folder");
    let texts = files.map(|entry| std::fs::read_to_string(entry.expect("it reads").path()));
    assert_eq!(ran.out, texts.map(|text| text.expect("it is text")).collect::<String>());
}

#[test]
fn events_text_is_one_line_per_event() {
    let (project, ..) = recorded();
    let shown = project.masked_text(&project.does(["events"]));
    let today = project.events()[0]["timestamp"].as_str().expect("a time")[..10].to_owned();
    let lines: Vec<String> = shown
        .replace(&today, "<today>")
        .lines()
        .map(|line| {
            // Times to the second are not masked: rounded down, one may be earlier than the start
            // of the test.
            let (number, rest) = line.split_once("  <today> ").expect("a day");
            format!("{number}  {}", &rest[10..])
        })
        .collect();
    assert_eq!(
        lines,
        [
            "    1  task.created               TASK-<today>-001  human:alice  one",
            "    2  task.created               TASK-<today>-002  human:alice  two",
            "    3  task.transitioned          TASK-<today>-001  human:alice  ready → in-progress",
            "    4  protocol.message.received  TASK-<today>-001  swe  status.update",
            "    5  task.logged                TASK-<today>-001  swe  half way",
            "    6  command.refused            TASK-<today>-002  human:alice  \
             approve: invalid_transition",
        ]
    );
}

#[test]
fn events_are_filtered_by_task_type_time_and_number() {
    let (project, one, two) = recorded();
    let check = |args: &[&str], expected: &[u64]| {
        assert_eq!(ids(&project, args), expected, "{args:?}");
    };
    check(&[], &[1, 2, 3, 4, 5, 6]);
    check(&["--task", &one], &[1, 3, 4, 5]);
    check(&["--task", &two], &[2, 6]);
    check(&["--type", "task"], &[1, 2, 3, 5]);
    check(&["--type", "task.created"], &[1, 2]);
    check(&["--type", "task.creat"], &[]);
    check(&["--type", "protocol.message", "--type", "command"], &[4, 6]);
    check(&["--type", "task", "--task", &two], &[2]);
    check(&["--since", "4"], &[4, 5, 6]);
    check(&["--since", "1h"], &[1, 2, 3, 4, 5, 6]);
    check(&["--since", "0s"], &[]);
    check(&["--since", "2000-01-01T00:00:00Z"], &[1, 2, 3, 4, 5, 6]);
    check(&["--since", "2999-01-01T00:00:00Z"], &[]);
    check(&["--since", "yesterday"], &[1, 2, 3, 4, 5, 6]);
    check(&["--since", "2 hours ago"], &[1, 2, 3, 4, 5, 6]);
    check(&["--since", "2999-01-01"], &[]);
    check(&["--limit", "2"], &[5, 6]);
    check(&["--limit", "2", "--task", &one], &[4, 5]);
    check(&["--limit", "0"], &[]);
    check(&["--task", "TASK-2026-02-09-999"], &[]);
}

#[test]
fn events_follow_prints_new_events() {
    let (project, one, _) = recorded();
    let live =
        LiveProcess::start(&mut project.command(["events", "--follow", "--json", "--since", "5"]));
    let next = || live.next()["eventId"].clone();
    assert_eq!((next(), next()), (json!(5), json!(6)));
    for n in [7, 9] {
        project.send(progress(&one, "swe", "more").to_string().as_bytes());
        assert_eq!((next(), next()), (json!(n), json!(n + 1)));
    }
    live.end();
}

#[test]
fn output_reader_may_close_pipe_at_any_time() {
    let (project, one, _) = recorded();
    let many = lines((0..2000).map(|_| progress(&one, "swe", "x")));
    assert_eq!(project.send_lines(many.as_bytes()).0, 0);
    for args in [&["events"][..], &["events", "--json"], &["task", "list"], &["schema", "events"]] {
        let mut command = project.command(args);
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut reader = BufReader::new(child.stdout.take().expect("an output"));
        let mut line = String::new();
        reader.read_line(&mut line).expect("a line");
        drop(reader);
        let output = child.wait_with_output().expect("it ends");
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), &*err), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn events_of_other_programs_are_shown_as_far_as_readable() {
    let project = CliProject::new();
    project.write(
        "events/2026-01-01.jsonl",
        "{\"eventId\":1,\"type\":\"task.created\",\"actor\":\"\\u001b[31mred\",\
         \"timestamp\":\"2026-01-01T10:00:00.000Z\"}\nnot an event\n{\"eventId\":\"x\"}\n",
    );
    let ran = run(&mut project.command(["events"]));
    assert_eq!((ran.code, &*ran.err), (0, ""));
    assert_eq!(
        ran.out,
        "    1  2026-01-01 10:00:00  task.created                                    \
         \u{fffd}[31mred\n  \"x\"\n"
    );
}
