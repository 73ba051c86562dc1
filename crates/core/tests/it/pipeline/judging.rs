//! The verdict on a step: every claim with every measurement.

use std::fmt::Write as _;

use adjutant_core::story::claim::{
    ClaimedResult, ExecutorClaim, FoundHandOver, HandOverContent, HandOverFiles, OtherStories,
};
use adjutant_core::story::judge::{
    PostCheckResult, RulesState, StepEvidence, StepProof, TestMeasurement, TestRunResult,
};
use adjutant_core::story::{MeasuredTests, StepJudgement, StepVerdict, TestTotals, judge_step};
use adjutant_model::story::{Step, StepStatus};

use crate::pipeline::support::{at, minute, rules};

fn words(status: Option<&str>, reason: Option<&str>) -> ClaimedResult {
    ClaimedResult {
        status: status.map(str::to_owned),
        reason: reason.map(str::to_owned),
        ..ClaimedResult::default()
    }
}

fn judged(
    step: Step,
    claim: &ExecutorClaim,
    measured: &TestMeasurement,
    checked: &PostCheckResult,
) -> StepJudgement {
    let rules = rules();
    judge_step(
        rules.get(step).expect("a rule"),
        &StepEvidence {
            claim,
            measured,
            checked,
            proof: &StepProof::Given,
            rules: RulesState::Unchanged,
            at: minute(1),
        },
    )
}

fn ran(tests: Option<TestTotals>, success: bool) -> TestMeasurement {
    let failure = (!success).then(|| "make test (exit code 1)".to_owned());
    TestMeasurement::Ran(TestRunResult { tests, failing: vec!["a_test".to_owned()], failure })
}

fn tests(pass: u64, fail: u64) -> TestTotals {
    TestTotals { pass, fail, skip: 1 }
}

fn word(verdict: &StepVerdict) -> String {
    match verdict {
        StepVerdict::Pass => "pass".to_owned(),
        StepVerdict::Failing { reason: Some(reason), .. } => format!("failing {reason}"),
        StepVerdict::Failing { reason: None, .. } => "failing".to_owned(),
        StepVerdict::NeedsHuman { .. } => "asked".to_owned(),
        StepVerdict::Unknown => "unknown".to_owned(),
    }
}

#[test]
fn step_under_changed_rules_needs_a_person_whatever_is_claimed() {
    let claims = [
        ExecutorClaim::Missing,
        ExecutorClaim::Unreadable("half".to_owned()),
        ExecutorClaim::Stale("of another step".to_owned()),
        ExecutorClaim::Stated(ClaimedResult {
            status: Some("pass".to_owned()),
            ..ClaimedResult::default()
        }),
    ];
    for claim in &claims {
        let evidence = StepEvidence {
            claim,
            measured: &TestMeasurement::NotNeeded,
            checked: &PostCheckResult::NotNeeded,
            proof: &StepProof::Given,
            rules: RulesState::Changed("step-rules.yaml".to_owned()),
            at: minute(1),
        };
        let rules = rules();
        let judged = judge_step(rules.get(Step::Impl).expect("a rule"), &evidence);
        let verdict = judged.report.map(|report| report.verdict);
        let error = "step-rules.yaml changed while the executor was working".to_owned();
        assert_eq!(
            verdict,
            Some(StepVerdict::NeedsHuman { reason: None, error: Some(error) }),
            "{claim:?}"
        );
        assert_eq!(judged.warnings.len(), 1, "{claim:?}");
    }
}

