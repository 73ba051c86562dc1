//! Golden files of script steps as JSON, the form that a forked process gets.

use adjutant_test_support::assert_every_variant;
use adjutant_test_support::golden::GoldenFolder;
use adjutant_testkit::golden_samples::json_lines;

use super::AgentScript;
use super::step::ScriptStep;

/// Every kind of step, in every form that a script can write.
const STEPS: &str = r#"
steps:
  - work: 3s
  - print: "a line"
  - complain: "a line on standard error"
  - progress: "half way"
  - report: done
  - report: needs_review
  - report: { outcome: blocked, notes: n, blockers: [no key], times: 2 }
  - report: { outcome: partial }
  - result: { status: completed }
  - result: { status: failed, notes: n, files: [a.rs], tips: [t], questions: [q], blockers: [b], task: T9, by: halves }
  - result: { status: blocked, by: half }
  - attempt_completion: { status: success, by: nonsense }
  - attempt_completion: { status: failure, by: output }
  - attempt_completion: { status: clarification_needed, by: line }
  - attempt_completion: { status: conflict_detected, by: send }
  - delegate: { task: TASK-2026-02-09-002, to: qa }
  - delegate: { task: TASK-2026-02-09-002, to: qa, criteria: [it works] }
  - lie: { task: TASK-2026-02-09-009 }
  - lie: { agent: other }
  - lie: { token: 1-00 }
  - flood: { bytes: 10 }
  - flood: { bytes: 10, of: one_line }
  - flood: { bytes: 10, of: binary }
  - flood: { bytes: 10, of: message }
  - write: { path: out/a.md, text: "text" }
  - hang
  - exit: 3
  - die: 9
  - ignore_term
  - close_stdin
  - read_stdin
  - suspend
  - fork: { steps: [hang] }
  - fork: { session: true, steps: [{ print: x }, { exit: 0 }] }
  - adjutant: [report, done]
"#;

pub(super) fn steps() -> Vec<ScriptStep> {
    let script = AgentScript::from_yaml(STEPS).expect("a script");
    script.steps("TASK-2026-02-09-001", 1).to_vec()
}

#[test]
fn script_steps_match_golden_files() {
    let steps = steps();
    assert_every_variant!(
        &steps,
        ScriptStep {
            Work,
            Print,
            Complain,
            Progress,
            Report,
            Result,
            AttemptCompletion,
            Delegate,
            Lie,
            Flood,
            Write,
            Hang,
            Exit,
            Die,
            IgnoreTerm,
            CloseStdin,
            ReadStdin,
            Suspend,
            Fork,
            Adjutant,
        }
    );
    let lines = json_lines(&steps);
    let read = lines.lines().map(|line| serde_json::from_str(line).expect("it is read back"));
    assert_eq!(read.collect::<Vec<ScriptStep>>(), steps);
    let mut golden = GoldenFolder::new("ipc/script-agent");
    golden.add("steps.jsonl", lines);
    golden.check();
}
