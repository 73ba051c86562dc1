//! Tests of `adjutant send`.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::commands::support::{
    CliOutput, CliProject, LiveProcess, completion, document, lines, progress, run_with,
};

/// Makes a project with a task in progress.
fn working() -> (CliProject, String) {
    let project = CliProject::new();
    let id = project.add(["one", "--agent", "swe", "--status", "ready"]);
    project.does(["task", "move", &id, "in-progress"]);
    (project, id)
}

fn results(answers: &[Value]) -> Vec<&str> {
    answers.iter().map(|answer| answer["result"].as_str().expect("a result")).collect()
}

#[test]
fn send_reads_file_dash_or_standard_input() {
    let (project, id) = working();
    let message = progress(&id, "swe", "half way").to_string();
    std::fs::write(project.home().join("message.json"), &message).expect("a file");
    let said = format!("applied {id} (in-progress)\n");
    assert_eq!(project.does(["send", "message.json"]), said);
    for args in [&["send"][..], &["send", "-"]] {
        let ran = run_with(&mut project.command(args), message.as_bytes());
        assert_eq!(ran, CliOutput { code: 0, out: said.clone(), err: String::new() }, "{args:?}");
    }
    let ran = project.adjutant(["send", "missing.json"]);
    let err =
        "error: cannot read missing.json\n  caused by: No such file or directory (os error 2)\n";
    assert_eq!(ran, CliOutput { code: 3, out: String::new(), err: err.into() });
}

#[test]
fn send_prints_text_and_exit_code_for_every_result() {
    let (project, id) = working();
    let check = |message: &str, code: i32, out: String| {
        let ran = run_with(&mut project.command(["send"]), message.as_bytes());
        assert_eq!(ran, CliOutput { code, out, err: String::new() }, "{message}");
    };
    let say = |from: &str| progress(&id, from, "half way").to_string();
    check(&say("swe"), 0, format!("applied {id} (in-progress)\n"));
    check("Hello, I am done.", 0, "ignored\n".into());
    check(
        &say("eve"),
        1,
        format!(
            "rejected {id} (in-progress) unauthorized_agent: The sender may not send \
             messages about this task.\n"
        ),
    );
    let mut wrong = completion(&id, "swe", "finished");
    wrong["payload"]["notes"] = Value::Null;
    check(
        &wrong.to_string(),
        1,
        format!(
            "rejected {id} (in-progress) invalid_envelope: The message does not match its \
             schema; the errors list every problem.\n  \
             payload.outcome: must be one of: done, blocked, needs_review, partial\n  \
             payload.notes: must be text, not null\n"
        ),
    );
    let mut unknown = progress(&id, "swe", "x");
    unknown["type"] = "coffee.break".into();
    let ran = run_with(&mut project.command(["send"]), unknown.to_string().as_bytes());
    assert_eq!(ran.code, 1);
    let words = "unknown_type: The type of the message is unknown.\n";
    assert!(ran.out.starts_with("unknown ") && ran.out.ends_with(words), "{ran:?}");
    project.does(["task", "cancel", &id]);
    check(
        &completion(&id, "swe", "done").to_string(),
        0,
        format!("noop {id} (cancelled) task_closed: The task is done or cancelled.\n"),
    );
}

#[test]
fn send_lines_answers_every_line_in_order() {
    let (project, id) = working();
    let good = progress(&id, "swe", "half way").to_string();
    let too_long = format!("AOF/1 {}", "x".repeat(1 << 20));
    let lines = [
        good.as_bytes(),
        b"",
        b"   ",
        b"just talk",
        too_long.as_bytes(),
        b"AOF/1 {broken",
        b"\xff\xfe\x00",
        format!("AOF/1 {good}\r").as_bytes(),
        progress(&id, "eve", "x").to_string().as_bytes(),
        good.as_bytes(),
    ]
    .join(&b'\n');
    let (code, answers) = project.send_lines(&lines);
    assert_eq!(
        results(&answers),
        [
            "applied", "ignored", "ignored", "ignored", "rejected", "rejected", "ignored",
            "applied", "rejected", "applied",
        ]
    );
    let reasons: Vec<&Value> = answers.iter().map(|answer| &answer["reason"]).collect();
    assert_eq!((reasons[4], reasons[5]), (&json!("payload_too_large"), &json!("invalid_json")));
    assert_eq!(code, 1);
}

