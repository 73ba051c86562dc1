//! Tests of `adjutant report` and `adjutant beat`, which an agent calls inside its run.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};

use serde_json::{Value, json};

use crate::commands::support::{CliOutput, CliProject, document, progress, run, until};

const WORK: &str = "\
steps:
  - adjutant: [report, progress, half of it]
  - adjutant: [beat]
  - adjutant: [report, done, --notes, All of it, --tests, 3/2/1, --deliverable, src/a.rs, --deliverable, src/b.rs]
";

fn result(project: &CliProject, id: &str) -> Value {
    document(&project.read(&format!("runs/{id}/run_result.json")))
}

#[test]
fn report_command_of_agent_is_applied() {
    for (up, has_daemon) in [(&["up", "--until-idle"][..], true), (&["tick"], false)] {
        let project = CliProject::with_script("swe", "", WORK);
        let id = project.add(["one", "--status", "ready"]);
        assert_eq!(project.adjutant(up).code, 0);
        until("the run is over", || {
            project.path(&format!("runs/{id}/attempts/1/exit.json")).is_file()
        });
        // The shim has kept what no daemon was there for.
        assert_eq!(project.adjutant(["tick"]).code, 0);
        assert_eq!(project.status_of(&id), "review");
        let result = result(&project, &id);
        assert_eq!(
            (&result["outcome"], &result["notes"], &result["summaryRef"]),
            (&json!("done"), &json!("All of it"), &json!("outputs/summary.md"))
        );
        assert_eq!(result["tests"], json!({"total": 3, "passed": 2, "failed": 1}));
        assert_eq!(result["deliverables"], json!(["src/a.rs", "src/b.rs"]));
        let body = project.json(["task", "show", &id])["body"].take();
        assert!(body.as_str().is_some_and(|body| body.contains("half of it")), "{body}");
        let log = project.read(&format!("runs/{id}/attempts/1/output.log"));
        let lines: Vec<&str> = log.lines().collect();
        if has_daemon {
            let said = [
                format!("applied {id} (in-progress)"),
                format!("noop {id} (in-progress)"),
                format!("applied {id} (review)"),
            ];
            assert_eq!(lines, said);
        } else {
            assert_eq!(lines.len(), 3, "{log}");
            assert!(lines.iter().all(|line| line.contains("kept_for_later")), "{log}");
        }
    }
}

#[test]
fn report_has_subcommand_for_every_outcome() {
    for (word, outcome, status) in [
        ("done", "done", "review"),
        ("partial", "partial", "review"),
        ("needs-review", "needs_review", "review"),
        ("blocked", "blocked", "blocked"),
    ] {
        let script = format!(
            "steps:\n  - adjutant: [report, {word}, --blocker, no key, --blocker, no oil]\n"
        );
        let project = CliProject::with_script("swe", "", &script);
        let id = project.add(["one", "--status", "ready"]);
        assert_eq!(project.adjutant(["up", "--until-idle"]).code, 0);
        assert_eq!(project.status_of(&id), status);
        let result = result(&project, &id);
        assert_eq!(
            (&result["outcome"], &result["tests"], &result["blockers"]),
            (
                &json!(outcome),
                &json!({"total": 0, "passed": 0, "failed": 0}),
                &json!(["no key", "no oil"])
            )
        );
    }
}

#[test]
fn handoff_is_accepted_or_refused_by_report() {
    for (steps, kind, status) in [
        ("{adjutant: [report, accept]}, {report: done}", "delegation.accepted", "review"),
        ("{adjutant: [report, refuse, no test plan]}", "delegation.rejected", "blocked"),
    ] {
        let script = format!("steps: [{steps}]\n");
        let project = CliProject::with_script("swe", "", &script);
        let id = project.add(["one", "--status", "ready"]);
        assert_eq!(project.adjutant(["up", "--until-idle"]).code, 0);
        assert!(project.types().contains(&kind.to_owned()), "{:?}", project.types());
        assert_eq!(project.status_of(&id), status);
    }
}

#[test]
fn report_outside_run_is_refused() {
    let project = CliProject::new();
    let id = project.add(["one", "--status", "ready"]);
    let before = project.types();
    let ran = project.adjutant(["report", "done"]);
    let err = "error: cannot report outside a run\n  \
               caused by: ADJUTANT_TASK_ID is not set or invalid\n\
               hint: Adjutant sets it for its runs; outside a run, use `adjutant send`\n";
    assert_eq!(ran, CliOutput { code: 2, out: String::new(), err: err.to_owned() });
    let (code, error) = project.error(["beat"]);
    assert_eq!((code, &error["code"]), (2, &json!("no_run")));
    let mut half = project.command(["report", "accept", "--json"]);
    let ran = run(half.env("ADJUTANT_TASK_ID", &id).env("ADJUTANT_AGENT", "swe"));
    let causes = json!(["ADJUTANT_RUN_TOKEN is not set or invalid"]);
    assert_eq!((ran.code, &document(&ran.out)["error"]["causes"]), (2, &causes));
    assert_eq!(project.types(), before);
}

