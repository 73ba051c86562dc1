//! Every route in the rules table.

use adjutant_core::pipeline::{Hold, Reason, Said, Status, Step};

use crate::pipeline::support::{at, decide, failing, line, next};

#[test]
fn every_step_that_passed_leads_to_the_next() {
    let went: Vec<String> =
        Step::ALL.into_iter().map(|step| line(&decide(&at(step, Status::Pass), &next()))).collect();
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
fn every_step_that_failed_is_routed_by_its_reason() {
    let expected = |step: Step, reason: Option<Reason>| -> String {
        use Reason::{ConstitutionViolation, NeedsClarification, ScopeWarning};
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
        for reason in [None].into_iter().chain(Reason::ALL.map(Some)) {
            let mut went = decide(&failing(step, reason), &next());
            if step == Step::Done {
                went.state.reason = None;
            }
            if let Said::Waits(hold) = &went.said {
                assert_eq!(*hold, Hold::Review);
                went.state.reason = None;
            }
            assert_eq!(line(&went), expected(step, reason), "{step} {reason:?}");
        }
    }
}

#[test]
fn what_went_wrong_is_told_to_whoever_tries_again() {
    let mut state = failing(Step::Impl, Some(Reason::ConstitutionViolation));
    state.last_error = Some("two of the tests fail".to_owned());
    let went = decide(&state, &next());
    let told = went.state.previous.as_deref();
    assert_eq!(told, Some("constitution_violation: two of the tests fail"));
    assert_eq!((went.state.reason, went.state.last_error), (None, None));
    let passed = decide(&at(Step::Bdd, Status::Pass), &next());
    assert_eq!(passed.state.previous, None);
}

#[test]
fn a_story_that_waits_for_others_is_held_back_wherever_it_would_go_on() {
    use adjutant_core::pipeline::Input;
    let open = vec![crate::pipeline::support::story("US-003")];
    let next =
        Input::Next { now: crate::pipeline::support::minute(1), note: None, open: open.clone() };
    for status in [Status::Pending, Status::Pass, Status::Failing] {
        let state = at(Step::Bdd, status);
        let held = decide(&state, &next);
        assert_eq!((held.said, held.state), (Said::Blocked(open.clone()), state));
    }
}
