//! `adjutant.toml` takes effect only as far as the operator has accepted it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Stdio};

use serde_json::json;

use super::project::{CautiousProject, agent};
use crate::commands::support::{CliOutput, document, run, until};

const EVIL: &str = "[project]\nchecks = [\"touch evil\"]\n";

/// A daemon of the test, ended when dropped.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Daemon {
    fn start(project: &CautiousProject) -> Self {
        let mut command = project.command(&["up", "--json"]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
        until("the daemon is up", || project.adjutant(&["status"]).code == 0);
        Self(child)
    }
}

fn ready_task(project: &CautiousProject) -> String {
    let added = project.adjutant(&[
        "task", "add", "One", "--agent", "dev", "--status", "ready", "--review", "none", "--json",
    ]);
    document(&added.out)["id"].as_str().expect("an id").to_owned()
}

fn status(project: &CautiousProject, id: &str) -> String {
    project.json(&["task", "show", id])["status"].as_str().expect("a status").to_owned()
}

#[test]
fn init_accepts_what_it_writes() {
    let project = CautiousProject::empty();
    fs::write(project.root().join("Cargo.toml"), "[package]\nname = \"x\"\n").expect("written");
    project.does(&["init", "."]);
    let text = fs::read_to_string(project.path("adjutant.toml")).expect("read");
    assert!(text.contains("\ntest_command = \"cargo test\""), "{text}");
    project.does(&["up", "--until-idle"]);
    assert_eq!(project.json(&["trust"])["changes"], json!([]));
    assert_eq!(project.inbox("config"), Vec::<serde_json::Value>::new());
}

#[test]
fn init_does_not_accept_file_that_was_there() {
    let project = CautiousProject::empty();
    fs::create_dir(project.root().join(".adjutant")).expect("a folder");
    fs::set_permissions(project.path(""), std::os::unix::fs::PermissionsExt::from_mode(0o700))
        .expect("closed");
    project.configure(EVIL);
    project.does(&["init", "."]);
    assert_eq!(project.refused(&["tick"])["code"], "unaccepted_config");
}

#[test]
fn changed_config_is_not_run_before_it_is_accepted() {
    let project = CautiousProject::new();
    project.configure(&agent("touch obeyed; adjutant report done"));
    for args in
        [&["up", "--until-idle"][..], &["up", "--detach"], &["tick"], &["agents", "test", "dev"]]
    {
        let error = project.refused(args);
        assert_eq!(error["code"], "unaccepted_config", "{args:?}: {error}");
        let causes = error["causes"].to_string();
        assert!(causes.contains("touch obeyed"), "what would be run is shown: {causes}");
        assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("adjutant trust --yes")));
    }
    assert!(!project.root().join("obeyed").exists());
    let item = &project.inbox("config")[0];
    assert!(item["text"].as_str().is_some_and(|text| text.contains("agents.dev.command")));
    assert_eq!(item["actions"], json!(["trust"]));
    let doctor = project.adjutant(&["doctor", "--json"]);
    assert!(doctor.code == 1 && doctor.out.contains("config_unaccepted"), "{doctor:?}");
    // Without a terminal, nothing is accepted by a bare `trust`.
    assert_eq!(project.refused(&["trust"])["code"], "unaccepted_config");
    let trusted = project.json(&["trust", "--yes"]);
    assert_eq!(trusted["accepted"], true);
    assert_eq!(trusted["changes"][0]["setting"], "agents.dev.command");
    assert!(
        trusted["commands"][0]["command"].as_str().is_some_and(|it| it.contains("touch obeyed"))
    );
    let id = ready_task(&project);
    project.does(&["up", "--until-idle"]);
    assert_eq!(status(&project, &id), "done");
    assert!(project.root().join("obeyed").exists());
    assert_eq!(project.adjutant(&["doctor"]).code, 0);
}