#[test]
fn send_lines_exits_with_0_when_all_are_accepted() {
    let (project, id) = working();
    let good = progress(&id, "swe", "half way").to_string();
    let (code, answers) = project.send_lines(format!("{good}\n\n{good}\n").as_bytes());
    assert_eq!((code, results(&answers)), (0, vec!["applied", "ignored", "applied"]));
    assert_eq!(project.send_lines(b""), (0, vec![]));
}

#[test]
fn send_accepts_message_of_maximal_size_and_no_more() {
    let (project, id) = working();
    let message = progress(&id, "swe", "x").to_string();
    let padded = |bytes: usize| format!("{message}{}", " ".repeat(bytes - message.len()));
    let (most, more) = (padded(1 << 20), padded((1 << 20) + 1));
    let (code, answers) = project.send_lines(format!("{most}\n{more}\n{most}").as_bytes());
    assert_eq!((code, results(&answers)), (1, vec!["applied", "rejected", "applied"]));
    for (text, result) in [(&most, "applied"), (&more, "rejected")] {
        assert_eq!(project.send(text.as_bytes()).1["result"], result);
    }
}

#[test]
fn send_lines_answers_line_before_next_is_written() {
    let (project, id) = working();
    let mut live = LiveProcess::start(&mut project.command(["send", "--lines", "--json"]));
    for n in 0..3 {
        live.write(&progress(&id, "swe", &format!("step {n}")).to_string());
        assert_eq!(live.next()["result"], "applied");
        assert!(project.read(&format!("tasks/in-progress/{id}.md")).contains(&format!("step {n}")));
    }
    // Between two messages, other processes can commit.
    project.add(["meanwhile"]);
    assert_eq!(live.finish(), Some(0));
}

#[test]
fn send_lines_with_closed_output_fails_without_panic() {
    let (project, id) = working();
    let mut command = project.command(["send", "--lines"]);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command starts");
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().expect("an input");
    writeln!(stdin, "{}", progress(&id, "swe", "x")).expect("the message is written");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "error: cannot write the answers\n  caused by: broken pipe\n\
         hint: `adjutant events` shows which messages were applied\n"
    );
    assert_eq!(project.types().last().map(String::as_str), Some("task.logged"));
}

#[test]
fn send_lines_accepts_file_of_many_lines() {
    let (project, id) = working();
    let many = lines((0..1000).map(|n| progress(&id, "swe", &format!("step {n}"))));
    std::fs::write(project.home().join("lines.jsonl"), many).expect("a file");
    let ran = project.adjutant(["send", "--lines", "--json", "lines.jsonl"]);
    let answers: Vec<Value> = ran.out.lines().map(document).collect();
    assert_eq!((ran.code, answers.len()), (0, 1000));
    let ids: Vec<u64> = answers
        .iter()
        .flat_map(|answer| answer["events"].as_array().expect("ids").clone())
        .map(|id| id.as_u64().expect("a number"))
        .collect();
    assert_eq!(ids, (3..2003).collect::<Vec<u64>>());
    assert_eq!(project.events().len(), 2002);
}

#[test]
fn send_lines_of_concurrent_processes_all_apply() {
    let (project, id) = working();
    let message = progress(&id, "swe", "x").to_string();
    let children: Vec<_> = (0..4)
        .map(|_| {
            let mut command = project.command(["send", "--lines", "--json"]);
            let mut child = command
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .expect("the command starts");
            let mut stdin = child.stdin.take().expect("an input");
            (0..25).for_each(|_| writeln!(stdin, "{message}").expect("it is written"));
            child
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        let answers = String::from_utf8(output.stdout).expect("answers are text");
        assert_eq!((output.status.code(), answers.lines().count()), (Some(0), 25));
    }
    assert_eq!(project.events().len(), 2 + 2 * 100);
}

#[test]
fn readers_do_not_wait_for_idle_sender() {
    let (project, id) = working();
    let live = LiveProcess::start(&mut project.command(["send", "--lines"]));
    assert_eq!(project.json(["task", "list"])[0]["id"], id);
    assert_eq!(project.json(["task", "show", &id])["id"], id);
    assert_eq!(project.adjutant(["events"]).code, 0);
    live.end();
}
