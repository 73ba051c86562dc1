//! What holds whatever happens, in whatever order.

use adjutant_core::pipeline::{
    Input, Reason, Refusal, Report, Said, State, Status, Step, Tests, Verdict, advance,
};
use proptest::prelude::*;

use crate::pipeline::support::{minute, rules, story};

fn reason() -> impl Strategy<Value = Option<Reason>> {
    proptest::option::of(proptest::sample::select(Reason::ALL.to_vec()))
}

fn note() -> impl Strategy<Value = Option<String>> {
    proptest::option::of(proptest::sample::select(vec!["use UTC".to_owned(), " ".to_owned()]))
}

fn verdict() -> impl Strategy<Value = Verdict> {
    prop_oneof![
        4 => Just(Verdict::Pass),
        3 => (reason(), proptest::option::of(Just("it broke".to_owned())))
            .prop_map(|(reason, error)| Verdict::Failing { reason, error }),
        1 => reason().prop_map(|reason| Verdict::Asked { reason }),
        1 => Just(Verdict::Unknown),
    ]
}

fn report(verdict: Verdict) -> Input {
    let tests = Some(Tests { pass: 1, fail: 0, skip: 0 });
    Input::Ended(Report {
        at: minute(1),
        verdict,
        tests,
        failing_tests: vec![],
        lint_pass: None,
        files_changed: vec![],
    })
}

fn input() -> impl Strategy<Value = Input> {
    let step = || proptest::sample::select(Step::ALL.to_vec());
    prop_oneof![
        8 => (0..20i64, note(), any::<bool>()).prop_map(|(at, note, blocked)| {
            let open = if blocked && at == 0 { vec![story("US-001")] } else { vec![] };
            Input::Next { now: minute(at), note, open }
        }),
        8 => verdict().prop_map(report),
        2 => note().prop_map(|note| Input::Approve { note }),
        2 => (reason(), note()).prop_map(|(reason, note)| Input::Reject { reason, note }),
        1 => (0..30i64).prop_map(|at| Input::Poll { now: minute(at) }),
        1 => Just(Input::Broke { now: minute(1), error: "it crashed".to_owned() }),
        1 => (step(), note()).prop_map(|(step, note)| Input::Rollback { step, note }),
        1 => (step(), note()).prop_map(|(step, note)| Input::Reopen { step, note }),
    ]
}

/// Says whether only a person can have done this.
fn is_persons(input: &Input) -> bool {
    matches!(
        input,
        Input::Approve { .. }
            | Input::Reject { .. }
            | Input::Rollback { .. }
            | Input::Reopen { .. }
    )
}

fn waits(state: &State) -> bool {
    matches!(state.status, Status::NeedsHuman | Status::Timeout) && !state.is_done()
}

proptest! {
    #[test]
    fn whatever_happens(inputs in proptest::collection::vec(input(), 1..80)) {
        let rules = rules();
        let mut state = State::begin("cart-app", Some(story("US-005")), Step::Bdd);
        let mut since_person = std::collections::BTreeMap::<Step, u32>::new();
        for input in inputs {
            let decision = advance(&rules, &state, &input);
            prop_assert_eq!(&decision, &advance(&rules, &state, &input), "the same twice");
            let after = &decision.state;
            if matches!(decision.said, Said::Refused(_)) {
                prop_assert_eq!(after, &state);
            }
            // Only a person gets a story on that waits for one.
            if waits(&state) && !is_persons(&input) {
                prop_assert_eq!((after.step, after.status), (state.step, state.status));
            }
            // A dispatch is of an executor's step, within its limits, and by `next` alone.
            if decision.said == Said::Dispatched {
                let rule = rules.of(after.step).expect("a step that is dispatched has a rule");
                let is_next = matches!(input, Input::Next { .. });
                prop_assert!(is_next && !rule.requires_human);
                prop_assert!(after.attempt >= 1 && after.attempt <= rule.max_attempts);
                prop_assert!(state.status != Status::Running);
                let count = since_person.entry(after.step).or_default();
                *count += 1;
                prop_assert!(*count <= rule.dispatches_max(), "without a person, too often");
            }
            if after.status == Status::Running {
                prop_assert!(decision.said == Said::Dispatched || state.status == Status::Running);
            }
            if is_persons(&input) && decision.said == Said::Moved {
                since_person.clear();
            }
            // Nothing passes a review but a person.
            if state.step == Step::Review && after.step != Step::Review {
                prop_assert!(is_persons(&input) || state.status == Status::Pass);
            }
            if state.step == Step::Review && after.status == Status::Pass && state.status != Status::Pass {
                let approved = matches!(input, Input::Approve { .. });
                prop_assert!(approved);
            }
            // A note that nobody was told is not lost.
            if let Some(note) = state.human_note.as_ref().filter(|note| !note.told) {
                let kept = after.human_note.as_ref();
                prop_assert!(kept.is_some(), "{:?} lost {:?}", input, note);
            }
            if matches!(decision.said, Said::Refused(Refusal::NotRunning)) {
                prop_assert!(state.status != Status::Running || state.is_done());
            }
            state = decision.state;
        }
    }

    #[test]
    fn a_story_that_is_only_driven_ends_or_asks(verdicts in proptest::collection::vec(verdict(), 200)) {
        let rules = rules();
        let mut state = State::begin("cart-app", Some(story("US-005")), Step::Bdd);
        for verdict in verdicts {
            let went = advance(&rules, &state, &Input::Next { now: minute(0), note: None, open: vec![] });
            if went.said != Said::Dispatched {
                prop_assert!(matches!(went.said, Said::Done | Said::Waits(_)));
                return Ok(());
            }
            state = advance(&rules, &went.state, &report(verdict)).state;
        }
        prop_assert!(false, "it went on and on");
    }
}
