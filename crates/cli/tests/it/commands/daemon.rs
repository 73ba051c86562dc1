//! Tests of `adjutant up`, `status` and `down` with a daemon in the background.

use serde_json::{Value, json};

use crate::commands::support::{CliProject, document, run, until};

/// An agent that works until it is stopped.
const HANGS: &str = "steps: [print: begun, hang]\n";

/// A detached daemon that is stopped at the end of the test.
struct DetachedDaemon<'a>(&'a CliProject);

impl<'a> DetachedDaemon<'a> {
    fn start(project: &'a CliProject) -> (Self, Value) {
        let said = project.json(["up", "--detach"]);
        (Self(project), said)
    }
}

impl Drop for DetachedDaemon<'_> {
    fn drop(&mut self) {
        self.0.adjutant(["down", "--stop"]);
    }
}

fn runs(project: &CliProject) -> usize {
    let ran = project.adjutant(["status", "--json"]);
    document(&ran.out)["runs"].as_array().map_or(0, Vec::len)
}

#[test]
fn daemon_detached_runs_tasks_and_is_stopped_by_down() {
    let project = CliProject::with_script("swe", "", "steps: [report: done]\n");
    let (_up, said) = DetachedDaemon::start(&project);
    assert!(said["pid"].is_u64(), "{said}");
    let ran = project.adjutant(["status", "--json"]);
    let status = document(&ran.out);
    assert_eq!((ran.code, &status["running"], &status["pid"]), (0, &json!(true), &said["pid"]));
    let id = project.add(["one", "--status", "ready"]);
    until("the work is reported", || project.status_of(&id) == "review");
    let (code, error) = project.error(["up", "--detach"]);
    assert_eq!((code, &error["code"]), (1, &json!("taken")), "{error}");
    assert_eq!(project.json(["down"]), json!({"stopped": said["pid"]}));
    let log = project.read("daemon.log");
    assert!(log.contains(&format!(" {id} started: swe, attempt 1: one\n")), "{log}");
    let ran = project.adjutant(["status"]);
    let expected = "no daemon is running; `adjutant up` starts one\n1 review\n";
    assert_eq!((ran.code, &*ran.out), (1, expected));
    assert_eq!(project.does(["down"]), "no daemon is running\n");
}

#[test]
fn daemon_restart_adopts_agents_that_kept_running() {
    let project = CliProject::with_script("swe", "", HANGS);
    let id = project.add(["one", "--status", "ready"]);
    let (up, _) = DetachedDaemon::start(&project);
    until("it runs", || runs(&project) == 1);
    project.does(["down"]);
    let again = project.adjutant(["down", "--stop"]);
    assert_eq!((again.code, &*again.out), (0, "no daemon is running\n"));
    let warning = "warning: 1 run continues without a daemon; `adjutant up --detach`, then `adjutant down \
                   --stop` stops it\n";
    assert_eq!(again.err, warning);
    assert_eq!(runs(&project), 1, "the agent goes on");
    project.json(["up", "--detach"]);
    assert_eq!(project.events().iter().filter(|event| event["type"] == "run.started").count(), 1);
    drop(up);
    until("it was stopped", || project.path(&format!("runs/{id}/attempts/1/exit.json")).is_file());
    assert_eq!(project.adjutant(["status"]).code, 1);
}

#[test]
fn daemon_drain_waits_for_runs_and_assigns_nothing() {
    let project = CliProject::new();
    let waits = "until [ -e go ]; do sleep 0.05; done; adjutant report done";
    let agent =
        format!("[agents.swe]\nkind = \"command\"\ncommand = [\"sh\", \"-c\", {waits:?}]\n");
    project.write("adjutant.toml", agent);
    let first = project.add(["one", "--status", "ready"]);
    let second = project.add(["two", "--status", "ready"]);
    let (_up, _) = DetachedDaemon::start(&project);
    until("it runs", || runs(&project) == 1);
    std::thread::scope(|scope| {
        let down = scope.spawn(|| project.does(["down", "--drain"]));
        until("it drains", || project.read("daemon.log").contains("draining"));
        std::fs::write(project.home().join("go"), "").expect("a file");
        assert!(down.join().expect("it ends").starts_with("stopped the daemon (process "));
    });
    assert_eq!((&*project.status_of(&first), &*project.status_of(&second)), ("review", "ready"));
}

