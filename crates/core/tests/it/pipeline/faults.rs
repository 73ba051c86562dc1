//! The faults in the protocol's own pseudocode, one test each: every test would fail there.

use adjutant_core::story::claim::{
    ClaimedResult, ExecutorClaim, FoundHandOver, HandOverContent, HandOverFiles, OtherStories,
};
use adjutant_core::story::judge::{
    PostCheckResult, RulesState, StepEvidence, StepProof, TestMeasurement, TestRunResult,
};
use adjutant_core::story::{
    AdvanceResult, StepVerdict, StoryInput, StoryRefusal, TestTotals, judge_step,
};
use adjutant_model::story::{Step, StepFailReason, StepStatus, StoryHold};

use crate::pipeline::support::{
    after, at, decide, ended, failed, failing, line, minute, next, rules, story,
};

#[test]
fn rejected_review_is_routed_by_on_fail_at_once() {
    for (reason, target) in [
        (None, Step::Bdd),
        (Some(StepFailReason::NeedsClarification), Step::Bdd),
        (Some(StepFailReason::ConstitutionViolation), Step::SddDelta),
        (Some(StepFailReason::ScopeWarning), Step::SddDelta),
    ] {
        let review = at(Step::Review, StepStatus::NeedsHuman);
        let rejected = decide(&review, &StoryInput::Reject { reason, note: None });
        assert_eq!(rejected.result, AdvanceResult::Moved);
        assert_eq!((rejected.state.step, rejected.state.status), (target, StepStatus::Pending));
        let next = decide(&rejected.state, &next());
        assert_eq!((next.result, next.state.step), (AdvanceResult::Dispatched, target));
    }
}

#[test]
fn route_to_review_asks_a_person() {
    for reason in [StepFailReason::NeedsClarification, StepFailReason::ScopeWarning] {
        let next = decide(&failing(Step::Impl, Some(reason)), &next());
        assert_eq!(next.result, AdvanceResult::NeedsHuman(StoryHold::Review));
        assert_eq!((next.state.step, next.state.status), (Step::Review, StepStatus::NeedsHuman));
    }
}

#[test]
fn approval_note_is_in_the_next_prompt() {
    let note = Some("use UTC".to_owned());
    let review = at(Step::Review, StepStatus::NeedsHuman);
    let dispatched = after(&review, &[StoryInput::Approve { note }, next()]);
    assert_eq!(line(&dispatched), "scaffold 1 running");
    let told = dispatched.state.human_note.clone().expect("the note is there");
    assert_eq!((told.text.as_str(), told.is_delivered), ("use UTC", true));
    // The note has been in one prompt, so it is removed.
    let passed = after(&dispatched.state, &[ended(StepVerdict::Pass), next()]);
    assert_eq!((line(&passed).as_str(), passed.state.human_note), ("impl 1 running", None));
}

#[test]
fn note_during_a_run_is_for_the_next_executor() {
    let running = at(Step::Impl, StepStatus::Running);
    let note = Some("mind the clock".to_owned());
    let open = vec![];
    let told = after(
        &running,
        &[StoryInput::Next { now: minute(1), note, open }, ended(failed(None)), next()],
    );
    assert_eq!(told.state.human_note.expect("the note is there").text, "mind the clock");
}

#[test]
fn verify_and_impl_do_not_loop_forever() {
    let mut state = at(Step::Verify, StepStatus::Pending);
    for dispatches in 0..100 {
        let went = decide(&state, &next());
        if went.result != AdvanceResult::Dispatched {
            assert_eq!(went.result, AdvanceResult::NeedsHuman(StoryHold::Limit));
            assert_eq!((went.state.step, dispatches), (Step::Verify, 8));
            return;
        }
        let verdict =
            if went.state.step == Step::Verify { failed(None) } else { StepVerdict::Pass };
        state = decide(&went.state, &ended(verdict)).state;
    }
    panic!("a hundred dispatches, and nobody was asked");
}

#[test]
fn stuck_step_stays_stuck_until_a_person_decides() {
    let mut stuck = failing(Step::Bdd, None);
    stuck.attempt = 3;
    let stuck = decide(&stuck, &next());
    assert_eq!(stuck.result, AdvanceResult::NeedsHuman(StoryHold::Stuck));
    for _ in 0..3 {
        assert_eq!(decide(&stuck.state, &next()), stuck);
    }
    let again = after(&stuck.state, &[StoryInput::Approve { note: None }, next()]);
    assert_eq!(
        (again.result.clone(), line(&again).as_str()),
        (AdvanceResult::Dispatched, "bdd 1 running")
    );
}