#[test]
fn report_with_forged_token_is_refused() {
    let project = CliProject::with_script("swe", "", WORK);
    let id = project.add(["one", "--agent", "swe"]);
    for args in [&["report", "done"][..], &["report", "progress", "half"], &["beat"]] {
        let mut command = project.command(args);
        command.arg("--json").env("ADJUTANT_TASK_ID", &id).env("ADJUTANT_AGENT", "swe");
        let ran = run(command.env("ADJUTANT_RUN_TOKEN", "1-affa43e082c8bbf32057d45e7feafca3"));
        let said = document(&ran.out);
        let refused = (ran.code, &said["result"], &said["reason"]);
        assert_eq!(refused, (1, &json!("rejected"), &json!("unknown_token")), "{args:?}");
        let last = project.events().pop().expect("an event");
        assert_eq!(said["events"].as_array().and_then(|ids| ids.last()), Some(&last["eventId"]));
        assert_eq!((&last["taskId"], &last["actor"]), (&json!(id), &json!("swe")), "{args:?}");
        assert_eq!(last["payload"]["reason"], "unknown_token", "{args:?}");
    }
    let (received, rejected) = ("protocol.message.received", "protocol.message.rejected");
    let types = ["task.created", received, rejected, received, rejected, "command.refused"];
    assert_eq!(project.types(), types);
    assert_eq!(project.status_of(&id), "backlog");
}

#[test]
fn report_tests_option_is_three_counts() {
    let project = CliProject::new();
    for bad in ["", "3", "3/2", "3/2/x", "3/2/1/0", "-1/0/0"] {
        let ran = project.adjutant(["report", "done", &format!("--tests={bad}")]);
        assert_eq!(ran.code, 2, "{bad:?}");
        assert!(ran.err.contains("three counts like 12/11/1"), "{}", ran.err);
    }
}

/// Starts a run that writes its environment to a file and waits, and returns that environment.
fn waiting(project: &CliProject) -> BTreeMap<String, String> {
    assert_eq!(project.adjutant(["tick"]).code, 0);
    let file = project.home().join("environment");
    until("the agent has written it", || {
        std::fs::read_to_string(&file).is_ok_and(|text| text.ends_with("end=\n"))
    });
    let text = std::fs::read_to_string(&file).expect("text");
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    let own = pairs.filter(|(name, _)| name.starts_with("ADJUTANT_"));
    own.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[test]
fn heartbeat_of_replaced_run_is_refused() {
    let project = CliProject::new();
    let agent = "[agents.swe]\nkind = \"command\"\n\
                 command = [\"sh\", \"-c\", \"(env; echo end=) > environment; exec sleep 600\"]\n";
    project.write("adjutant.toml", format!("[scheduler]\ngrace = \"100ms\"\n{agent}"));
    let id = project.add(["one", "--status", "ready"]);
    let mut environment = waiting(&project);
    // As for an agent on another machine, which has no shim.
    assert!(environment.remove("ADJUTANT_RUN_SOCKET").is_some(), "{environment:?}");
    let beat = || run(project.command(["beat", "--json"]).envs(&environment));
    let ran = beat();
    assert_eq!((ran.code, &document(&ran.out)["result"]), (0, &json!("noop")), "{ran:?}");
    project.does(["task", "move", &id, "blocked"]);
    let ran = beat();
    assert_eq!((ran.code, &document(&ran.out)["reason"]), (1, &json!("stale_run")), "{ran:?}");
    let refused = project.events().pop().expect("an event");
    let payload = json!({"command": "beat", "reason": "stale_run"});
    assert_eq!((&refused["type"], &refused["payload"]), (&json!("command.refused"), &payload));
    let log = || project.path(&format!("runs/{id}/attempts/1/exit.json")).is_file();
    until("the run is stopped", || project.adjutant(["tick"]).code == 0 && log());
}

/// The data folder need not exist: everything goes through the socket.
#[test]
fn command_of_run_uses_socket_of_its_run_and_nothing_else() {
    let home = tempfile::tempdir().expect("a folder");
    let path = home.path().join("run.sock");
    let shim = UnixListener::bind(&path).expect("a socket");
    let kept = r#"{"answered":{"result":"noop","reason":"kept_for_later","taskId":"TASK-2026-02-09-001","status":null,"problems":[],"events":[]}}"#;
    let project = CliProject::new();
    for (args, kind) in [
        (&["report", "progress", "half"][..], "message"),
        (&["send", "/dev/null"], "message"),
        (&["beat"], "lifeSign"),
    ] {
        let mut command = project.command(args);
        command.env("ADJUTANT_TASK_ID", "TASK-2026-02-09-001").env("ADJUTANT_AGENT", "swe");
        command.env("ADJUTANT_RUN_TOKEN", "1-x").env("ADJUTANT_RUN_SOCKET", &path);
        command.args(["--json", "--data", "/nowhere"]);
        let called = std::thread::spawn(move || run(&mut command));
        let (stream, _) = shim.accept().expect("the command calls");
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).expect("a line");
        assert!(document(&line)["submit"]["request"][kind].is_object(), "{args:?}: {line}");
        (&stream).write_all(format!("{kept}\n").as_bytes()).expect("written");
        let ran = called.join().expect("it ends");
        assert_eq!((ran.code, &document(&ran.out)["reason"]), (0, &json!("kept_for_later")));
    }
    drop(shim);
    let mut command = project.command(["report", "done", "--json"]);
    command.env("ADJUTANT_TASK_ID", "TASK-2026-02-09-001").env("ADJUTANT_AGENT", "swe");
    let ran = run(command.env("ADJUTANT_RUN_TOKEN", "1-x").env("ADJUTANT_RUN_SOCKET", &path));
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.out.contains("cannot reach the shim of the run"), "{ran:?}");
}

