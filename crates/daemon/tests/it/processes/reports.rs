//! Report documents of a run: each arrives once and complete, wherever the agent left it.

use adjutant_model::dialect::ProtocolDialect;
use adjutant_model::document::DocumentKind;
use adjutant_run_files::dialect_files::DialectFiles;
use adjutant_runs::report_document::is_whole;
use adjutant_runs::supervisor::{ProcessExit, RunEventKind, RunRef, StartResult, StopMode};
use rustix::process::Signal;

use crate::processes::support::{RunFixture, WAIT_TIMEOUT, run, wait_until};

/// Kind, text and flaw of a document that a run left.
type LeftDocument = (Option<DocumentKind>, String, Option<String>);

/// Starts a script agent with a dialect.
fn start_script(stage: &RunFixture, dialect: ProtocolDialect, steps: &str) -> RunRef {
    let run = run(1);
    let forms = DialectFiles::for_dialect(dialect).expect("a dialect with documents");
    let order = "{\"task_id\": \"T042\", \"taskId\": \"API-1\"}\n".to_owned();
    let mut launch = stage.launch(&format!("steps: [{steps}]"));
    launch.environment.set.extend(forms.variables(stage.folder(&run).path()));
    launch.report = Some(forms.report());
    launch.files = vec![(forms.order.to_owned(), order)];
    assert_eq!(stage.supervisor.start(&run, &launch).expect("started"), StartResult::Running);
    assert!(stage.supervisor.adopt(&run).expect("adopted"));
    run
}

fn next(stage: &RunFixture) -> RunEventKind {
    stage.events.recv_timeout(WAIT_TIMEOUT).expect("something happens").kind
}

fn to_left_document(what: RunEventKind) -> LeftDocument {
    let RunEventKind::Message { message, .. } = what else { panic!("{what:?}") };
    (message.kind, message.text, message.flaw)
}

/// Runs the script to its end and returns all documents.
fn run_script(dialect: ProtocolDialect, steps: &str) -> Vec<LeftDocument> {
    let stage = RunFixture::new();
    let run = start_script(&stage, dialect, steps);
    let mut all = Vec::new();
    loop {
        match next(&stage) {
            RunEventKind::Exited { exit, tail, .. } => {
                assert_eq!(exit, ProcessExit::Code(0), "{tail}");
                stage.expect_no_processes(&run);
                return all;
            }
            line @ RunEventKind::Message { .. } => all.push(to_left_document(line)),
        }
    }
}

fn stop(stage: &RunFixture, run: &RunRef) {
    stage.supervisor.stop(run, "seen", StopMode::Immediately).expect("told");
    assert_eq!(stage.wait_for_end(run).messages, [], "it comes once");
}

#[test]
fn report_file_is_read_as_soon_as_it_is_complete() {
    for (dialect, step, kind) in [
        (ProtocolDialect::Mission, "result: {status: completed}", DocumentKind::Result),
        (
            ProtocolDialect::NewTask,
            "attempt_completion: {status: success}",
            DocumentKind::AttemptCompletion,
        ),
    ] {
        let stage = RunFixture::new();
        let run = start_script(&stage, dialect, &format!("{{{step}}}, hang"));
        let (found, text, flaw) = to_left_document(next(&stage));
        assert_eq!((found, flaw), (Some(kind), None));
        assert!(is_whole(kind, text.as_bytes()), "{text}");
        stop(&stage, &run);
    }
}

#[test]
fn report_file_that_is_half_written_is_not_read() {
    let stage = RunFixture::new();
    let run = start_script(
        &stage,
        ProtocolDialect::Mission,
        "{result: {status: completed, by: halves}}, hang",
    );
    let (kind, text, _) = to_left_document(next(&stage));
    assert_eq!(kind, Some(DocumentKind::Result));
    assert!(is_whole(DocumentKind::Result, text.as_bytes()), "{text}");
    stop(&stage, &run);
}

#[test]
fn report_file_at_exit_is_read_even_if_incomplete() {
    for by in ["half", "nonsense"] {
        let all = run_script(
            ProtocolDialect::Mission,
            &format!("{{result: {{status: completed, by: {by}}}}}"),
        );
        let [(kind, text, flaw)] = &all[..] else { panic!("{all:?}") };
        assert_eq!((*kind, flaw), (Some(DocumentKind::Result), &None));
        assert!(!is_whole(DocumentKind::Result, text.as_bytes()), "{text}");
    }
    assert_eq!(run_script(ProtocolDialect::Mission, "{print: nothing}"), []);
}