#[test]
fn timeout_is_sticky_and_counts_as_an_attempt() {
    let running = at(Step::Bdd, StepStatus::Running);
    let late = StoryInput::Next { now: minute(6), note: None, open: vec![] };
    let out = decide(&running, &late);
    assert_eq!(
        (out.result.clone(), out.state.status),
        (AdvanceResult::TimedOut, StepStatus::Timeout)
    );
    assert_eq!(decide(&out.state, &late), out);
    let again = after(&out.state, &[StoryInput::Approve { note: None }, late]);
    assert_eq!(
        (again.result.clone(), line(&again).as_str()),
        (AdvanceResult::Dispatched, "bdd 2 running")
    );
}

#[test]
fn violation_on_the_last_attempt_is_routed_and_not_stuck() {
    let mut last = failing(Step::Impl, Some(StepFailReason::ConstitutionViolation));
    last.attempt = 5;
    let routed = decide(&last, &next());
    assert_eq!(
        (routed.result.clone(), line(&routed).as_str()),
        (AdvanceResult::Dispatched, "sdd-delta 1 running")
    );
}

fn paper(story: &str, step: &str, attempt: &str) -> FoundHandOver {
    let named = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let words = ClaimedResult { status: Some("pass".to_owned()), ..ClaimedResult::default() };
    FoundHandOver::Content(HandOverContent {
        story: named(story),
        step: named(step),
        attempt: named(attempt),
        claimed: words,
    })
}

#[test]
fn result_of_another_attempt_step_or_story_is_stale() {
    let mut state = at(Step::Impl, StepStatus::Running);
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
        for (result, handoff) in
            [(&found, &FoundHandOver::Missing), (&FoundHandOver::Missing, &found)]
        {
            let (claim, warnings) = ExecutorClaim::find(
                &HandOverFiles::from_shared(result, handoff),
                &state,
                OtherStories::None,
            );
            assert!(matches!(claim, ExecutorClaim::Stale(_)), "{found:?}");
            assert!(warnings[0].starts_with("stale: "), "{warnings:?}");
            assert_eq!(verdict(Step::Impl, &claim, &TestMeasurement::NoCommand), None);
        }
    }
    let (claim, warnings) = ExecutorClaim::find(
        &HandOverFiles::from_shared(&FoundHandOver::Missing, &paper("US-005", "impl", "2")),
        &state,
        OtherStories::None,
    );
    assert!(matches!(claim, ExecutorClaim::Stated(_)) && warnings.is_empty());
    // A file from before the dispatch is not a result of it.
    let (claim, _) = ExecutorClaim::find(
        &HandOverFiles::from_shared(&FoundHandOver::Missing, &FoundHandOver::Unchanged),
        &state,
        OtherStories::None,
    );
    assert_eq!(claim, ExecutorClaim::Missing);
    // While several stories are in progress, a file must name its story.
    let (claim, _) = ExecutorClaim::find(
        &HandOverFiles::from_shared(&paper("", "", ""), &FoundHandOver::Missing),
        &state,
        OtherStories::Running,
    );
    assert!(matches!(claim, ExecutorClaim::Stale(_)));
}

#[test]
fn story_name_is_in_a_path_once() {
    assert_eq!(story("US-005").fill_path("docs/bdd/US-{story}.md"), "docs/bdd/US-005.md");
}

fn verdict(step: Step, claim: &ExecutorClaim, measured: &TestMeasurement) -> Option<StepVerdict> {
    let rules = rules();
    let rule = rules.get(step).expect("a rule");
    let at = minute(1);
    let (checked, rules_state) = (&PostCheckResult::NotNeeded, RulesState::Unchanged);
    let evidence =
        StepEvidence { claim, measured, checked, proof: &StepProof::Given, rules: rules_state, at };
    judge_step(rule, &evidence).report.map(|report| report.verdict)
}

fn said(status: Option<&str>) -> ExecutorClaim {
    ExecutorClaim::Stated(ClaimedResult {
        status: status.map(str::to_owned),
        ..ClaimedResult::default()
    })
}

