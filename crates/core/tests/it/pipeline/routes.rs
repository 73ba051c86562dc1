//! Every route in the step rules.

use adjutant_core::story::AdvanceResult;
use adjutant_model::story::{Step, StepFailReason, StepStatus, StoryHold};

use crate::pipeline::support::{at, decide, failing, line, next};

#[test]
fn passed_step_leads_to_the_next() {
    let went: Vec<String> = Step::ALL
        .into_iter()
        .map(|step| line(&decide(&at(step, StepStatus::Pass), &next())))
        .collect();
    assert_eq!(
        went,
        [
            "bdd 1 running",
            "sdd-delta 1 running",
            "contract 1 running",
            "review 1 needs_human (review)",
            "scaffold 1 running",
            "impl 1 running",
            "verify 1 running",
            "commit 1 running",
            "commit 1 running",
            "update-memory 1 running",
            "done 1 pass",
            "done 1 pass",
        ]
    );
}

#[test]
fn failed_step_is_routed_by_its_reason() {
    let expected = |step: Step, reason: Option<StepFailReason>| -> String {
        use StepFailReason::{ConstitutionViolation, NeedsClarification, ScopeWarning};
        let to = match (step, reason) {
            (Step::Scaffold, None) | (Step::Verify, _) => "impl 1 running",
            (Step::Impl, Some(ConstitutionViolation))
            | (Step::Review, Some(ConstitutionViolation | ScopeWarning)) => "sdd-delta 1 running",
            (Step::Impl, Some(NeedsClarification | ScopeWarning)) => {
                "review 1 needs_human (review)"
            }
            (Step::Review, _) => "bdd 1 running",
            (Step::Done, _) => "done 1 failing",
            (step, _) => return format!("{step} 2 running"),
        };
        to.to_owned()
    };
    for step in Step::ALL {
        for reason in [None].into_iter().chain(StepFailReason::ALL.map(Some)) {
            let mut went = decide(&failing(step, reason), &next());
            if step == Step::Done {
                went.state.reason = None;
            }
            if let AdvanceResult::NeedsHuman(hold) = &went.result {
                assert_eq!(*hold, StoryHold::Review);
                went.state.reason = None;
            }
            assert_eq!(line(&went), expected(step, reason), "{step} {reason:?}");
        }
    }
}

#[test]
fn next_executor_is_told_what_went_wrong() {
    let mut state = failing(Step::Impl, Some(StepFailReason::ConstitutionViolation));
    state.last_error = Some("two of the tests fail".to_owned());
    let went = decide(&state, &next());
    let told = went.state.previous.as_deref();
    assert_eq!(told, Some("constitution_violation: two of the tests fail"));
    assert_eq!((went.state.reason, went.state.last_error), (None, None));
    let passed = decide(&at(Step::Bdd, StepStatus::Pass), &next());
    assert_eq!(passed.state.previous, None);
}

#[test]
fn story_that_waits_for_others_is_blocked_at_every_step() {
    use adjutant_core::story::StoryInput;
    let open = vec![crate::pipeline::support::story("US-003")];
    let next = StoryInput::Next {
        now: crate::pipeline::support::minute(1),
        note: None,
        open: open.clone(),
    };
    for status in [StepStatus::Pending, StepStatus::Pass, StepStatus::Failing] {
        let state = at(Step::Bdd, status);
        let held = decide(&state, &next);
        assert_eq!((held.result, held.state), (AdvanceResult::Blocked(open.clone()), state));
    }
}
