//! Documents that say what came of a run: each comes once and whole, wherever it was left.

use adjutant_core::dialect::{Dialect, DocumentKind};
use adjutant_runtime::dialect::Forms;
use adjutant_runtime::document::is_whole;
use adjutant_runtime::supervisor::{Exit, Leave, Run, Started, What};
use rustix::process::Signal;

use crate::processes::support::{PATIENCE, Stage, run, until};

/// What a run left: the kind of document, its text, and what is wrong with it.
type Left = (Option<DocumentKind>, String, Option<String>);

/// Starts a script that speaks a dialect.
fn play(stage: &Stage, dialect: Dialect, steps: &str) -> Run {
    let run = run(1);
    let forms = Forms::of(dialect).expect("a dialect with documents");
    let order = "{\"task_id\": \"T042\", \"taskId\": \"API-1\"}\n".to_owned();
    let mut launch = stage.launch(&format!("steps: [{steps}]"));
    launch.environment.set.extend(forms.variables(stage.folder(&run).path()));
    launch.report = Some(forms.report());
    launch.papers = vec![(forms.order.to_owned(), order)];
    assert_eq!(stage.supervisor.start(&run, &launch).expect("started"), Started::Now);
    assert!(stage.supervisor.adopt(&run).expect("adopted"));
    run
}

fn next(stage: &Stage) -> What {
    stage.events.recv_timeout(PATIENCE).expect("something happens").what
}

fn left(what: What) -> Left {
    let What::Line { text, kind, flaw, .. } = what else { panic!("{what:?}") };
    (kind, text, flaw)
}

/// Plays to the end, and returns all that was left.
fn played(dialect: Dialect, steps: &str) -> Vec<Left> {
    let stage = Stage::new();
    let run = play(&stage, dialect, steps);
    let mut all = Vec::new();
    loop {
        match next(&stage) {
            What::Exited { exit, tail, .. } => {
                assert_eq!(exit, Exit::Code(0), "{tail}");
                stage.nothing_is_left(&run);
                return all;
            }
            line @ What::Line { .. } => all.push(left(line)),
        }
    }
}

fn stop(stage: &Stage, run: &Run) {
    stage.supervisor.stop(run, "seen", Leave::Now).expect("told");
    assert_eq!(stage.end(run).messages, [], "it comes once");
}

#[test]
fn a_file_is_taken_as_soon_as_it_is_whole() {
    for (dialect, step, kind) in [
        (Dialect::Mission, "result: {status: completed}", DocumentKind::Result),
        (
            Dialect::NewTask,
            "attempt_completion: {status: success}",
            DocumentKind::AttemptCompletion,
        ),
    ] {
        let stage = Stage::new();
        let run = play(&stage, dialect, &format!("{{{step}}}, hang"));
        let (found, text, flaw) = left(next(&stage));
        assert_eq!((found, flaw), (Some(kind), None));
        assert!(is_whole(kind, text.as_bytes()), "{text}");
        stop(&stage, &run);
    }
}

#[test]
fn a_file_that_is_half_written_is_not_read() {
    let stage = Stage::new();
    let run = play(&stage, Dialect::Mission, "{result: {status: completed, by: halves}}, hang");
    let (kind, text, _) = left(next(&stage));
    assert_eq!(kind, Some(DocumentKind::Result));
    assert!(is_whole(DocumentKind::Result, text.as_bytes()), "{text}");
    stop(&stage, &run);
}

#[test]
fn what_is_there_in_the_end_is_taken_as_it_is() {
    for by in ["half", "nonsense"] {
        let all = played(Dialect::Mission, &format!("{{result: {{status: completed, by: {by}}}}}"));
        let [(kind, text, flaw)] = &all[..] else { panic!("{all:?}") };
        assert_eq!((*kind, flaw), (Some(DocumentKind::Result), &None));
        assert!(!is_whole(DocumentKind::Result, text.as_bytes()), "{text}");
    }
    assert_eq!(played(Dialect::Mission, "{print: nothing}"), []);
}