#[test]
fn missing_status_and_test_result_asks_a_person() {
    assert_eq!(
        verdict(Step::Bdd, &said(None), &TestMeasurement::NotNeeded),
        Some(StepVerdict::Unknown)
    );
    assert_eq!(
        verdict(Step::Impl, &said(None), &TestMeasurement::NoCommand),
        Some(StepVerdict::Unknown)
    );
    let asked = decide(&at(Step::Bdd, StepStatus::Running), &ended(StepVerdict::Unknown));
    assert_eq!(
        (asked.result.clone(), line(&asked).as_str()),
        (AdvanceResult::Recorded, "bdd 1 needs_human (no_verdict)")
    );
}

#[test]
fn missing_hand_over_after_the_run_is_failing() {
    for step in [Step::Bdd, Step::Scaffold, Step::Impl] {
        let verdict = verdict(step, &ExecutorClaim::Missing, &green());
        assert!(matches!(verdict, Some(StepVerdict::Failing { error: Some(_), .. })), "{step}");
    }
    // Not even after a scaffold, where failing tests otherwise count as a pass.
    let mut state = at(Step::Scaffold, StepStatus::Running);
    let verdict = verdict(Step::Scaffold, &ExecutorClaim::Missing, &TestMeasurement::NoCommand);
    state = decide(&state, &ended(verdict.expect("a verdict"))).state;
    assert_eq!(line(&decide(&state, &next())), "scaffold 2 running");
}

fn ran(pass: u64, fail: u64) -> TestMeasurement {
    let tests = Some(TestTotals { pass, fail, skip: 0 });
    TestMeasurement::Ran(TestRunResult {
        tests,
        failing: vec![],
        failure: (fail > 0).then(|| "make test (exit code 1)".to_owned()),
    })
}

fn green() -> TestMeasurement {
    ran(3, 0)
}

#[test]
fn claimed_pass_with_failing_tests_fails() {
    for step in [Step::Impl, Step::Verify] {
        let verdict = verdict(step, &said(Some("pass")), &ran(40, 2));
        assert!(matches!(verdict, Some(StepVerdict::Failing { reason: None, .. })), "{step}");
    }
    assert_eq!(verdict(Step::Impl, &said(Some("pass")), &green()), Some(StepVerdict::Pass));
    // After a scaffold, failing tests are expected.
    assert_eq!(verdict(Step::Scaffold, &said(Some("pass")), &ran(40, 2)), Some(StepVerdict::Pass));
}

#[test]
fn status_synonyms_are_understood_and_unknown_words_are_failing() {
    let words = |status: &str, reason: &str| ClaimedResult {
        status: Some(status.to_owned()),
        reason: Some(reason.to_owned()),
        ..ClaimedResult::default()
    };
    for (word, status, odd) in [
        ("pass", StepStatus::Pass, false),
        ("failing", StepStatus::Failing, false),
        ("needs_human", StepStatus::NeedsHuman, false),
        ("passing", StepStatus::Pass, true),
        ("passed", StepStatus::Pass, true),
        ("done", StepStatus::Pass, true),
        ("complete", StepStatus::Pass, true),
        ("completed", StepStatus::Pass, true),
        ("PASS", StepStatus::Pass, true),
        ("fail", StepStatus::Failing, true),
        ("failed", StepStatus::Failing, true),
        ("failure", StepStatus::Failing, true),
        ("mostly pass", StepStatus::Failing, true),
        ("running", StepStatus::Failing, true),
        ("pending", StepStatus::Failing, true),
        ("timeout", StepStatus::Failing, true),
        ("", StepStatus::Failing, true),
    ] {
        let mut warnings = Vec::new();
        assert_eq!(words(word, "null").status(&mut warnings), Some(status), "{word}");
        assert_eq!(!warnings.is_empty(), odd, "{word}: {warnings:?}");
    }
    for (word, reason, odd) in [
        ("null", None, false),
        ("scope_warning", Some(StepFailReason::ScopeWarning), false),
        ("the tests are slow", None, true),
        ("Scope_Warning", None, true),
    ] {
        let mut warnings = Vec::new();
        assert_eq!(words("failing", word).reason(&mut warnings), reason, "{word}");
        assert_eq!(!warnings.is_empty(), odd, "{word}: {warnings:?}");
    }
}

#[test]
fn report_after_timeout_is_too_late() {
    let out = at(Step::Impl, StepStatus::Timeout);
    let late = decide(&out, &ended(StepVerdict::Pass));
    assert_eq!((late.result, late.state), (AdvanceResult::Refused(StoryRefusal::TooLate), out));
}
