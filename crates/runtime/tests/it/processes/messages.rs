//! Messages: each comes once, in order, whoever dies meanwhile.

use adjutant_runtime::supervisor::{Exit, Leave, Life, What};
use rustix::process::Signal;
use serde_json::Value;

use crate::processes::support::{PATIENCE, Stage, until};

/// Returns what a progress message says.
fn said(line: &str) -> String {
    let json: Value =
        serde_json::from_str(line.strip_prefix("AOF/1 ").expect("a message")).expect("JSON");
    json["payload"]["progress"].as_str().unwrap_or_default().to_owned()
}

fn counting(to: u32) -> String {
    let steps = (1..=to).map(|n| format!("{{progress: 'p{n}'}}, {{work: 5ms}}"));
    format!("steps: [{}]", steps.collect::<Vec<_>>().join(", "))
}

#[test]
fn messages_come_as_they_are_printed() {
    let stage = Stage::new();
    let run = stage
        .play("steps: [{print: hello}, {progress: half}, {print: AOF/2}, {progress: most}, hang]");
    for expected in [(1, "half"), (2, "most")] {
        let event = stage.events.recv_timeout(PATIENCE).expect("a message");
        let What::Line { seq, text, .. } = event.what else { panic!("{event:?}") };
        assert_eq!((seq, &*said(&text)), expected);
    }
    stage.supervisor.stop(&run, "seen", Leave::Now).expect("told");
    assert_eq!(stage.end(&run).exit, Exit::Stopped("seen".into()));
}

/// Somebody who listens takes some messages and dies, again and again.
#[test]
fn every_message_comes_exactly_once_to_those_who_take_them() {
    let mut stage = Stage::new();
    let run = stage.play(&counting(60));
    let mut taken = Vec::new();
    let exit = 'all: loop {
        for _ in 0..7 {
            match stage.events.recv_timeout(PATIENCE).expect("something happens").what {
                What::Line { seq, text, .. } => {
                    taken.push((seq, said(&text)));
                    stage.supervisor.take(&run.task, run.attempt, seq).expect("noted");
                }
                What::Exited { exit, .. } => break 'all exit,
            }
        }
        stage.restart();
        assert!(stage.supervisor.adopt(&run).expect("adopted"));
    };
    let expected: Vec<(u64, String)> = (1..=60).map(|n| (n, format!("p{n}"))).collect();
    assert_eq!((exit, taken), (Exit::Code(0), expected));
    stage.nothing_is_left(&run);
}

#[test]
fn what_was_not_taken_comes_again() {
    let mut stage = Stage::new();
    let run = stage.play(&counting(3));
    assert_eq!(stage.end(&run).messages.len(), 3);
    stage.supervisor.take(&run.task, run.attempt, 1).expect("noted");
    stage.restart();
    assert!(stage.supervisor.adopt(&run).expect("adopted"));
    let again = stage.end(&run);
    assert_eq!((again.exit, again.messages.len(), again.messages[0].0), (Exit::Code(0), 2, 2));
    assert!(stage.supervisor.adopt(&run).is_ok());
}

#[test]
fn a_run_that_is_over_is_found_as_long_as_nobody_has_heard_what_it_said() {
    let mut stage = Stage::new();
    let run = stage.play(&counting(2));
    assert_eq!(stage.end(&run).messages.len(), 2);
    stage.restart();
    assert_eq!(stage.supervisor.find().expect("found"), [(run.clone(), Life::Over)]);
    assert_eq!(stage.supervisor.find_of(&run.task).expect("found"), [], "it is over");
    stage.supervisor.take(&run.task, run.attempt, 2).expect("noted");
    assert_eq!(stage.supervisor.find().expect("found"), []);
}

#[test]
fn messages_outlive_the_shim_that_was_killed() {
    let mut stage = Stage::new();
    let run = stage.play("steps: [{progress: one}, {report: {outcome: done, notes: All of it.}}, {print: here}, hang]");
    stage.printed(&run, "here");
    // Whoever listened is gone before anything was taken.
    stage.restart();
    let shim = stage.record(&run).shim();
    shim.send(Signal::KILL);
    until(|| !shim.is_alive());
    assert!(stage.supervisor.adopt(&run).expect("adopted"));
    let ended = stage.end(&run);
    assert_eq!((ended.exit, ended.messages.len()), (Exit::Lost, 2));
    assert!(ended.messages[1].1.contains("\"outcome\":\"done\""), "{:?}", ended.messages);
}

#[test]
fn a_lie_is_handed_over_as_it_was_told() {
    let stage = Stage::new();
    let ended = stage.played(
        "steps:
           - lie: {task: TASK-2026-02-09-999}
           - lie: {agent: boss}
           - lie: {token: 99-0123456789abcdef0123456789abcdef}
           - report: {outcome: done, times: 2}
           - delegate: {task: TASK-2026-02-09-002, to: helper, criteria: [It works]}",
    );
    let messages: Vec<&str> = ended.messages.iter().map(|(_, line)| &**line).collect();
    assert!(messages[0].contains("\"taskId\":\"TASK-2026-02-09-999\""));
    assert!(messages[1].contains("\"fromAgent\":\"boss\""));
    assert!(messages[2].contains("\"runToken\":\"99-"));
    assert!(messages[3].contains("completion.report") && messages[4].contains("completion.report"));
    assert!(messages[5].contains("handoff.request") && messages[5].contains("helper"));
}

#[test]
fn errors_are_output_and_never_messages() {
    let stage = Stage::new();
    let ended = stage.played("steps: [{complain: 'AOF/1 {}'}]");
    assert_eq!((ended.messages, &*ended.tail), (vec![], "AOF/1 {}"));
}
