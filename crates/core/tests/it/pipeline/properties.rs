//! Properties of a story that hold for any inputs in any order.

use adjutant_core::story::{
    AdvanceResult, MeasuredTests, StepReport, StepVerdict, StoryInput, StoryRefusal, StoryState,
    TestTotals, advance_story,
};
use adjutant_model::story::{Step, StepFailReason, StepStatus};
use proptest::prelude::*;

use crate::pipeline::support::{minute, rules, story};

fn reason() -> impl Strategy<Value = Option<StepFailReason>> {
    proptest::option::of(proptest::sample::select(StepFailReason::ALL.to_vec()))
}

fn note() -> impl Strategy<Value = Option<String>> {
    proptest::option::of(proptest::sample::select(vec!["use UTC".to_owned(), " ".to_owned()]))
}

fn verdict() -> impl Strategy<Value = StepVerdict> {
    prop_oneof![
        4 => Just(StepVerdict::Pass),
        3 => (reason(), proptest::option::of(Just("it broke".to_owned())))
            .prop_map(|(reason, error)| StepVerdict::Failing { reason, error }),
        1 => reason().prop_map(|reason| StepVerdict::NeedsHuman { reason, error: None }),
        1 => Just(StepVerdict::Unknown),
    ]
}

fn report(verdict: StepVerdict) -> StoryInput {
    let totals = TestTotals { pass: 1, fail: 0, skip: 0 };
    let tests = MeasuredTests::Counted { totals, failing: vec![] };
    StoryInput::Ended(StepReport {
        at: minute(1),
        verdict,
        tests,
        lint_pass: None,
        files_changed: vec![],
        message: None,
    })
}

fn input() -> impl Strategy<Value = StoryInput> {
    let step = || proptest::sample::select(Step::ALL.to_vec());
    prop_oneof![
        8 => (0..20i64, note(), any::<bool>()).prop_map(|(at, note, blocked)| {
            let open = if blocked && at == 0 { vec![story("US-001")] } else { vec![] };
            StoryInput::Next { now: minute(at), note, open }
        }),
        8 => verdict().prop_map(report),
        2 => note().prop_map(|note| StoryInput::Approve { note }),
        2 => (reason(), note()).prop_map(|(reason, note)| StoryInput::Reject { reason, note }),
        1 => (0..30i64).prop_map(|at| StoryInput::Poll { now: minute(at) }),
        1 => Just(StoryInput::Failed { now: minute(1), error: "it crashed".to_owned() }),
        1 => (step(), note()).prop_map(|(step, note)| StoryInput::Rollback { step, note }),
        1 => (step(), note()).prop_map(|(step, note)| StoryInput::Reopen { step, note }),
    ]
}

/// Returns whether only a person can give this input.
fn is_persons(input: &StoryInput) -> bool {
    matches!(
        input,
        StoryInput::Approve { .. }
            | StoryInput::Reject { .. }
            | StoryInput::Rollback { .. }
            | StoryInput::Reopen { .. }
    )
}

fn waits(state: &StoryState) -> bool {
    matches!(state.status, StepStatus::NeedsHuman | StepStatus::Timeout) && !state.is_done()
}

proptest! {
    #[test]
    fn story_invariants_hold_for_any_inputs(inputs in proptest::collection::vec(input(), 1..80)) {
        let rules = rules();
        let mut state = StoryState::new("cart-app", Some(story("US-005")), Step::Bdd);
        let mut since_person = std::collections::BTreeMap::<Step, u32>::new();
        for input in inputs {
            let decision = advance_story(&rules, &state, &input);
            prop_assert_eq!(&decision, &advance_story(&rules, &state, &input), "the same twice");
            let after = &decision.state;
            if matches!(decision.result, AdvanceResult::Refused(_)) {
                prop_assert_eq!(after, &state);
            }
            // A story that waits for a person moves only by a person's input.
            if waits(&state) && !is_persons(&input) {
                prop_assert_eq!((after.step, after.status), (state.step, state.status));
            }
            // A dispatch starts an executor's step, within its limits, and only by `Next`.
            if decision.result == AdvanceResult::Dispatched {
                let rule = rules.get(after.step).expect("a step that is dispatched has a rule");
                let is_next = matches!(input, StoryInput::Next { .. });
                prop_assert!(is_next && !rule.requires_human);
                prop_assert!(after.attempt >= 1 && after.attempt <= rule.max_attempts);
                prop_assert!(state.status != StepStatus::Running);
                let count = since_person.entry(after.step).or_default();
                *count += 1;
                prop_assert!(*count <= rule.dispatches_max(), "without a person, too often");
            }
            if after.status == StepStatus::Running {
                prop_assert!(decision.result == AdvanceResult::Dispatched || state.status == StepStatus::Running);
            }
            if is_persons(&input) && decision.result == AdvanceResult::Moved {
                since_person.clear();
            }
            // Only a person passes a review.
            if state.step == Step::Review && after.step != Step::Review {
                prop_assert!(is_persons(&input) || state.status == StepStatus::Pass);
            }
            if state.step == Step::Review && after.status == StepStatus::Pass && state.status != StepStatus::Pass {
                let approved = matches!(input, StoryInput::Approve { .. });
                prop_assert!(approved);
            }
            // A note is not lost before an executor has received it.
            if let Some(note) = state.human_note.as_ref().filter(|note| !note.is_delivered) {
                let kept = after.human_note.as_ref();
                prop_assert!(kept.is_some(), "{:?} lost {:?}", input, note);
            }
            if matches!(decision.result, AdvanceResult::Refused(StoryRefusal::NotRunning)) {
                prop_assert!(state.status != StepStatus::Running || state.is_done());
            }
            state = decision.state;
        }
    }

    #[test]
    fn story_without_a_person_ends_or_asks(verdicts in proptest::collection::vec(verdict(), 200)) {
        let rules = rules();
        let mut state = StoryState::new("cart-app", Some(story("US-005")), Step::Bdd);
        for verdict in verdicts {
            let went = advance_story(&rules, &state, &StoryInput::Next { now: minute(0), note: None, open: vec![] });
            if went.result != AdvanceResult::Dispatched {
                prop_assert!(matches!(went.result, AdvanceResult::Done | AdvanceResult::NeedsHuman(_)));
                return Ok(());
            }
            state = advance_story(&rules, &went.state, &report(verdict)).state;
        }
        prop_assert!(false, "it went on and on");
    }
}
