//! The faults of the protocol's own pseudocode, one test a row: each would fail there.

use adjutant_core::pipeline::claim::{Claim, Found, Others, Paper, Papers, Words};
use adjutant_core::pipeline::judge::{Checked, Evidence, Measured, Ran};
use adjutant_core::pipeline::{
    Hold, Input, Reason, Refusal, Said, Status, Step, Tests, Verdict, judge,
};

use crate::pipeline::support::{
    after, at, decide, ended, failed, failing, line, minute, next, rules, story,
};

#[test]
fn a_rejected_review_is_routed_by_on_fail_at_once() {
    for (reason, target) in [
        (None, Step::Bdd),
        (Some(Reason::NeedsClarification), Step::Bdd),
        (Some(Reason::ConstitutionViolation), Step::SddDelta),
        (Some(Reason::ScopeWarning), Step::SddDelta),
    ] {
        let review = at(Step::Review, Status::NeedsHuman);
        let rejected = decide(&review, &Input::Reject { reason, note: None });
        assert_eq!(rejected.said, Said::Moved);
        assert_eq!((rejected.state.step, rejected.state.status), (target, Status::Pending));
        let next = decide(&rejected.state, &next());
        assert_eq!((next.said, next.state.step), (Said::Dispatched, target));
    }
}

#[test]
fn a_route_that_lands_on_review_asks_a_person() {
    for reason in [Reason::NeedsClarification, Reason::ScopeWarning] {
        let next = decide(&failing(Step::Impl, Some(reason)), &next());
        assert_eq!(next.said, Said::Waits(Hold::Review));
        assert_eq!((next.state.step, next.state.status), (Step::Review, Status::NeedsHuman));
    }
}

#[test]
fn a_note_given_at_approval_is_in_the_next_prompt() {
    let note = Some("use UTC".to_owned());
    let review = at(Step::Review, Status::NeedsHuman);
    let dispatched = after(&review, &[Input::Approve { note }, next()]);
    assert_eq!(line(&dispatched), "scaffold 1 running");
    let told = dispatched.state.human_note.clone().expect("the note is there");
    assert_eq!((told.text.as_str(), told.told), ("use UTC", true));
    // It has been in one prompt: that is enough.
    let passed = after(&dispatched.state, &[ended(Verdict::Pass), next()]);
    assert_eq!((line(&passed).as_str(), passed.state.human_note), ("impl 1 running", None));
}

#[test]
fn a_note_given_while_an_executor_works_is_for_the_next_one() {
    let running = at(Step::Impl, Status::Running);
    let note = Some("mind the clock".to_owned());
    let open = vec![];
    let told =
        after(&running, &[Input::Next { now: minute(1), note, open }, ended(failed(None)), next()]);
    assert_eq!(told.state.human_note.expect("the note is there").text, "mind the clock");
}

#[test]
fn verify_and_impl_do_not_go_round_for_ever() {
    let mut state = at(Step::Verify, Status::Pending);
    for dispatches in 0..100 {
        let went = decide(&state, &next());
        if went.said != Said::Dispatched {
            assert_eq!(went.said, Said::Waits(Hold::Limit));
            assert_eq!((went.state.step, dispatches), (Step::Verify, 8));
            return;
        }
        let verdict = if went.state.step == Step::Verify { failed(None) } else { Verdict::Pass };
        state = decide(&went.state, &ended(verdict)).state;
    }
    panic!("a hundred dispatches, and nobody was asked");
}

#[test]
fn being_stuck_is_sticky_until_a_person_says_so() {
    let mut stuck = failing(Step::Bdd, None);
    stuck.attempt = 3;
    let stuck = decide(&stuck, &next());
    assert_eq!(stuck.said, Said::Waits(Hold::Stuck));
    for _ in 0..3 {
        assert_eq!(decide(&stuck.state, &next()), stuck);
    }
    let again = after(&stuck.state, &[Input::Approve { note: None }, next()]);
    assert_eq!((again.said.clone(), line(&again).as_str()), (Said::Dispatched, "bdd 1 running"));
}