#[test]
fn report_on_an_output_line_is_read_at_once() {
    for (dialect, step) in [
        (ProtocolDialect::NewTask, "attempt_completion: {status: failure, by: line}"),
        (ProtocolDialect::Mission, "result: {status: failed, by: line}"),
    ] {
        let stage = RunFixture::new();
        let run = start_script(&stage, dialect, &format!("{{print: '{{}}'}}, {{{step}}}, hang"));
        let (kind, text, _) = to_left_document(next(&stage));
        assert!(kind.is_some_and(|kind| is_whole(kind, text.as_bytes())), "{text}");
        stop(&stage, &run);
    }
}

#[test]
fn report_at_the_end_of_the_output_is_read_at_exit() {
    for (dialect, step) in [
        (ProtocolDialect::NewTask, "attempt_completion: {status: success, by: output}"),
        (ProtocolDialect::Mission, "result: {status: completed, by: output}"),
    ] {
        let steps = format!(
            "{{print: Thinking}}, {{flood: {{bytes: 3000000}}}}, {{print: ''}}, {{{step}}}"
        );
        let all = run_script(dialect, &steps);
        let [(Some(kind), text, None)] = &all[..] else { panic!("{all:?}") };
        assert!(is_whole(*kind, text.as_bytes()), "{text}");
    }
}

#[test]
fn report_file_overrides_printed_report() {
    let steps = "{result: {status: completed, by: output}}, {result: {status: failed}}";
    let all = run_script(ProtocolDialect::Mission, steps);
    let [(_, text, _)] = &all[..] else { panic!("{all:?}") };
    assert!(text.contains("failed"), "{text}");
}

#[test]
fn report_file_that_is_a_link_is_not_followed() {
    let stage = RunFixture::new();
    stage.folder(&run(1)).create().expect("made");
    let file = stage.folder(&run(1)).join("result.yaml");
    std::os::unix::fs::symlink("/etc/passwd", file).expect("linked");
    let run = start_script(&stage, ProtocolDialect::Mission, "{print: done}");
    let (_, text, flaw) = to_left_document(next(&stage));
    assert_eq!(text, "");
    assert!(flaw.as_ref().is_some_and(|flaw| flaw.starts_with("cannot be read")), "{flaw:?}");
    assert_eq!(stage.wait_for_end(&run).exit, ProcessExit::Code(0));
}

#[test]
fn report_file_that_is_not_text_has_a_flaw() {
    let stage = RunFixture::new();
    let run = start_script(&stage, ProtocolDialect::Mission, "{print: here}, hang");
    stage.wait_for_output(&run, "here");
    stage.folder(&run).write("result.yaml", b"version: \"\xff\"\n").expect("written");
    stage.supervisor.stop(&run, "seen", StopMode::Immediately).expect("told");
    let (_, text, flaw) = to_left_document(next(&stage));
    assert_eq!(text, "version: \"\u{fffd}\"\n");
    assert!(flaw.as_ref().is_some_and(|flaw| flaw.starts_with("is not text")), "{flaw:?}");
    stage.wait_for_end(&run);
}

#[test]
fn report_survives_a_killed_shim() {
    let stage = RunFixture::new();
    let steps = "{result: {status: completed, by: half}}, {print: here}, hang";
    let run = start_script(&stage, ProtocolDialect::Mission, steps);
    stage.wait_for_output(&run, "here");
    stage.record(&run).shim_process().send_signal(Signal::KILL);
    let (kind, text, _) = to_left_document(next(&stage));
    assert_eq!(kind, Some(DocumentKind::Result));
    assert!(text.starts_with("version"), "{text}");
    let ended = stage.wait_for_end(&run);
    assert_eq!((ended.exit, &ended.messages[..]), (ProcessExit::Lost, &[][..]));
}

#[test]
fn report_acknowledged_does_not_arrive_again_after_shim_death() {
    let mut stage = RunFixture::new();
    let run = start_script(&stage, ProtocolDialect::Mission, "{result: {status: completed}}, hang");
    to_left_document(next(&stage));
    stage.supervisor.confirm_messages(&run.task, run.attempt, 1).expect("noted");
    let shim = stage.record(&run).shim_process();
    stage.restart();
    shim.send_signal(Signal::KILL);
    wait_until(|| !shim.is_alive());
    assert!(stage.supervisor.adopt(&run).expect("adopted"));
    assert_eq!(stage.wait_for_end(&run).messages, []);
}
