//! Changes of `adjutant.toml` under a running daemon.

use std::fs;

use serde_json::{Value, json};

use crate::up::project::{DaemonProject, RunningDaemon, until, wait_for};

const SCHEDULER: &str = "[scheduler]\npoll = \"1h\"\ngrace = \"300ms\"\nbackoff = \"1ms\"\n";

fn agent(name: &str, script: &str, settings: &str) -> String {
    format!(
        "[agents.{name}]\nkind = \"command\"\ncommand = [\"sh\", \"-c\", {script:?}]\n{settings}"
    )
}

/// Replaces the configuration by a rename, as many editors do.
fn configure(stage: &DaemonProject, text: &str) {
    let (path, staged) = (stage.path("adjutant.toml"), stage.path("adjutant.toml.new"));
    fs::write(&staged, format!("{SCHEDULER}{text}")).expect("written");
    fs::rename(&staged, &path).expect("renamed");
}

/// Waits until the daemon says something about its configuration.
fn config_update(up: &mut RunningDaemon) -> Value {
    let mut seen = vec![];
    until("the daemon takes note of its configuration", || {
        seen.extend(up.printed_documents());
        seen.iter().find_map(|document| document.get("config").cloned())
    })
}

fn config_problems(stage: &DaemonProject) -> Vec<String> {
    let items = stage.json(&["inbox"]);
    let items = items.as_array().expect("a list").iter().filter(|item| item["kind"] == "config");
    items.map(|item| item["text"].as_str().expect("a text").to_owned()).collect()
}

#[test]
fn changed_config_is_applied_without_restart() {
    let stage = DaemonProject::new("");
    let mut up = stage.up();
    configure(&stage, &agent("dev", "adjutant report done", ""));
    assert_eq!(config_update(&mut up), json!({"restart": [], "problem": null}));
    let id = stage.add("dev");
    wait_for("the new agent does it", || stage.status(&id) == "done");
    let more = "[project]\nchecks = [\"test -f made.txt\"]\n[log]\nlevel = \"debug\"\n";
    configure(
        &stage,
        &format!("{more}{}", agent("dev", "touch made.txt; adjutant report done", "")),
    );
    assert_eq!(config_update(&mut up)["restart"], json!(["[log]"]));
    assert_eq!(stage.json(&["status"])["restartNeeded"], json!(["[log]"]));
    let id = stage.add("dev");
    wait_for("it is checked", || stage.status(&id) == "done");
    assert_eq!(stage.events_of(&id, "work.checked").len(), 1);
}

#[test]
fn invalid_config_keeps_settings_and_is_reported_everywhere() {
    let stage = DaemonProject::new("");
    configure(&stage, &agent("dev", "adjutant report done", ""));
    let mut up = stage.up();
    configure(&stage, "[agents.dev]\nkind = \"command\"\ncomand = []\n");
    let problem = "line 7: unknown setting `comand` in [agents.dev]; did you mean `command`?";
    assert_eq!(config_update(&mut up), json!({"restart": [], "problem": problem}));
    let told = config_problems(&stage);
    assert!(told.len() == 1 && told[0].contains("line 7: unknown setting `comand`"), "{told:?}");
    let status = stage.json(&["status"]);
    assert!(
        status["configProblem"].as_str().is_some_and(|text| text.starts_with("line 7: ")),
        "{status}"
    );
    let doctor = stage.adjutant(["doctor", "--json"]);
    assert!(doctor.code == 1 && doctor.out.contains("config_invalid"), "{doctor:?}");
    assert!(doctor.out.contains("did you mean `command`?"), "{doctor:?}");
    let id = stage.add("dev");
    wait_for("agents and commands go by the settings before", || stage.status(&id) == "done");
    configure(&stage, &agent("dev", "adjutant report done", ""));
    assert_eq!(config_update(&mut up)["problem"], Value::Null);
    wait_for("it is out of the inbox", || config_problems(&stage).is_empty());
    assert!(stage.json(&["status"]).get("configProblem").is_none());
}

#[test]
fn removed_file_keeps_settings() {
    let stage = DaemonProject::new("");
    configure(&stage, &agent("dev", "adjutant report done", ""));
    let mut up = stage.up();
    fs::remove_file(stage.path("adjutant.toml")).expect("removed");
    assert_eq!(config_update(&mut up)["problem"], "the file is missing");
    let id = stage.add("dev");
    wait_for("it is done by the settings before", || stage.status(&id) == "done");
}

#[test]
fn removed_agent_keeps_its_settings_until_its_run_ends() {
    let stage = DaemonProject::new("");
    let script = "while [ ! -f go ]; do sleep 0.02; done";
    configure(&stage, &agent("dev", script, "on_exit_ok = \"done\"\n"));
    let mut up = stage.up();
    let id = stage.add("dev");
    stage.run(&id, 1);
    configure(&stage, &agent("other", "adjutant report done", ""));
    config_update(&mut up);
    let second = stage.add("other");
    wait_for("the other agent works", || stage.status(&second) == "done");
    assert_eq!(stage.status(&id), "in-progress");
    fs::write(stage.home().join("go"), "").expect("written");
    wait_for("its exit counts as configured", || stage.status(&id) == "done");
    let third = stage.json(&["task", "add", "More", "--agent", "dev", "--status", "ready"]);
    assert!(
        third["warnings"][0].as_str().is_some_and(|text| text.starts_with("no agent named")),
        "{third}"
    );
}