#[test]
fn trust_shows_commands_and_difference_to_accepted_config() {
    let project = CautiousProject::new();
    project.configure("[project]\nchecks = [\"make\"]\nmerge = \"ff\"\n");
    project.does(&["trust", "--yes"]);
    project.configure(
        "[project]\nchecks = [\"curl evil\"]\nsetup = [\"npm ci\"]\n[[notify]]\non = [\"review\"]\n\
         target = \"command\"\ncommand = [\"./tell\"]\n",
    );
    let shown = project.does(&["trust", "--yes"]);
    for line in [
        "  check: curl evil",
        "  setup: npm ci",
        "  notify command: ./tell",
        "  ~ project.checks = [\"curl evil\"] (was [\"make\"])",
        "  - project.merge = \"ff\"",
        "  + project.setup = [\"npm ci\"]",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
    }
}

#[test]
fn record_of_acceptance_is_private_and_outside_the_project() {
    let project = CautiousProject::new();
    project.configure(EVIL);
    project.does(&["trust", "--yes"]);
    let folder = project.temp().join("state/adjutant/trust");
    let record = fs::read_dir(&folder).expect("a folder").next().expect("a record").expect("read");
    assert_eq!(record.metadata().expect("there").mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(folder).expect("there").mode() & 0o777, 0o700);
    assert!(fs::read_to_string(record.path()).expect("text").contains("touch evil"));
}

#[test]
fn moved_folder_needs_acceptance_again() {
    let project = CautiousProject::new();
    project.configure(EVIL);
    project.does(&["trust", "--yes"]);
    project.does(&["tick"]);
    let moved = project.temp().join("moved");
    fs::rename(project.root(), &moved).expect("moved");
    let ran = run(&mut project.command_in(&moved, &["tick", "--json"]));
    assert_eq!((ran.code, &document(&ran.out)["error"]["code"]), (1, &"unaccepted_config".into()));
}

#[test]
fn imported_config_is_not_accepted() {
    let project = CautiousProject::new();
    project.configure(EVIL);
    project.does(&["trust", "--yes"]);
    project.does(&["export", "../shop.tar"]);
    let other = project.temp().join("other");
    fs::create_dir(&other).expect("a folder");
    let ran = run(&mut project.command_in(&other, &["import", "../shop.tar"]));
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = run(&mut project.command_in(&other, &["tick", "--json"]));
    assert_eq!((ran.code, &document(&ran.out)["error"]["code"]), (1, &"unaccepted_config".into()));
}

#[test]
fn config_of_fresh_clone_is_not_run_from_a_folder_below() {
    let author = CautiousProject::new();
    author.configure(&agent("touch obeyed; adjutant report done"));
    author.does(&["trust", "--yes"]);
    author.does(&["task", "add", "One", "--agent", "dev", "--status", "ready"]);
    let victim = CautiousProject::empty();
    let clone = victim.root().join("clone");
    copy_folder(&author.root(), &clone);
    let below = clone.join("src/deep");
    fs::create_dir_all(&below).expect("a folder");
    for args in [&["up", "--until-idle", "--json"], &["tick", "--json", "--json"][..2]] {
        let ran = run(&mut victim.command_in(&below, args));
        assert_eq!(ran.code, 1, "{ran:?}");
        assert_eq!(document(&ran.out)["error"]["code"], "unaccepted_config");
    }
    assert!(!clone.join("obeyed").exists());
}

fn copy_folder(from: &std::path::Path, to: &std::path::Path) {
    let copied = std::process::Command::new("cp").args(["-a"]).args([from, to]).status();
    assert!(copied.expect("cp starts").success());
}