#[test]
fn verdict_of_every_claim_with_every_measurement() {
    let measurements = [
        ("green", ran(Some(tests(3, 0)), true)),
        ("red", ran(Some(tests(2, 1)), false)),
        ("red, and the command says well", ran(Some(tests(2, 1)), true)),
        ("not built", ran(None, false)),
        ("not counted, well", ran(None, true)),
        ("none ran", ran(Some(tests(0, 0)), true)),
        ("no command", TestMeasurement::NoCommand),
        ("too long", TestMeasurement::TimedOut("make test".to_owned())),
        ("no such program", TestMeasurement::Broken("no such file".to_owned())),
    ];
    let claims = [
        ("pass", ExecutorClaim::Stated(words(Some("pass"), None))),
        ("failing", ExecutorClaim::Stated(words(Some("failing"), None))),
        ("failing, scope", ExecutorClaim::Stated(words(Some("failing"), Some("scope_warning")))),
        ("pass, scope", ExecutorClaim::Stated(words(Some("pass"), Some("scope_warning")))),
        ("human", ExecutorClaim::Stated(words(Some("needs_human"), None))),
        ("no word", ExecutorClaim::Stated(words(None, None))),
        ("scope alone", ExecutorClaim::Stated(words(None, Some("scope_warning")))),
        ("nothing", ExecutorClaim::Missing),
        ("nonsense", ExecutorClaim::Unreadable("not UTF-8".to_owned())),
    ];
    let mut table = String::new();
    for step in [Step::Scaffold, Step::Impl] {
        for (claim_name, claim) in &claims {
            for (name, measured) in &measurements {
                let judged = judged(step, claim, measured, &PostCheckResult::NotNeeded);
                let report = judged.report.expect("a report");
                let verdict = word(&report.verdict);
                writeln!(table, "{step} | {claim_name} | {name} | {verdict}").expect("a line");
            }
        }
    }
    assert_eq!(table, EXPECTED, "\n{table}");
}