/// Runs a command whose request the daemon carries out, but whose answer is lost, as if the daemon
/// died right after its commit. `then` runs before the command can ask again.
fn run_without_answer(
    project: &CliProject,
    command: &mut std::process::Command,
    then: impl FnOnce(),
) -> CliOutput {
    let (door, moved) = (project.path("journal/door"), project.path("journal/door-of-daemon"));
    std::fs::rename(&door, &moved).expect("a socket");
    let listener = UnixListener::bind(&door).expect("a socket");
    std::thread::scope(|scope| {
        let called = scope.spawn(|| run(command));
        let (client, _) = listener.accept().expect("the command calls");
        let mut request = String::new();
        BufReader::new(&client).read_line(&mut request).expect("a line");
        let mut daemon = UnixStream::connect(&moved).expect("the daemon is there");
        daemon.write_all(request.as_bytes()).expect("written");
        let mut answer = String::new();
        BufReader::new(&daemon).read_line(&mut answer).expect("a line");
        assert!(answer.contains("applied") || answer.contains("noop"), "{answer}");
        std::fs::rename(&moved, &door).expect("a socket");
        then();
        drop((listener, client));
        called.join().expect("it ends")
    })
}

/// A project with a run whose agent waits, and the environment of that run without its socket, as
/// for an agent that runs elsewhere.
fn project_with_waiting_run() -> (CliProject, String, BTreeMap<String, String>) {
    let project = CliProject::new();
    let agent = "[agents.swe]\nkind = \"command\"\n\
                 command = [\"sh\", \"-c\", \"(env; echo end=) > environment; exec sleep 600\"]\n";
    project.write("adjutant.toml", format!("[scheduler]\ngrace = \"100ms\"\n{agent}"));
    let id = project.add(["one", "--status", "ready"]);
    let mut environment = waiting(&project);
    environment.remove("ADJUTANT_RUN_SOCKET");
    (project, id, environment)
}

fn count_in_body(project: &CliProject, id: &str, text: &str) -> usize {
    let body = project.json(["task", "show", id])["body"].take();
    body.as_str().map_or(0, |body| body.matches(text).count())
}

#[test]
fn report_whose_answer_is_lost_is_sent_again_and_counts_once() {
    let (project, id, environment) = project_with_waiting_run();
    let received =
        || project.types().iter().filter(|it| *it == "protocol.message.received").count();
    let up = || project.json(["up", "--detach"]);
    up();
    let kill = || {
        let status = document(&project.adjutant(["status", "--json"]).out);
        let pid = status["pid"].to_string();
        assert_eq!(run(std::process::Command::new("kill").args(["-KILL", &pid])).code, 0);
        until("it is dead", || project.adjutant(["status"]).code == 1);
    };
    let report = |text: &str, then: &dyn Fn()| {
        let before = received();
        let mut command = project.command(["report", "progress", text, "--json"]);
        let ran = run_without_answer(&project, command.envs(&environment), then);
        let said = document(&ran.out);
        assert_eq!(
            (ran.code, &said["result"], &said["taskId"]),
            (0, &json!("applied"), &json!(id)),
            "{ran:?}"
        );
        assert!(said["events"].as_array().is_some_and(|ids| !ids.is_empty()), "{said}");
        assert_eq!((count_in_body(&project, &id, text), received()), (1, before + 1), "{text}");
    };
    report("the same daemon answers", &|| {});
    report("the next daemon answers", &|| {
        kill();
        up();
    });
    report("no daemon answers", &kill);
    up();
    let mut beat = project.command(["beat", "--json"]);
    let ran = run_without_answer(&project, beat.envs(&environment), || {});
    assert_eq!(ran.code, 0, "{ran:?}");
    project.does(["down", "--stop"]);
}

#[test]
fn message_whose_answer_is_lost_is_sent_again_and_counts_once() {
    let project = CliProject::new();
    let id = project.add(["one", "--agent", "swe"]);
    project.json(["up", "--detach"]);
    let file = project.home().join("message");
    let text = serde_json::to_string(&progress(&id, "swe", "half of it")).expect("JSON");
    std::fs::write(&file, text).expect("written");
    let mut send = project.command(["send", "--json"]);
    let ran = run_without_answer(&project, send.arg(&file), || {});
    assert_eq!((ran.code, &document(&ran.out)["result"]), (0, &json!("applied")), "{ran:?}");
    assert_eq!(count_in_body(&project, &id, "half of it"), 1);
    project.does(["down", "--stop"]);
}
