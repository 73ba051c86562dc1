//! Misbehaving agents: each run ends correctly and leaves no process behind.

use std::fs;

use adjutant_test_support::soak::is_soak;
use serde_json::Value;

use crate::up::project::{DaemonProject, until, wait_for};

/// Lets one agent work on one task until the daemon is idle.
fn play(script: &str, settings: &str) -> (DaemonProject, String) {
    let stage = DaemonProject::new("attempts_max = 2").with_agent_as("actor", script, settings);
    let id = stage.add("actor");
    stage.until_idle();
    (stage, id)
}

/// Asserts the task's final status, the number of runs, and why each run failed.
fn check(script: &str, settings: &str, status: &str, runs: usize, reason: &str) -> DaemonProject {
    let (stage, id) = play(script, settings);
    assert_eq!(stage.status(&id), status, "{:#?}", stage.events());
    assert_eq!(stage.events_of(&id, "run.started").len(), runs);
    let failed = stage.events_of(&id, "run.failed");
    let said: Vec<&Value> = failed.iter().map(|event| &event["payload"]["reason"]).collect();
    assert!(
        said.iter().all(|said| said.as_str().is_some_and(|said| said.contains(reason))),
        "{said:?}"
    );
    let given_up = usize::from(status == "deadletter") * runs;
    assert_eq!(said.len(), given_up, "{said:?}");
    stage
}

#[test]
fn hanging_agent_is_stopped_and_retried_until_deadletter() {
    check("steps: [hang]", "timeout = \"300ms\"", "deadletter", 2, "timed out");
    check(
        "steps: [{print: hello}, hang]",
        "idle_timeout = \"300ms\"",
        "deadletter",
        2,
        "printed nothing",
    );
}

#[test]
fn agent_that_ignores_term_is_killed() {
    check("steps: [ignore_term, hang]", "timeout = \"300ms\"", "deadletter", 2, "timed out");
}

#[test]
fn agent_that_stays_after_its_report_is_stopped() {
    let stage = check("steps: [ignore_term, {report: {outcome: done}}, hang]", "", "done", 1, "");
    assert_eq!(stage.count("done"), 1);
}

#[test]
fn child_processes_end_with_their_agent() {
    for session in [true, false] {
        let left = format!("fork: {{session: {session}, steps: [ignore_term, hang]}}");
        let script = format!("steps: [{{{left}}}, {{report: {{outcome: done}}}}]");
        check(&script, "", "done", 1, "");
        check(&format!("steps: [{{{left}}}]"), "", "deadletter", 2, "exit");
    }
}

#[test]
fn agent_with_endless_output_still_completes() {
    let bytes: u64 = if is_soak() { 1 << 30 } else { 100 << 20 };
    let report = "{report: {outcome: done}}";
    for of in ["lines", "one_line", "binary"] {
        let script =
            format!("steps: [{{flood: {{bytes: {bytes}, of: {of}}}}}, {{print: ''}}, {report}]");
        check(&script, "", "done", 1, "");
    }
}

#[test]
fn oversized_message_is_refused_and_next_message_counts() {
    let script =
        "steps: [{flood: {bytes: 30000000, of: message}}, {print: ''}, {report: {outcome: done}}]";
    let stage = check(script, "", "done", 1, "");
    let refused = |event: &Value| event["payload"]["reason"] == "payload_too_large";
    assert_eq!(stage.events().iter().filter(|event| refused(event)).count(), 1);
}

#[test]
fn agent_that_does_not_read_its_order_can_complete() {
    check("steps: [close_stdin, {work: 50ms}, {report: {outcome: done}}]", "", "done", 1, "");
}

#[test]
fn agent_without_report_is_not_done_by_default() {
    check("steps: []", "", "deadletter", 2, "exit");
    check("steps: []", "on_exit_ok = \"needs_review\"", "review", 1, "");
    check("steps: []", "on_exit_ok = \"done\"", "done", 1, "");
}

#[test]
fn failed_agent_reason_is_recorded() {
    check("steps: [{complain: no oil}, {exit: 1}]", "", "deadletter", 2, "no oil");
    check("steps: [{die: 11}]", "", "deadletter", 2, "signal 11");
}

#[test]
fn suspended_agent_is_stopped_at_timeout() {
    check("steps: [suspend]", "timeout = \"300ms\"", "deadletter", 2, "timed out");
}

#[test]
fn agent_without_program_gets_no_run() {
    let agent = "[agents.actor]\nkind = \"command\"\ncommand = [\"/no/such\"]\n";
    let stage = DaemonProject::new("attempts_max = 2").with_settings(agent);
    let id = stage.add("actor");
    let up = stage.up_with(&["--until-idle"]);
    assert_eq!(up.wait_for_exit().code(), Some(0), "{}", stage.errors());
    assert_eq!(stage.status(&id), "ready");
    assert!(stage.events_of(&id, "run.started").is_empty());
    let why = stage.json(&["why", &id])["reasons"][0]["text"].to_string();
    assert!(why.contains("/no/such does not exist"), "{why}");
}

#[test]
fn cancelled_task_stops_its_run() {
    let stage = DaemonProject::new("").with_agent("actor", "steps: [ignore_term, hang]");
    let id = stage.add("actor");
    let up = stage.up();
    let (shim, agent) = stage.run(&id, 1);
    stage.run_ok(["task", "cancel", &id]);
    wait_for("the run ends", || !shim.is_alive() && !agent.is_alive());
    let exited = until("its end is known", || stage.events_of(&id, "run.exited").pop());
    assert_eq!(exited["payload"]["fence"], 1, "{exited}");
    assert_eq!(stage.status(&id), "cancelled");
    up.kill();
    stage.until_idle();
}

#[test]
fn task_can_set_its_own_timeouts() {
    let stage =
        DaemonProject::new("attempts_max = 1").with_agent("actor", "steps: [{print: hello}, hang]");
    let say = |key: &str, value: &str| {
        let id = stage.add("actor");
        let path = stage.path(&format!("tasks/ready/{id}.md"));
        let text = fs::read_to_string(&path).expect("the file");
        let said = text.replace("metadata:\n", &format!("metadata:\n  {key}: {value}\n"));
        fs::write(&path, said).expect("written");
        id
    };
    let (long, silent) = (say("timeout", "300ms"), say("idleTimeout", "1"));
    let unclear = say("timeout", "soon");
    let up = stage.up_with(&["--until-idle"]);
    assert_eq!(up.wait_for_exit().code(), Some(0), "{}", stage.errors());
    for (id, reason) in [(long, "timed out"), (silent, "printed nothing for too long")] {
        assert_eq!(stage.status(&id), "deadletter");
        let failed = stage.events_of(&id, "run.failed").pop().expect("an event");
        let said = failed["payload"]["reason"].as_str().expect("a reason");
        assert!(said.contains(reason), "{said}");
    }
    assert!(stage.events_of(&unclear, "run.started").is_empty());
    let why = stage.json(&["why", &unclear]);
    assert_eq!(why["reasons"][0]["code"], "unreadable", "{why}");
    let found = stage.adjutant(["doctor"]);
    assert!(found.out.contains("metadata.timeout: must be a duration"), "{found:?}");
}
