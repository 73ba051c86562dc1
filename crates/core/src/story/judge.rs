//! Judges a step: compares the executor's claim with the measured results.

use adjutant_model::Time;

use super::claim::{ClaimedResult, ExecutorClaim};
use super::input::{StepReport, StepVerdict};
use super::{StepFailReason, StepRule, StepStatus, TestTotals};

/// The result of the project's test command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestMeasurement {
    /// The step needs no tests.
    NotNeeded,
    /// No test command is known.
    NoCommand,
    Ran(TestRunResult),
    TimedOut {
        /// The counts up to the timeout.
        tests: TestTotals,
        failing: Vec<String>,
    },
    /// The tests could not be started; the text says why.
    Broken(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestRunResult {
    /// `None` if the output could not be counted.
    pub tests: Option<TestTotals>,
    pub failing: Vec<String>,
    /// Whether the command exited with success.
    pub success: bool,
}

/// The result of the check after the step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PostCheckResult {
    /// The step or the project has no such check.
    NotNeeded,
    Passed,
    /// The check failed with this last output.
    Failed(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepJudgement {
    /// `None` if the files are about another story, step or attempt.
    pub report: Option<StepReport>,
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct StepEvidence<'a> {
    pub claim: &'a ExecutorClaim,
    pub measured: &'a TestMeasurement,
    pub checked: &'a PostCheckResult,
    pub rules: RulesState,
    /// When the executor ended.
    pub at: Time,
}

/// Whether the step rules are those that the executor was started by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RulesState {
    Unchanged,
    /// They changed while the executor was working: nothing was measured, and a person decides.
    Changed,
}

/// Judges a step. A measurement overrides a claim of success, and a pass needs a claim
/// or a measurement. Under changed rules, whatever the executor claims, a person decides.
pub fn judge_step(rule: &StepRule, evidence: &StepEvidence<'_>) -> StepJudgement {
    if evidence.rules == RulesState::Changed {
        return judge_changed_rules(evidence);
    }
    let mut warnings = Vec::new();
    let claimed = match evidence.claim {
        ExecutorClaim::Stale(_) => return StepJudgement { report: None, warnings },
        ExecutorClaim::Missing | ExecutorClaim::Unreadable(_) => ClaimedResult::default(),
        ExecutorClaim::Stated(claimed) => claimed.clone(),
    };
    let verdict = match evidence.claim {
        ExecutorClaim::Missing => failing_verdict("the executor left no hand-over"),
        ExecutorClaim::Unreadable(why) => failing_verdict(why),
        ExecutorClaim::Stated(_) | ExecutorClaim::Stale(_) => {
            decide_verdict(rule, &claimed, evidence, &mut warnings)
        }
    };
    let (tests, failing_tests) = test_counts(evidence.measured, &claimed);
    let lint_pass = match evidence.checked {
        PostCheckResult::NotNeeded => None,
        PostCheckResult::Passed => Some(true),
        PostCheckResult::Failed(_) => Some(false),
    };
    let files_changed = claimed.files_changed;
    let at = evidence.at;
    let report = StepReport { at, verdict, tests, failing_tests, lint_pass, files_changed };
    StepJudgement { report: Some(report), warnings }
}

fn judge_changed_rules(evidence: &StepEvidence<'_>) -> StepJudgement {
    let files_changed = match evidence.claim {
        ExecutorClaim::Stated(claimed) => claimed.files_changed.clone(),
        ExecutorClaim::Stale(_) | ExecutorClaim::Missing | ExecutorClaim::Unreadable(_) => vec![],
    };
    let report = StepReport {
        at: evidence.at,
        verdict: StepVerdict::NeedsHuman { reason: None },
        tests: None,
        failing_tests: vec![],
        lint_pass: None,
        files_changed,
    };
    let warning = "step-rules.yaml changed while the executor was working";
    StepJudgement { report: Some(report), warnings: vec![warning.to_owned()] }
}

fn failing_verdict(why: &str) -> StepVerdict {
    StepVerdict::Failing { reason: None, error: Some(why.to_owned()) }
}

fn decide_verdict(
    rule: &StepRule,
    claimed: &ClaimedResult,
    evidence: &StepEvidence<'_>,
    warnings: &mut Vec<String>,
) -> StepVerdict {
    let reason = claimed.reason(warnings);
    let status = claimed.status(warnings);
    let claims_pass = match status {
        Some(StepStatus::NeedsHuman) => return StepVerdict::NeedsHuman { reason },
        Some(StepStatus::Pass) if reason.is_some() => {
            warnings.push("a pass with a reason counts as failing".to_owned());
            Some(false)
        }
        Some(StepStatus::Pass) => Some(true),
        None if reason.is_none() => None,
        Some(_) | None => Some(false),
    };
    if let PostCheckResult::Failed(why) = evidence.checked {
        return StepVerdict::Failing { reason, error: Some(format!("the check failed: {why}")) };
    }
    match (claims_pass, assess_tests(rule, evidence.measured, warnings)) {
        (_, TestAssessment::TimedOut) => StepVerdict::Failing {
            reason: reason.or(Some(StepFailReason::TestTimeout)),
            error: Some("the tests timed out".to_owned()),
        },
        (_, TestAssessment::Broken(why)) => StepVerdict::Failing { reason, error: Some(why) },
        (Some(false), _) if rule.treat_failing_as_pass && reason.is_none() => StepVerdict::Pass,
        (Some(false), _) => StepVerdict::Failing { reason, error: None },
        (Some(true), TestAssessment::NotAsRequired(why)) => {
            warnings.push(format!("the executor claimed a pass, but {why}"));
            StepVerdict::Failing { reason: None, error: Some(why) }
        }
        (None, TestAssessment::NotAsRequired(why)) => {
            StepVerdict::Failing { reason: None, error: Some(why) }
        }
        (Some(true), TestAssessment::AsRequired | TestAssessment::Unknown)
        | (None, TestAssessment::AsRequired) => StepVerdict::Pass,
        (None, TestAssessment::Unknown) => StepVerdict::Unknown,
    }
}

/// What the tests say about the step.
enum TestAssessment {
    /// The tests are as the step requires; for a scaffold that means failing.
    AsRequired,
    /// The tests are not as the step requires; the text says why.
    NotAsRequired(String),
    Unknown,
    TimedOut,
    Broken(String),
}

fn assess_tests(
    rule: &StepRule,
    measured: &TestMeasurement,
    warnings: &mut Vec<String>,
) -> TestAssessment {
    match measured {
        TestMeasurement::NotNeeded => TestAssessment::Unknown,
        TestMeasurement::NoCommand => {
            warnings.push("there is no test command, so the executor's claim counts".to_owned());
            TestAssessment::Unknown
        }
        TestMeasurement::Broken(why) => {
            TestAssessment::Broken(format!("the tests could not be run: {why}"))
        }
        TestMeasurement::TimedOut { .. } => TestAssessment::TimedOut,
        TestMeasurement::Ran(ran) if rule.treat_failing_as_pass => assess_scaffold(ran, warnings),
        TestMeasurement::Ran(ran) => assess_implementation(ran, warnings),
    }
}

/// After a scaffold step, tests should fail or not even compile.
fn assess_scaffold(ran: &TestRunResult, warnings: &mut Vec<String>) -> TestAssessment {
    let red = !ran.success || ran.tests.is_some_and(|tests| tests.fail > 0);
    if red {
        return TestAssessment::AsRequired;
    }
    warnings.push("no test fails after the scaffold".to_owned());
    TestAssessment::Unknown
}

fn assess_implementation(ran: &TestRunResult, warnings: &mut Vec<String>) -> TestAssessment {
    let tests = ran.tests.unwrap_or_default();
    if tests.fail > 0 {
        return TestAssessment::NotAsRequired(format!("{} of the tests fail", tests.fail));
    }
    if !ran.success {
        return TestAssessment::NotAsRequired("the test command fails".to_owned());
    }
    if ran.tests.is_some() && tests.pass == 0 {
        warnings.push("the test command succeeds without running any test".to_owned());
        return TestAssessment::Unknown;
    }
    TestAssessment::AsRequired
}

/// Returns the counts to record: the measured ones, else the claimed ones.
fn test_counts(
    measured: &TestMeasurement,
    claimed: &ClaimedResult,
) -> (Option<TestTotals>, Vec<String>) {
    match measured {
        TestMeasurement::Ran(ran) => (ran.tests.or(claimed.tests), ran.failing.clone()),
        TestMeasurement::TimedOut { tests, failing } => (Some(*tests), failing.clone()),
        TestMeasurement::NotNeeded | TestMeasurement::NoCommand | TestMeasurement::Broken(_) => {
            (claimed.tests, vec![])
        }
    }
}