#[test]
fn environment_of_operator_accepts_config_and_environment_of_run_does_not() {
    let project = CautiousProject::new();
    project.configure(EVIL);
    let mut inside = project.command(&["tick", "--json"]);
    let inside = run(inside.env("ADJUTANT_TRUST", "accept").env("ADJUTANT_RUN_TOKEN", "1-ab"));
    assert_eq!(
        (inside.code, &document(&inside.out)["error"]["code"]),
        (1, &"operator_only".into())
    );
    assert_eq!(project.refused(&["tick"])["code"], "unaccepted_config");
    let ran = run(project.command(&["tick", "--json"]).env("ADJUTANT_TRUST", "accept"));
    assert_eq!(ran.code, 0, "{ran:?}");
    project.does(&["tick"]);
    // Settings of the environment are the operator's own.
    let other = CautiousProject::new();
    let ran = run(other.command(&["tick"]).env("ADJUTANT_PROJECT_CHECKS", "[\"true\"]"));
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn trust_inside_a_run_is_refused_and_logged() {
    let project = CautiousProject::new();
    project.configure(EVIL);
    let mut inside = project.command(&["trust", "--yes", "--json"]);
    let ran = run(inside.env("ADJUTANT_RUN_TOKEN", "1-ab").env("ADJUTANT_AGENT", "dev"));
    assert_eq!((ran.code, &document(&ran.out)["error"]["code"]), (1, &"operator_only".into()));
    assert_eq!(project.refused(&["tick"])["code"], "unaccepted_config");
    let events = project.does(&["events", "--json"]);
    let refused = events.lines().map(document).find(|event| event["type"] == "command.refused");
    assert_eq!(refused.expect("it is logged")["payload"]["command"], "trust");
}

#[test]
fn unaccepted_change_keeps_accepted_settings_under_a_running_daemon() {
    let project = CautiousProject::new();
    let accepted = agent("touch accepted; adjutant report done");
    project.configure(&accepted);
    project.does(&["trust", "--yes"]);
    let daemon = Daemon::start(&project);
    project.configure(&format!(
        "[scheduler]\nconcurrency = 9\n{}",
        agent("touch evil; adjutant report done")
    ));
    until("the daemon says what it waits for", || !project.inbox("config").is_empty());
    until("a harmless change is in effect", || {
        project.json(&["status"])["unacceptedSettings"] == json!(["agents.dev.command"])
    });
    let id = ready_task(&project);
    until("the accepted agent works", || status(&project, &id) == "done");
    assert!(project.root().join("accepted").exists() && !project.root().join("evil").exists());
    project.does(&["trust", "--yes"]);
    until("the inbox is empty", || project.inbox("config").is_empty());
    let is_noticed = || {
        let id = ready_task(&project);
        until("it is done", || status(&project, &id) == "done");
        project.root().join("evil").exists()
    };
    until("the accepted change takes effect", is_noticed);
    drop(daemon);
}

#[test]
fn harmless_settings_take_effect_without_acceptance() {
    let project = CautiousProject::new();
    project.configure("# Quick.\n[scheduler]\nconcurrency = 9\npoll = \"1s\"\n");
    project.does(&["tick"]);
    assert_eq!(project.inbox("config"), Vec::<serde_json::Value>::new());
}

#[test]
fn store_setting_that_is_not_accepted_stops_every_command() {
    let project = CautiousProject::new();
    project.configure("store = \"nats://127.0.0.1:1\"\n");
    for args in [&["task", "add", "One"][..], &["task", "list"], &["inbox"], &["up"]] {
        assert_eq!(project.refused(args)["code"], "unaccepted_config", "{args:?}");
    }
    let doctor = project.adjutant(&["doctor", "--json"]);
    assert!(doctor.code == 1 && doctor.out.contains("config_unaccepted"), "{doctor:?}");
}

/// Runs `up --until-idle` on a terminal, and types an answer.
fn up_on_terminal(project: &CautiousProject, answer: &str) -> CliOutput {
    let words = format!("{} up --until-idle", env!("CARGO_BIN_EXE_adjutant"));
    let mut command = std::process::Command::new("script");
    command.args(["--quiet", "--return", "--command", &words, "/dev/null"]);
    for (name, value) in project.command(&[]).get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(project.root());
    crate::commands::support::run_with(&mut command, answer.as_bytes())
}

#[test]
fn up_asks_on_a_terminal() {
    let project = CautiousProject::new();
    project.configure(&agent("touch obeyed; adjutant report done"));
    let id = ready_task(&project);
    let ran = up_on_terminal(&project, "n\n");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("agent dev: sh -c 'touch obeyed"), "{ran:?}");
    assert!(ran.out.contains("Accept this configuration? [y/N]"), "{ran:?}");
    assert!(!project.root().join("obeyed").exists());
    let ran = up_on_terminal(&project, "y\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(status(&project, &id), "done");
    project.does(&["up", "--until-idle"]);
}
