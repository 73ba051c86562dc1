//! Agents whose program is missing or not executable.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::up::project::{DaemonProject, wait_for};

const SCRIPT: &str = "#!/bin/sh\nadjutant report done\n";

fn agent(name: &str, program: &str) -> String {
    format!("[agents.{name}]\nkind = \"command\"\ncommand = [{program:?}]\n")
}

#[test]
fn missing_program_is_in_inbox_and_work_starts_when_it_appears() {
    let stage = DaemonProject::new("").with_settings(&agent("fixer", "./fix.sh"));
    let id = stage.add("fixer");
    let up = stage.up();
    wait_for("it is in the inbox", || {
        !stage.json(&["inbox"]).as_array().expect("a list").is_empty()
    });
    let item = &stage.json(&["inbox"])[0];
    assert_eq!(
        (&item["kind"], &item["taskId"]),
        (&"unusable".into(), &id.as_str().into()),
        "{item}"
    );
    let text = item["text"].as_str().expect("a text");
    assert!(text.starts_with("agent fixer cannot be started: "), "{text}");
    assert!(text.ends_with("fix.sh does not exist"), "{text}");
    let why = stage.json(&["why", &id]);
    assert_eq!(
        (&why["runnable"], &why["reasons"][0]["code"]),
        (&false.into(), &"agent_unusable".into())
    );
    let program = stage.home().join("fix.sh");
    fs::write(&program, SCRIPT).expect("written");
    wait_for("it is not executable", || {
        stage.json(&["inbox"])[0]["text"]
            .as_str()
            .is_some_and(|text| text.ends_with("is not executable"))
    });
    let doctor = stage.adjutant(["doctor", "--json"]);
    assert!(doctor.code == 1 && doctor.out.contains("program_missing"), "{doctor:?}");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("set");
    wait_for("it is done", || stage.status(&id) == "done");
    assert_eq!(stage.events_of(&id, "run.started")[0]["payload"]["attempt"], 1);
    assert!(stage.events_of(&id, "run.failed").is_empty());
    drop(up);
}

#[test]
fn program_that_cannot_be_executed_spends_no_attempt() {
    // The file is executable, but its interpreter does not exist.
    let stage = DaemonProject::new("").with_settings(&agent("fixer", "./fix.sh"));
    let program = stage.home().join("fix.sh");
    fs::write(&program, "#!/no/such/interpreter\n").expect("written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("set");
    let id = stage.add("fixer");
    stage.until_idle();
    assert_eq!(stage.status(&id), "ready");
    assert_eq!(stage.events_of(&id, "run.deferred").len(), 1);
    assert!(stage.events_of(&id, "run.failed").is_empty());
    let text = stage.json(&["inbox"])[0]["text"].as_str().expect("a text").to_owned();
    assert!(text.contains("could not be started"), "{text}");
}