#[test]
fn a_document_on_a_line_is_taken_at_once() {
    for (dialect, step) in [
        (Dialect::NewTask, "attempt_completion: {status: failure, by: line}"),
        (Dialect::Mission, "result: {status: failed, by: line}"),
    ] {
        let stage = Stage::new();
        let run = play(&stage, dialect, &format!("{{print: '{{}}'}}, {{{step}}}, hang"));
        let (kind, text, _) = left(next(&stage));
        assert!(kind.is_some_and(|kind| is_whole(kind, text.as_bytes())), "{text}");
        stop(&stage, &run);
    }
}

#[test]
fn a_document_at_the_end_of_the_output_is_taken_in_the_end() {
    for (dialect, step) in [
        (Dialect::NewTask, "attempt_completion: {status: success, by: output}"),
        (Dialect::Mission, "result: {status: completed, by: output}"),
    ] {
        let steps = format!(
            "{{print: Thinking}}, {{flood: {{bytes: 3000000}}}}, {{print: ''}}, {{{step}}}"
        );
        let all = played(dialect, &steps);
        let [(Some(kind), text, None)] = &all[..] else { panic!("{all:?}") };
        assert!(is_whole(*kind, text.as_bytes()), "{text}");
    }
}

#[test]
fn what_is_left_in_the_file_counts_more_than_what_is_printed() {
    let steps = "{result: {status: completed, by: output}}, {result: {status: failed}}";
    let all = played(Dialect::Mission, steps);
    let [(_, text, _)] = &all[..] else { panic!("{all:?}") };
    assert!(text.contains("failed"), "{text}");
}

#[test]
fn a_link_is_not_followed() {
    let stage = Stage::new();
    stage.folder(&run(1)).create().expect("made");
    let file = stage.folder(&run(1)).join("result.yaml");
    std::os::unix::fs::symlink("/etc/passwd", file).expect("linked");
    let run = play(&stage, Dialect::Mission, "{print: done}");
    let (_, text, flaw) = left(next(&stage));
    assert_eq!(text, "");
    assert!(flaw.as_ref().is_some_and(|flaw| flaw.starts_with("cannot be read")), "{flaw:?}");
    assert_eq!(stage.end(&run).exit, Exit::Code(0));
}

#[test]
fn what_is_no_text_is_said_to_be_none() {
    let stage = Stage::new();
    let run = play(&stage, Dialect::Mission, "{print: here}, hang");
    stage.printed(&run, "here");
    stage.folder(&run).write("result.yaml", b"version: \"\xff\"\n").expect("written");
    stage.supervisor.stop(&run, "seen", Leave::Now).expect("told");
    let (_, text, flaw) = left(next(&stage));
    assert_eq!(text, "version: \"\u{fffd}\"\n");
    assert!(flaw.as_ref().is_some_and(|flaw| flaw.starts_with("is not text")), "{flaw:?}");
    stage.end(&run);
}

#[test]
fn a_report_survives_the_shim() {
    let stage = Stage::new();
    let steps = "{result: {status: completed, by: half}}, {print: here}, hang";
    let run = play(&stage, Dialect::Mission, steps);
    stage.printed(&run, "here");
    stage.record(&run).shim().send(Signal::KILL);
    let (kind, text, _) = left(next(&stage));
    assert_eq!(kind, Some(DocumentKind::Result));
    assert!(text.starts_with("version"), "{text}");
    let ended = stage.end(&run);
    assert_eq!((ended.exit, &ended.messages[..]), (Exit::Lost, &[][..]));
}

#[test]
fn a_report_that_was_taken_does_not_come_again_when_the_shim_is_killed() {
    let mut stage = Stage::new();
    let run = play(&stage, Dialect::Mission, "{result: {status: completed}}, hang");
    left(next(&stage));
    stage.supervisor.take(&run.task, run.attempt, 1).expect("noted");
    let shim = stage.record(&run).shim();
    stage.restart();
    shim.send(Signal::KILL);
    until(|| !shim.is_alive());
    assert!(stage.supervisor.adopt(&run).expect("adopted"));
    assert_eq!(stage.end(&run).messages, []);
}
