//! Golden files of a story: `STATE.json`, and the history of hand-overs.

use adjutant_core::story::{ExecutorMessage, HumanNote, StoryState, TestTotals};
use adjutant_model::Time;
use adjutant_model::story::{Step, StepFailReason, StepStatus, StoryHold, StoryId};
use adjutant_test_support::golden::GoldenFolder;

use crate::files::history;
use crate::files::rules::defaults;
use crate::files::state::{OWN_FIELDS, StateFile};

fn time(clock: &str) -> Time {
    Time::parse(&format!("2026-02-09T{clock}Z")).expect("a time")
}

fn story(text: &str) -> StoryId {
    StoryId::parse(text).expect("a story id")
}

fn begun() -> StoryState {
    StoryState::new("cart-app", Some(story("US-005")), Step::Bdd)
}

/// Written out without `..`, so that a new field needs a sample.
fn full_state() -> StoryState {
    StoryState {
        project: "cart-app".into(),
        story: Some(story("US-005")),
        step: Step::Impl,
        attempt: 2,
        status: StepStatus::NeedsHuman,
        reason: Some(StepFailReason::ScopeWarning),
        hold: Some(StoryHold::Stuck),
        dispatched_at: Some(time("20:10:00.000")),
        completed_at: Some(time("20:20:00.000")),
        tests: Some(TestTotals { pass: 3, fail: 1, skip: 2 }),
        failing_tests: vec!["cart::adds".into()],
        lint_pass: Some(false),
        files_changed: vec!["src/cart.rs".into()],
        blocked_by: vec![story("US-003")],
        human_note: Some(HumanNote { text: "Mind the tax".into(), is_delivered: true }),
        message: ExecutorMessage::new(
            Some("The tax rule contradicts US-003."),
            ["Is tax included?".to_owned()],
            Some("The draft is in docs/bdd/US-005.md."),
        ),
        last_error: Some("1 test fails".into()),
        previous: Some("2 tests fail".into()),
        dispatches: [(Step::Bdd, 1), (Step::Impl, 2)].into(),
        reopened_from: Some(Step::Verify),
        human_steps: [Step::Review].into(),
    }
}

/// Sets the fields that Adjutant adds to `STATE.json`, with typical values.
fn with_extra_fields(file: &mut StateFile) {
    for name in OWN_FIELDS {
        let value = match name {
            // `full_state` sets these.
            "executor_summary" | "executor_questions" | "executor_notes" | "human_note_told"
            | "waiting_for" | "previous_error" | "dispatches" | "human_steps" | "reopened_from" => {
                continue;
            }
            "papers_before" => serde_json::json!({"HANDOFF.md": "0123456789abcdef"}),
            "dispatched_by" => "adjutant".into(),
            "started_at" | "taken_up_at" => "2026-02-09T20:10:00.000Z".into(),
            "base_commit" => "0123456789abcdef".into(),
            "auto" => true.into(),
            "agent" => "swe".into(),
            "last_request" => "Add a cart".into(),
            other => panic!("a new field of STATE.json needs a sample: {other}"),
        };
        file.set_extra(name, value);
    }
}

/// A file of the original program, with an unknown field.
const FOREIGN: &str = r#"{
  "project": "cart-app",
  "mood": "good",
  "story": "US-005",
  "step": "impl",
  "attempt": 2,
  "max_attempts": 9,
  "status": "running",
  "failing_tests": []
}
"#;

#[test]
fn story_files_match_golden_files() {
    let rules = defaults();
    let mut golden = GoldenFolder::new("story-files");
    golden.add("STATE.begun.json", StateFile::new(begun()).to_text(&begun(), &rules));
    let mut file = StateFile::new(full_state());
    with_extra_fields(&mut file);
    let full = file.to_text(&full_state(), &rules);
    let read = StateFile::parse(full.as_bytes()).expect("it is read back");
    assert_eq!(read.state, full_state());
    golden.add("STATE.full.json", full);
    let foreign = StateFile::parse(FOREIGN.as_bytes()).expect("a state");
    let passed = StoryState { status: StepStatus::Pass, ..foreign.state.clone() };
    golden.add("STATE.foreign.json", foreign.to_text(&passed, &rules));
    golden.add("history.md", written_history());
    golden.check();
}

fn written_history() -> String {
    let mut text = "# History\n".to_owned();
    let papers = [(begun(), "HANDOFF.md"), (full_state(), "executor-result")];
    for (state, name) in papers {
        text += &history::entry(&text, &state, name, "status: pass\n\n").expect("a new entry");
    }
    text
}