const EXPECTED: &str = "\
scaffold | pass | green | pass
scaffold | pass | red | pass
scaffold | pass | red, and the command says well | pass
scaffold | pass | not built | pass
scaffold | pass | not counted, well | pass
scaffold | pass | none ran | pass
scaffold | pass | no command | pass
scaffold | pass | too long | failing test_timeout
scaffold | pass | no such program | failing
scaffold | failing | green | pass
scaffold | failing | red | pass
scaffold | failing | red, and the command says well | pass
scaffold | failing | not built | pass
scaffold | failing | not counted, well | pass
scaffold | failing | none ran | pass
scaffold | failing | no command | pass
scaffold | failing | too long | failing test_timeout
scaffold | failing | no such program | failing
scaffold | failing, scope | green | failing scope_warning
scaffold | failing, scope | red | failing scope_warning
scaffold | failing, scope | red, and the command says well | failing scope_warning
scaffold | failing, scope | not built | failing scope_warning
scaffold | failing, scope | not counted, well | failing scope_warning
scaffold | failing, scope | none ran | failing scope_warning
scaffold | failing, scope | no command | failing scope_warning
scaffold | failing, scope | too long | failing scope_warning
scaffold | failing, scope | no such program | failing scope_warning
scaffold | pass, scope | green | failing scope_warning
scaffold | pass, scope | red | failing scope_warning
scaffold | pass, scope | red, and the command says well | failing scope_warning
scaffold | pass, scope | not built | failing scope_warning
scaffold | pass, scope | not counted, well | failing scope_warning
scaffold | pass, scope | none ran | failing scope_warning
scaffold | pass, scope | no command | failing scope_warning
scaffold | pass, scope | too long | failing scope_warning
scaffold | pass, scope | no such program | failing scope_warning
scaffold | human | green | asked
scaffold | human | red | asked
scaffold | human | red, and the command says well | asked
scaffold | human | not built | asked
scaffold | human | not counted, well | asked
scaffold | human | none ran | asked
scaffold | human | no command | asked
scaffold | human | too long | asked
scaffold | human | no such program | asked
scaffold | no word | green | unknown
scaffold | no word | red | pass
scaffold | no word | red, and the command says well | pass
scaffold | no word | not built | pass
scaffold | no word | not counted, well | unknown
scaffold | no word | none ran | unknown
scaffold | no word | no command | unknown
scaffold | no word | too long | failing test_timeout
scaffold | no word | no such program | failing
scaffold | scope alone | green | failing scope_warning
scaffold | scope alone | red | failing scope_warning
scaffold | scope alone | red, and the command says well | failing scope_warning
scaffold | scope alone | not built | failing scope_warning
scaffold | scope alone | not counted, well | failing scope_warning
scaffold | scope alone | none ran | failing scope_warning
scaffold | scope alone | no command | failing scope_warning
scaffold | scope alone | too long | failing scope_warning
scaffold | scope alone | no such program | failing scope_warning
scaffold | nothing | green | failing
scaffold | nothing | red | failing
scaffold | nothing | red, and the command says well | failing
scaffold | nothing | not built | failing
scaffold | nothing | not counted, well | failing
scaffold | nothing | none ran | failing
scaffold | nothing | no command | failing
scaffold | nothing | too long | failing
scaffold | nothing | no such program | failing
scaffold | nonsense | green | failing
scaffold | nonsense | red | failing
scaffold | nonsense | red, and the command says well | failing
scaffold | nonsense | not built | failing
scaffold | nonsense | not counted, well | failing
scaffold | nonsense | none ran | failing
scaffold | nonsense | no command | failing
scaffold | nonsense | too long | failing
scaffold | nonsense | no such program | failing
impl | pass | green | pass
impl | pass | red | failing
impl | pass | red, and the command says well | failing
impl | pass | not built | failing
impl | pass | not counted, well | pass
impl | pass | none ran | pass
impl | pass | no command | pass
impl | pass | too long | failing test_timeout
impl | pass | no such program | failing
impl | failing | green | failing
impl | failing | red | failing
impl | failing | red, and the command says well | failing
impl | failing | not built | failing
impl | failing | not counted, well | failing
impl | failing | none ran | failing
impl | failing | no command | failing
impl | failing | too long | failing test_timeout
impl | failing | no such program | failing
impl | failing, scope | green | failing scope_warning
impl | failing, scope | red | failing scope_warning
impl | failing, scope | red, and the command says well | failing scope_warning
impl | failing, scope | not built | failing scope_warning
impl | failing, scope | not counted, well | failing scope_warning
impl | failing, scope | none ran | failing scope_warning
impl | failing, scope | no command | failing scope_warning
impl | failing, scope | too long | failing scope_warning
impl | failing, scope | no such program | failing scope_warning
impl | pass, scope | green | failing scope_warning
impl | pass, scope | red | failing scope_warning
impl | pass, scope | red, and the command says well | failing scope_warning
impl | pass, scope | not built | failing scope_warning
impl | pass, scope | not counted, well | failing scope_warning
impl | pass, scope | none ran | failing scope_warning
impl | pass, scope | no command | failing scope_warning
impl | pass, scope | too long | failing scope_warning
impl | pass, scope | no such program | failing scope_warning
impl | human | green | asked
impl | human | red | asked
impl | human | red, and the command says well | asked
impl | human | not built | asked
impl | human | not counted, well | asked
impl | human | none ran | asked
impl | human | no command | asked
impl | human | too long | asked
impl | human | no such program | asked
impl | no word | green | pass
impl | no word | red | failing
impl | no word | red, and the command says well | failing
impl | no word | not built | failing
impl | no word | not counted, well | pass
impl | no word | none ran | unknown
impl | no word | no command | unknown
impl | no word | too long | failing test_timeout
impl | no word | no such program | failing
impl | scope alone | green | failing scope_warning
impl | scope alone | red | failing scope_warning
impl | scope alone | red, and the command says well | failing scope_warning
impl | scope alone | not built | failing scope_warning
impl | scope alone | not counted, well | failing scope_warning
impl | scope alone | none ran | failing scope_warning
impl | scope alone | no command | failing scope_warning
impl | scope alone | too long | failing scope_warning
impl | scope alone | no such program | failing scope_warning
impl | nothing | green | failing
impl | nothing | red | failing
impl | nothing | red, and the command says well | failing
impl | nothing | not built | failing
impl | nothing | not counted, well | failing
impl | nothing | none ran | failing
impl | nothing | no command | failing
impl | nothing | too long | failing
impl | nothing | no such program | failing
impl | nonsense | green | failing
impl | nonsense | red | failing
impl | nonsense | red, and the command says well | failing
impl | nonsense | not built | failing
impl | nonsense | not counted, well | failing
impl | nonsense | none ran | failing
impl | nonsense | no command | failing
impl | nonsense | too long | failing
impl | nonsense | no such program | failing
";