#[test]
fn a_time_out_is_sticky_and_counts_as_an_attempt() {
    let running = at(Step::Bdd, Status::Running);
    let late = Input::Next { now: minute(6), note: None, open: vec![] };
    let out = decide(&running, &late);
    assert_eq!((out.said.clone(), out.state.status), (Said::TimedOut, Status::Timeout));
    assert_eq!(decide(&out.state, &late), out);
    let again = after(&out.state, &[Input::Approve { note: None }, late]);
    assert_eq!((again.said.clone(), line(&again).as_str()), (Said::Dispatched, "bdd 2 running"));
}

#[test]
fn a_violation_on_the_last_try_is_routed_and_not_stuck() {
    let mut last = failing(Step::Impl, Some(Reason::ConstitutionViolation));
    last.attempt = 5;
    let routed = decide(&last, &next());
    assert_eq!(
        (routed.said.clone(), line(&routed).as_str()),
        (Said::Dispatched, "sdd-delta 1 running")
    );
}

fn paper(story: &str, step: &str, attempt: &str) -> Found {
    let named = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let words = Words { status: Some("pass".to_owned()), ..Words::default() };
    Found::Paper(Paper { story: named(story), step: named(step), attempt: named(attempt), words })
}

#[test]
fn a_result_of_another_attempt_step_or_story_is_stale() {
    let mut state = at(Step::Impl, Status::Running);
    state.attempt = 2;
    for (story, step, attempt) in [
        ("US-004", "impl", "2"),
        ("US-005", "verify", "2"),
        ("US-005", "impl", "1"),
        ("US-005", "impl", "second"),
        ("", "bdd", ""),
        ("", "", "3"),
    ] {
        let found = paper(story, step, attempt);
        for (result, handoff) in [(&found, &Found::Nothing), (&Found::Nothing, &found)] {
            let (claim, warnings) =
                Claim::find(&Papers::shared(result, handoff), &state, Others::None);
            assert!(matches!(claim, Claim::Stale(_)), "{found:?}");
            assert!(warnings[0].starts_with("stale: "), "{warnings:?}");
            assert_eq!(verdict(Step::Impl, &claim, &Measured::NoCommand), None);
        }
    }
    let (claim, warnings) = Claim::find(
        &Papers::shared(&Found::Nothing, &paper("US-005", "impl", "2")),
        &state,
        Others::None,
    );
    assert!(matches!(claim, Claim::Said(_)) && warnings.is_empty());
    // What was there before the dispatch is not a result of it.
    let (claim, _) =
        Claim::find(&Papers::shared(&Found::Nothing, &Found::Old), &state, Others::None);
    assert_eq!(claim, Claim::Missing);
    // Where several stories are worked on, a paper must say whose it is.
    let (claim, _) =
        Claim::find(&Papers::shared(&paper("", "", ""), &Found::Nothing), &state, Others::Running);
    assert!(matches!(claim, Claim::Stale(_)));
}

#[test]
fn the_name_of_a_story_is_in_a_path_once() {
    assert_eq!(story("US-005").fill("docs/bdd/US-{story}.md"), "docs/bdd/US-005.md");
}

fn verdict(step: Step, claim: &Claim, measured: &Measured) -> Option<Verdict> {
    let rules = rules();
    let rule = rules.of(step).expect("a rule");
    let at = minute(1);
    let evidence = Evidence { claim, measured, checked: &Checked::NotNeeded, at };
    judge(rule, &evidence).report.map(|report| report.verdict)
}

fn said(status: Option<&str>) -> Claim {
    Claim::Said(Words { status: status.map(str::to_owned), ..Words::default() })
}