#[test]
fn daemon_start_failure_names_cause() {
    let project = CliProject::new();
    project.write("secret", "spoilt");
    let (code, error) = project.error(["up", "--detach"]);
    assert_eq!((code, &error["message"]), (3, &json!("cannot start a daemon")), "{error}");
    let causes =
        json!(["cannot read the token secret of the data folder", "the secret is damaged"]);
    assert_eq!(error["causes"], causes);
    assert_eq!(project.adjutant(["status"]).code, 1);
}

#[test]
fn daemon_until_idle_exits_by_itself() {
    let project = CliProject::with_script("swe", "", "steps: [report: done]\n");
    let id = project.add(["one", "--status", "ready"]);
    project.json(["up", "--detach", "--until-idle"]);
    until("it is gone", || project.adjutant(["status"]).code == 1);
    assert_eq!(project.status_of(&id), "review");
    let log = project.read("daemon.log");
    assert!(log.contains(&format!(" {id} ended: review\n")), "{log}");
}

#[test]
fn daemon_prints_result_and_reason_of_each_run() {
    let project = CliProject::new();
    let limits = "[scheduler]\nattempts_max = 2\nbackoff = \"500ms\"\n";
    let fails = "kind = \"command\"\nsandbox = \"none\"\ncommand = [\"sh\", \"-c\", \"echo no oil; exit 3\"]\n";
    project.write("adjutant.toml", format!("{limits}[agents.swe]\n{fails}"));
    let id = project.add(["one", "--status", "ready"]);
    let said = project.does(["up", "--until-idle"]);
    let (_, said) = said.split_once("sandbox: swe none\n").expect("where it is up, and more");
    let expected = format!(
        "{id} started: swe, attempt 1: one\n\
         {id} ended: ready, exit code 3: no oil\n\
         {id} started: swe, attempt 2: one\n\
         {id} ended: deadletter, 2 failed attempts; attempt 1: exit code 3: no oil; \
         attempt 2: exit code 3: no oil\n\
         no task can run any more: 0 done, 1 waiting for you, 0 cannot run\n\
         waiting for you (`adjutant inbox` lists what you can do):\n  \
         {id}  deadletter: one: 2 failed attempts; attempt 1: exit code 3: no oil; \
         attempt 2: exit code 3: no oil\n"
    );
    assert_eq!(said, expected);
}

#[test]
fn daemon_cannot_be_started_or_stopped_inside_run() {
    let project = CliProject::new();
    for args in [&["up", "--detach"][..], &["down"]] {
        let ran = run(project.command(args).arg("--json").env("ADJUTANT_RUN_TOKEN", "t"));
        let error = document(&ran.out)["error"].take();
        assert_eq!((ran.code, &error["code"]), (1, &json!("operator_only")), "{args:?}");
    }
    assert!(!project.path("daemon.log").exists());
}

#[test]
fn daemon_that_is_stopped_is_named_by_commands_that_wait_for_it() {
    let project = CliProject::new();
    let (_up, said) = DetachedDaemon::start(&project);
    let pid = said["pid"].as_i64().expect("a number").to_string();
    let signal = |name: &str| {
        assert!(run(std::process::Command::new("kill").args([name, &pid])).code == 0);
    };
    signal("-STOP");
    for args in [&["task", "add", "one"][..], &["down"]] {
        let (code, error) = project.error(args);
        assert_eq!((code, &error["code"]), (3, &json!("no_answer")), "{args:?}: {error}");
        assert_eq!(error["causes"], json!([format!("process {pid} is stopped")]));
        let hint = error["hint"].as_str().unwrap_or_default();
        assert!(hint.starts_with(&format!("`kill -CONT {pid}` lets it continue")), "{hint}");
    }
    signal("-CONT");
    until("it obeys", || project.adjutant(["status"]).code == 1);
    project.add(["two"]);
}
