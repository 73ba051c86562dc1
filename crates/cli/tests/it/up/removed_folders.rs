//! The folder of a run is removed while the run is active.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::up::project::{DaemonProject, RunningDaemon, wait_for};

/// An agent whose first attempt works for an hour, with a child process in its own session.
const WORKS: &str = "attempts: {1: [{fork: {session: true, steps: [{work: 1h}]}}, {work: 1h}]}\n\
                     steps: [{report: {outcome: done}}]";

fn check(folder: impl Fn(&DaemonProject, &str) -> PathBuf) {
    let stage = DaemonProject::new("").with_agent("actor", WORKS);
    let id = stage.add("actor");
    let mut up = stage.up_with(&["--until-idle"]);
    let (shim, agent) = stage.run(&id, 1);
    wait_for("it is looked after", || up.has_printed("started"));
    fs::remove_dir_all(folder(&stage, &id)).expect("removed");
    assert_eq!(up.wait_for_exit().code(), Some(0), "{}", stage.errors());
    assert!(!shim.is_alive() && !agent.is_alive());
    assert_eq!(stage.status(&id), "done");
    let failed = stage.events_of(&id, "run.failed");
    let reason = failed.first().expect("it counts")["payload"]["reason"].as_str();
    let reason = reason.expect("a reason");
    assert!(reason.contains("the folder of the run was removed"), "{reason}");
    assert_eq!((failed.len(), stage.events_of(&id, "run.started").len()), (1, 2));
    stage.assert_consistent();
}

#[test]
fn run_with_removed_folder_is_ended_and_reassigned() {
    check(|stage, id| stage.attempt(id, 1));
    check(|stage, id| stage.path(&format!("runs/{id}")));
}

#[test]
fn run_with_folder_removed_while_daemon_was_down_is_ended_first() {
    let stage = DaemonProject::new("heartbeat_ttl = \"1s\"").with_agent("actor", WORKS);
    let id = stage.add("actor");
    let up = stage.up();
    let (shim, agent) = stage.run(&id, 1);
    wait_for("it is known to run", || !stage.events_of(&id, "run.heartbeat").is_empty());
    up.kill();
    fs::remove_dir_all(stage.path(&format!("runs/{id}"))).expect("removed");
    stage.until_idle();
    assert_eq!(stage.status(&id), "done");
    assert!(!shim.is_alive() && !agent.is_alive());
    assert_eq!(stage.events_of(&id, "run.started").len(), 2);
}

#[test]
fn run_of_removed_project_ends_by_itself() {
    let stage = DaemonProject::new("").with_agent("actor", WORKS);
    let id = stage.add("actor");
    stage.run_ok(["tick"]);
    let (shim, agent) = stage.run(&id, 1);
    // The shim may write to the folder while it is being removed.
    wait_for("it is gone", || {
        fs::remove_dir_all(stage.path("")).is_ok() || !stage.path("").exists()
    });
    wait_for("it ends", || !shim.is_alive() && !agent.is_alive());
    stage.assert_no_processes();
}

#[test]
fn run_without_trace_of_its_start_is_ended_before_restart() {
    let stage = DaemonProject::new("").with_agent("actor", WORKS);
    let id = stage.add("actor");
    let up = stage.up();
    let (shim, agent) = stage.run(&id, 1);
    up.kill();
    fs::remove_dir_all(stage.path(&format!("runs/{id}/attempts"))).expect("removed");
    let up = stage.up();
    let (_, second) = stage.run(&id, 1);
    assert!(second != agent && !agent.is_alive());
    wait_for("the shim is gone", || !shim.is_alive());
    up.send(Signal::QUIT);
    assert_eq!(up.wait_for_exit().code(), Some(0), "{}", stage.errors());
    stage.assert_consistent();
}

/// Waits until the daemon says that its folder is gone, and ends it by one signal.
fn assert_ends_at_first_signal(mut up: RunningDaemon, signal: Signal) {
    wait_for("it says that it has no folder", || {
        assert!(up.is_running(), "it has left by itself");
        let said = up.printed_documents();
        said.iter().any(|said| {
            said["stuck"].as_str().is_some_and(|why| why.contains("moved, replaced or removed"))
        })
    });
    up.send(signal);
    assert_eq!(up.wait_for_exit().code(), Some(0));
}

#[test]
fn daemon_of_moved_project_makes_no_second_folder() {
    for signal in [Signal::INT, Signal::TERM] {
        let stage = DaemonProject::new("").with_agent("actor", WORKS);
        let id = stage.add("actor");
        let up = stage.up();
        let (shim, agent) = stage.run(&id, 1);
        let elsewhere = tempfile::tempdir().expect("a folder");
        let moved = elsewhere.path().join("project");
        fs::rename(stage.home(), &moved).expect("moved");
        assert_ends_at_first_signal(up, signal);
        assert!(!stage.home().exists(), "something was made at the old path");
        fs::rename(&moved, stage.home()).expect("moved");
        let next = stage.up();
        next.send(Signal::QUIT);
        assert_eq!(next.wait_for_exit().code(), Some(0), "{}", stage.errors());
        assert!(!shim.is_alive() && !agent.is_alive());
        stage.assert_consistent();
    }
}

#[test]
fn daemon_whose_folder_comes_back_continues() {
    let stage = DaemonProject::new("").with_agent("actor", "steps: [{report: {outcome: done}}]");
    let mut up = stage.up();
    let (root, moved) = (stage.path(""), stage.home().join("moved"));
    fs::rename(&root, &moved).expect("moved");
    let says_stuck = |up: &mut RunningDaemon, stuck: bool| {
        wait_for("it says how it stands", || {
            let said = up.printed_documents();
            said.iter().filter_map(|said| said.get("stuck")).any(|why| why.is_string() == stuck)
        });
    };
    says_stuck(&mut up, true);
    assert!(!root.exists(), "a second folder was made");
    fs::rename(&moved, &root).expect("moved");
    says_stuck(&mut up, false);
    let id = stage.add("actor");
    wait_for("the work is done", || stage.status(&id) == "done");
    up.end();
}

#[test]
fn daemon_of_removed_or_replaced_folder_ends_at_first_signal() {
    for replaced in [false, true] {
        let stage = DaemonProject::new("").with_agent("actor", WORKS);
        let up = stage.up();
        let root = stage.path("");
        wait_for("it is gone", || fs::remove_dir_all(&root).is_ok() || !root.exists());
        if replaced {
            stage.run_ok(["init", stage.home().to_str().expect("text")]);
        }
        let before: Vec<_> = walk(&root);
        assert_ends_at_first_signal(up, Signal::TERM);
        assert_eq!(walk(&root), before, "the daemon wrote to a folder that is not its own");
    }
}

/// Returns the paths in a folder, sorted; none if there is no folder.
fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            paths.extend(walk(&path));
        }
        paths.push(path);
    }
    paths.sort();
    paths
}