#[test]
fn no_status_and_no_test_result_means_a_person_is_asked() {
    assert_eq!(verdict(Step::Bdd, &said(None), &Measured::NotNeeded), Some(Verdict::Unknown));
    assert_eq!(verdict(Step::Impl, &said(None), &Measured::NoCommand), Some(Verdict::Unknown));
    let asked = decide(&at(Step::Bdd, Status::Running), &ended(Verdict::Unknown));
    assert_eq!(
        (asked.said.clone(), line(&asked).as_str()),
        (Said::Recorded, "bdd 1 needs_human (no_verdict)")
    );
}

#[test]
fn a_missing_file_after_the_run_ended_is_failing() {
    for step in [Step::Bdd, Step::Scaffold, Step::Impl] {
        let verdict = verdict(step, &Claim::Missing, &green());
        assert!(matches!(verdict, Some(Verdict::Failing { error: Some(_), .. })), "{step}");
    }
    // Not even after a scaffold, where failing is taken as a pass otherwise.
    let mut state = at(Step::Scaffold, Status::Running);
    let verdict = verdict(Step::Scaffold, &Claim::Missing, &Measured::NoCommand);
    state = decide(&state, &ended(verdict.expect("a verdict"))).state;
    assert_eq!(line(&decide(&state, &next())), "scaffold 2 running");
}

fn ran(pass: u64, fail: u64) -> Measured {
    let tests = Some(Tests { pass, fail, skip: 0 });
    Measured::Ran(Ran { tests, failing: vec![], success: fail == 0 })
}

fn green() -> Measured {
    ran(3, 0)
}

#[test]
fn a_pass_with_failing_tests_does_not_pass() {
    for step in [Step::Impl, Step::Verify] {
        let verdict = verdict(step, &said(Some("pass")), &ran(40, 2));
        assert!(matches!(verdict, Some(Verdict::Failing { reason: None, .. })), "{step}");
    }
    assert_eq!(verdict(Step::Impl, &said(Some("pass")), &green()), Some(Verdict::Pass));
    // After a scaffold red is right.
    assert_eq!(verdict(Step::Scaffold, &said(Some("pass")), &ran(40, 2)), Some(Verdict::Pass));
}

#[test]
fn misspelt_words_are_understood_and_unknown_ones_are_failing() {
    let words = |status: &str, reason: &str| Words {
        status: Some(status.to_owned()),
        reason: Some(reason.to_owned()),
        ..Words::default()
    };
    for (word, status, odd) in [
        ("pass", Status::Pass, false),
        ("failing", Status::Failing, false),
        ("needs_human", Status::NeedsHuman, false),
        ("passing", Status::Pass, true),
        ("passed", Status::Pass, true),
        ("done", Status::Pass, true),
        ("complete", Status::Pass, true),
        ("completed", Status::Pass, true),
        ("PASS", Status::Pass, true),
        ("fail", Status::Failing, true),
        ("failed", Status::Failing, true),
        ("failure", Status::Failing, true),
        ("mostly pass", Status::Failing, true),
        ("running", Status::Failing, true),
        ("pending", Status::Failing, true),
        ("timeout", Status::Failing, true),
        ("", Status::Failing, true),
    ] {
        let mut warnings = Vec::new();
        assert_eq!(words(word, "null").status(&mut warnings), Some(status), "{word}");
        assert_eq!(!warnings.is_empty(), odd, "{word}: {warnings:?}");
    }
    for (word, reason, odd) in [
        ("null", None, false),
        ("scope_warning", Some(Reason::ScopeWarning), false),
        ("the tests are slow", None, true),
        ("Scope_Warning", None, true),
    ] {
        let mut warnings = Vec::new();
        assert_eq!(words("failing", word).reason(&mut warnings), reason, "{word}");
        assert_eq!(!warnings.is_empty(), odd, "{word}: {warnings:?}");
    }
}

#[test]
fn what_comes_after_a_time_out_is_too_late() {
    let out = at(Step::Impl, Status::Timeout);
    let late = decide(&out, &ended(Verdict::Pass));
    assert_eq!((late.said, late.state), (Said::Refused(Refusal::TooLate), out));
}
