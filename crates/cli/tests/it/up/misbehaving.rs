//! Agents that do what no agent should. Each ends as it should, and leaves nobody behind.

use std::fs;

use adjutant_test_support::soak::is_soak;
use serde_json::Value;

use crate::up::stage::{Stage, until, wait_for};

/// Lets one agent have one task until there is nothing left to do.
fn play(script: &str, settings: &str) -> (Stage, String) {
    let stage = Stage::new("attempts_max = 2").with_agent_as("actor", script, settings);
    let id = stage.add("actor");
    stage.until_idle();
    (stage, id)
}

/// Says where a task ends, after how many runs, and why each came to nothing.
fn check(script: &str, settings: &str, status: &str, runs: usize, reason: &str) -> Stage {
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
fn one_that_hangs_is_stopped_and_tried_again_until_it_is_given_up() {
    check("steps: [hang]", "timeout = \"300ms\"", "deadletter", 2, "too long");
    check(
        "steps: [{print: hello}, hang]",
        "idle_timeout = \"300ms\"",
        "deadletter",
        2,
        "said nothing",
    );
}

#[test]
fn one_that_will_not_hear_is_killed() {
    check("steps: [ignore_term, hang]", "timeout = \"300ms\"", "deadletter", 2, "too long");
}

#[test]
fn one_that_has_reported_and_stays_is_stopped() {
    let stage = check("steps: [ignore_term, {report: {outcome: done}}, hang]", "", "done", 1, "");
    assert_eq!(stage.count("done"), 1);
}

#[test]
fn what_one_leaves_behind_ends_with_it() {
    for session in [true, false] {
        let left = format!("fork: {{session: {session}, steps: [ignore_term, hang]}}");
        let script = format!("steps: [{{{left}}}, {{report: {{outcome: done}}}}]");
        check(&script, "", "done", 1, "");
        check(&format!("steps: [{{{left}}}]"), "", "deadletter", 2, "exit");
    }
}

#[test]
fn one_that_prints_without_end_does_its_work_all_the_same() {
    let bytes: u64 = if is_soak() { 1 << 30 } else { 100 << 20 };
    let report = "{report: {outcome: done}}";
    for of in ["lines", "one_line", "binary"] {
        let script =
            format!("steps: [{{flood: {{bytes: {bytes}, of: {of}}}}}, {{print: ''}}, {report}]");
        check(&script, "", "done", 1, "");
    }
}

#[test]
fn a_message_without_end_is_refused_and_the_next_one_counts() {
    let script =
        "steps: [{flood: {bytes: 30000000, of: message}}, {print: ''}, {report: {outcome: done}}]";
    let stage = check(script, "", "done", 1, "");
    let refused = |event: &Value| event["payload"]["reason"] == "payload_too_large";
    assert_eq!(stage.events().iter().filter(|event| refused(event)).count(), 1);
}

#[test]
fn one_that_does_not_read_its_order_may_work() {
    check("steps: [close_stdin, {work: 50ms}, {report: {outcome: done}}]", "", "done", 1, "");
}

#[test]
fn one_that_says_nothing_is_not_done() {
    check("steps: []", "", "deadletter", 2, "exit");
    check("steps: []", "on_exit_ok = \"needs_review\"", "review", 1, "");
    check("steps: []", "on_exit_ok = \"done\"", "done", 1, "");
}

#[test]
fn one_that_fails_says_why() {
    check("steps: [{complain: no oil}, {exit: 1}]", "", "deadletter", 2, "no oil");
    check("steps: [{die: 11}]", "", "deadletter", 2, "signal 11");
}

#[test]
fn one_that_is_suspended_is_stopped_when_its_time_is_over() {
    check("steps: [suspend]", "timeout = \"300ms\"", "deadletter", 2, "too long");
}

#[test]
fn one_that_cannot_be_started_is_an_attempt_without_a_result() {
    let stage = Stage::new("attempts_max = 2").with_agent("actor", "steps: []");
    let config = stage.path("adjutant.toml");
    let text = fs::read_to_string(&config).expect("a configuration");
    let other = text.replace("kind = \"script\"", "kind = \"command\"\ncommand = [\"/no/such\"]");
    let kept = other.lines().filter(|line| !line.starts_with("script"));
    fs::write(&config, kept.collect::<Vec<_>>().join("\n")).expect("written");
    let id = stage.add("actor");
    stage.until_idle();
    assert_eq!(stage.status(&id), "deadletter");
    let failed = stage.events_of(&id, "run.failed");
    assert!(failed[0]["payload"]["reason"].as_str().is_some_and(|why| why.contains("/no/such")));
}

#[test]
fn a_cancelled_task_takes_its_run_with_it() {
    let stage = Stage::new("").with_agent("actor", "steps: [ignore_term, hang]");
    let id = stage.add("actor");
    let up = stage.up();
    let (shim, agent) = stage.run(&id, 1);
    stage.does(["task", "cancel", &id]);
    wait_for("the run ends", || !shim.is_alive() && !agent.is_alive());
    let exited = until("its end is known", || stage.events_of(&id, "run.exited").pop());
    assert_eq!(exited["payload"]["fence"], 1, "{exited}");
    assert_eq!(stage.status(&id), "cancelled");
    up.kill();
    stage.until_idle();
}

#[test]
fn a_task_says_itself_how_long_it_may_take() {
    let stage = Stage::new("attempts_max = 1").with_agent("actor", "steps: [{print: hello}, hang]");
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
    assert_eq!(up.ends().code(), Some(0), "{}", stage.errors());
    for (id, reason) in [(long, "took too long"), (silent, "said nothing for too long")] {
        assert_eq!(stage.status(&id), "deadletter");
        let failed = stage.events_of(&id, "run.failed").pop().expect("an event");
        let said = failed["payload"]["reason"].as_str().expect("a reason");
        assert!(said.contains(reason), "{said}");
    }
    assert!(stage.events_of(&unclear, "run.started").is_empty());
    let why = stage.json(&["why", &unclear]);
    assert_eq!(why["reasons"][0]["code"], "unreadable", "{why}");
    let found = stage.adjutant(["doctor"]);
    assert!(found.out.contains("metadata.timeout: must be a length of time"), "{found:?}");
}