#[test]
fn failed_check_fails_the_step() {
    let failed = PostCheckResult::Failed("unused variable".to_owned());
    let claim = ExecutorClaim::Stated(words(Some("pass"), None));
    for step in [Step::Bdd, Step::Scaffold, Step::Impl] {
        let judged = judged(step, &claim, &ran(Some(tests(3, 0)), true), &failed);
        let report = judged.report.expect("a report");
        let error = Some("the check failed: unused variable".to_owned());
        assert_eq!(report.verdict, StepVerdict::Failing { reason: None, error }, "{step}");
        assert_eq!(report.lint_pass, Some(false));
    }
    let report =
        judged(Step::Impl, &claim, &ran(Some(tests(3, 0)), true), &PostCheckResult::Passed).report;
    assert_eq!(
        report.map(|report| (report.verdict, report.lint_pass)),
        Some((StepVerdict::Pass, Some(true)))
    );
}

#[test]
fn measured_counts_take_precedence_over_claimed_counts() {
    let mut said = words(Some("failing"), None);
    said.tests = Some(tests(40, 2));
    let claim = ExecutorClaim::Stated(said);
    let report =
        judged(Step::Impl, &claim, &ran(Some(tests(3, 1)), false), &PostCheckResult::NotNeeded)
            .report;
    let report = report.expect("a report");
    let failing = vec!["a_test".to_owned()];
    assert_eq!(report.tests, MeasuredTests::Counted { totals: tests(3, 1), failing });
}

#[test]
fn claimed_counts_are_never_recorded() {
    let mut said = words(Some("pass"), None);
    said.tests = Some(tests(77, 0));
    let claim = ExecutorClaim::Stated(said);
    for (measured, expected) in [
        (TestMeasurement::NotNeeded, MeasuredTests::NotNeeded),
        (TestMeasurement::NoCommand, MeasuredTests::Unknown),
        (TestMeasurement::Broken("no such program".to_owned()), MeasuredTests::Unknown),
        (TestMeasurement::TimedOut("make test".to_owned()), MeasuredTests::Unknown),
        (ran(None, true), MeasuredTests::Unknown),
    ] {
        let judged = judged(Step::Impl, &claim, &measured, &PostCheckResult::NotNeeded);
        assert_eq!(judged.report.expect("a report").tests, expected, "{measured:?}");
    }
}

#[test]
fn claim_without_measurement_adds_a_warning() {
    let claim = ExecutorClaim::Stated(words(Some("pass"), None));
    let judged =
        judged(Step::Impl, &claim, &TestMeasurement::NoCommand, &PostCheckResult::NotNeeded);
    assert_eq!(judged.warnings, ["there is no test command, so the executor's claim counts"]);
}

#[test]
fn executor_result_takes_precedence_and_handoff_fills_gaps() {
    let state = at(Step::Impl, StepStatus::Running);
    let paper = |status: Option<&str>, reason: Option<&str>, files: &[&str]| {
        let mut words = words(status, reason);
        words.files_changed = files.iter().map(|file| (*file).to_owned()).collect();
        FoundHandOver::Content(HandOverContent { claimed: words, ..HandOverContent::default() })
    };
    let find = |result: &FoundHandOver, handoff: &FoundHandOver| match ExecutorClaim::find(
        &HandOverFiles::from_shared(result, handoff),
        &state,
        OtherStories::None,
    )
    .0
    {
        ExecutorClaim::Stated(words) => (words.status, words.reason, words.files_changed.join(",")),
        other => panic!("{other:?}"),
    };
    let owned = |text: &str| Some(text.to_owned());
    assert_eq!(
        find(&paper(Some("failing"), None, &[]), &paper(Some("pass"), Some("x"), &["a.go"])),
        (owned("failing"), None, "a.go".to_owned())
    );
    assert_eq!(
        find(&paper(None, None, &[]), &paper(Some("pass"), None, &["a.go"])),
        (owned("pass"), None, "a.go".to_owned())
    );
    assert_eq!(
        find(&FoundHandOver::Invalid("no".into()), &paper(Some("pass"), None, &[])),
        (owned("pass"), None, String::new())
    );
    let broken = FoundHandOver::Invalid("no".into());
    let (claim, _) = ExecutorClaim::find(
        &HandOverFiles::from_shared(&broken, &FoundHandOver::Missing),
        &state,
        OtherStories::None,
    );
    assert!(matches!(claim, ExecutorClaim::Unreadable(_)));
    let (claim, _) = ExecutorClaim::find(
        &HandOverFiles::from_shared(&paper(None, None, &[]), &broken),
        &state,
        OtherStories::None,
    );
    assert!(matches!(claim, ExecutorClaim::Unreadable(_)));
}
