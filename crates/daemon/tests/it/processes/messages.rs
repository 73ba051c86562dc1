//! Each message arrives once and in order, even if the shim or its reader dies.

use adjutant_runs::supervisor::{LocalRunState, ProcessExit, RunEventKind, StopMode};
use rustix::process::Signal;
use serde_json::Value;

use crate::processes::support::{RunFixture, WAIT_TIMEOUT, wait_until};

/// Returns the progress text of a message.
fn progress_text(line: &str) -> String {
    let json: Value =
        serde_json::from_str(line.strip_prefix("AOF/1 ").expect("a message")).expect("JSON");
    json["payload"]["progress"].as_str().unwrap_or_default().to_owned()
}

fn counting_script(to: u32) -> String {
    let steps = (1..=to).map(|n| format!("{{progress: 'p{n}'}}, {{work: 5ms}}"));
    format!("steps: [{}]", steps.collect::<Vec<_>>().join(", "))
}

#[test]
fn messages_arrive_while_the_agent_runs() {
    let stage = RunFixture::new();
    let run = stage.start_script(
        "steps: [{print: hello}, {progress: half}, {print: AOF/2}, {progress: most}, hang]",
    );
    for expected in [(1, "half"), (2, "most")] {
        let event = stage.events.recv_timeout(WAIT_TIMEOUT).expect("a message");
        let RunEventKind::Message { seq, message } = event.kind else { panic!("{event:?}") };
        assert_eq!((seq, &*progress_text(&message.text)), expected);
    }
    stage.supervisor.stop(&run, "seen", StopMode::Immediately).expect("told");
    assert_eq!(stage.wait_for_end(&run).exit, ProcessExit::Stopped("seen".into()));
}

/// A reader acknowledges some messages and dies, repeatedly.
#[test]
fn message_that_is_acknowledged_arrives_exactly_once() {
    let mut stage = RunFixture::new();
    let run = stage.start_script(&counting_script(60));
    let mut taken = Vec::new();
    let exit = 'all: loop {
        for _ in 0..7 {
            match stage.events.recv_timeout(WAIT_TIMEOUT).expect("something happens").kind {
                RunEventKind::Message { seq, message } => {
                    taken.push((seq, progress_text(&message.text)));
                    stage.supervisor.confirm_messages(&run.task, run.attempt, seq).expect("noted");
                }
                RunEventKind::Exited { exit, .. } => break 'all exit,
            }
        }
        stage.restart();
        assert!(stage.supervisor.adopt(&run).expect("adopted"));
    };
    let expected: Vec<(u64, String)> = (1..=60).map(|n| (n, format!("p{n}"))).collect();
    assert_eq!((exit, taken), (ProcessExit::Code(0), expected));
    stage.expect_no_processes(&run);
}

#[test]
fn message_without_acknowledgement_arrives_again() {
    let mut stage = RunFixture::new();
    let run = stage.start_script(&counting_script(3));
    assert_eq!(stage.wait_for_end(&run).messages.len(), 3);
    stage.supervisor.confirm_messages(&run.task, run.attempt, 1).expect("noted");
    stage.restart();
    assert!(stage.supervisor.adopt(&run).expect("adopted"));
    let again = stage.wait_for_end(&run);
    assert_eq!(
        (again.exit, again.messages.len(), again.messages[0].0),
        (ProcessExit::Code(0), 2, 2)
    );
    assert!(stage.supervisor.adopt(&run).is_ok());
}

#[test]
fn finished_run_is_found_until_its_messages_are_acknowledged() {
    let mut stage = RunFixture::new();
    let run = stage.start_script(&counting_script(2));
    assert_eq!(stage.wait_for_end(&run).messages.len(), 2);
    stage.restart();
    assert_eq!(stage.supervisor.find_runs().expect("found"), [(run.clone(), LocalRunState::Over)]);
    assert_eq!(stage.supervisor.find_runs_of_task(&run.task).expect("found"), [], "it is over");
    stage.supervisor.confirm_messages(&run.task, run.attempt, 2).expect("noted");
    assert_eq!(stage.supervisor.find_runs().expect("found"), []);
}

#[test]
fn messages_survive_a_killed_shim() {
    let mut stage = RunFixture::new();
    let run = stage.start_script("steps: [{progress: one}, {report: {outcome: done, notes: All of it.}}, {print: here}, hang]");
    stage.wait_for_output(&run, "here");
    // The reader is gone before it acknowledged anything.
    stage.restart();
    let shim = stage.record(&run).shim_process();
    shim.send_signal(Signal::KILL);
    wait_until(|| !shim.is_alive());
    assert!(stage.supervisor.adopt(&run).expect("adopted"));
    let ended = stage.wait_for_end(&run);
    assert_eq!((ended.exit, ended.messages.len()), (ProcessExit::Lost, 2));
    assert!(ended.messages[1].1.contains("\"outcome\":\"done\""), "{:?}", ended.messages);
}

#[test]
fn messages_with_false_claims_are_passed_on_unchanged() {
    let stage = RunFixture::new();
    let ended = stage.run_script(
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
fn stderr_is_output_and_never_a_message() {
    let stage = RunFixture::new();
    let ended = stage.run_script("steps: [{complain: 'AOF/1 {}'}]");
    assert_eq!((ended.messages, &*ended.tail), (vec![], "AOF/1 {}"));
}
