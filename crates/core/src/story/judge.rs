//! Judges a step: compares the executor's claim with the measured results.

use adjutant_model::Time;

use super::claim::{ClaimedResult, ExecutorClaim};
use super::input::{MeasuredTests, StepReport, StepVerdict};
use super::{StepFailReason, StepRule, StepStatus, TestTotals};

/// The result of the project's test command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestMeasurement {
    /// The step needs no tests.
    NotNeeded,
    /// No test command is known.
    NoCommand,
    Ran(TestRunResult),
    /// The test command, which was stopped.
    TimedOut(String),
    /// The tests could not be started; the text says why.
    Broken(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestRunResult {
    /// `None` if the output could not be counted.
    pub tests: Option<TestTotals>,
    pub failing: Vec<String>,
    /// How the command failed, with its last lines of output; `None` if it succeeded.
    pub failure: Option<String>,
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
    pub proof: &'a StepProof,
    pub rules: RulesState,
    /// When the executor ended.
    pub at: Time,
}

/// Whether a step left what it is for: its documents, its commit, or its changes of the memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepProof {
    /// It is there, or the step is for nothing that can be proved.
    Given,
    /// The text says what is missing.
    Missing(String),
}

/// Whether what decides about a step is what the executor was started by: the step rules, and in a
/// run the state of the story and the prompts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RulesState {
    Unchanged,
    /// This changed while the executor was working: nothing was measured, and a person decides.
    Changed(String),
}

/// Judges a step. A measurement overrides a claim of success, and a pass needs a claim
/// or a measurement. Under changed rules, whatever the executor claims, a person decides.
pub fn judge_step(rule: &StepRule, evidence: &StepEvidence<'_>) -> StepJudgement {
    if let RulesState::Changed(what) = &evidence.rules {
        return judge_changed_rules(evidence, what);
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
            let verdict = decide_verdict(rule, &claimed, evidence, &mut warnings);
            require_proof(verdict, evidence.proof)
        }
    };
    let tests = measured_tests(evidence.measured);
    warnings.extend(unmeasured_claim(&claimed, &tests));
    let lint_pass = match evidence.checked {
        PostCheckResult::NotNeeded => None,
        PostCheckResult::Passed => Some(true),
        PostCheckResult::Failed(_) => Some(false),
    };
    let ClaimedResult { files_changed, message, .. } = claimed;
    let message = message.map(|message| *message);
    let at = evidence.at;
    let report = StepReport { at, verdict, tests, lint_pass, files_changed, message };
    StepJudgement { report: Some(report), warnings }
}

fn judge_changed_rules(evidence: &StepEvidence<'_>, what: &str) -> StepJudgement {
    let ClaimedResult { files_changed, message, .. } = match evidence.claim {
        ExecutorClaim::Stated(claimed) => claimed.clone(),
        ExecutorClaim::Stale(_) | ExecutorClaim::Missing | ExecutorClaim::Unreadable(_) => {
            ClaimedResult::default()
        }
    };
    let message = message.map(|message| *message);
    let error = format!("{what} changed while the executor was working");
    let report = StepReport {
        at: evidence.at,
        verdict: StepVerdict::NeedsHuman { reason: None, error: Some(error.clone()) },
        tests: MeasuredTests::NotNeeded,
        lint_pass: None,
        files_changed,
        message,
    };
    StepJudgement { report: Some(report), warnings: vec![error] }
}

fn failing_verdict(why: &str) -> StepVerdict {
    StepVerdict::Failing { reason: None, error: Some(why.to_owned()) }
}

/// A step passes only with its proof, whatever is claimed.
fn require_proof(verdict: StepVerdict, proof: &StepProof) -> StepVerdict {
    match (verdict, proof) {
        (StepVerdict::Pass, StepProof::Missing(what)) => failing_verdict(what),
        (verdict, StepProof::Given | StepProof::Missing(_)) => verdict,
    }
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
        Some(StepStatus::NeedsHuman) => return StepVerdict::NeedsHuman { reason, error: None },
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
        (_, TestAssessment::TimedOut(command)) => StepVerdict::Failing {
            reason: reason.or(Some(StepFailReason::TestTimeout)),
            error: Some(format!("the tests timed out: {command}")),
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
    /// The test command, which was stopped.
    TimedOut(String),
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
        TestMeasurement::TimedOut(command) => TestAssessment::TimedOut(command.clone()),
        TestMeasurement::Ran(ran) if rule.treat_failing_as_pass => assess_scaffold(ran, warnings),
        TestMeasurement::Ran(ran) => assess_implementation(ran, warnings),
    }
}

/// After a scaffold step, tests should fail or not even compile.
fn assess_scaffold(ran: &TestRunResult, warnings: &mut Vec<String>) -> TestAssessment {
    let red = ran.failure.is_some() || ran.tests.is_some_and(|tests| tests.fail > 0);
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
    if let Some(failure) = &ran.failure {
        return TestAssessment::NotAsRequired(format!("the test command failed: {failure}"));
    }
    if ran.tests.is_some() && tests.pass == 0 {
        warnings.push("the test command succeeds without running any test".to_owned());
        return TestAssessment::Unknown;
    }
    TestAssessment::AsRequired
}

fn measured_tests(measured: &TestMeasurement) -> MeasuredTests {
    match measured {
        TestMeasurement::NotNeeded => MeasuredTests::NotNeeded,
        // The counts up to a timeout are not those of the tests.
        TestMeasurement::NoCommand | TestMeasurement::Broken(_) | TestMeasurement::TimedOut(_) => {
            MeasuredTests::Unknown
        }
        TestMeasurement::Ran(ran) => match ran.tests {
            Some(totals) => MeasuredTests::Counted { totals, failing: ran.failing.clone() },
            None => MeasuredTests::Unknown,
        },
    }
}

/// Returns a warning if the executor claims counts that were not measured.
fn unmeasured_claim(claimed: &ClaimedResult, measured: &MeasuredTests) -> Option<String> {
    let claim = claimed.tests?;
    let words =
        format!("the executor claims {} passed and {} failed tests", claim.pass, claim.fail);
    match measured {
        // The hand-over of a later step may repeat what was measured before.
        MeasuredTests::NotNeeded => None,
        MeasuredTests::Unknown => Some(format!("{words}, which was not measured")),
        MeasuredTests::Counted { totals, .. }
            if (totals.pass, totals.fail) == (claim.pass, claim.fail) =>
        {
            None
        }
        MeasuredTests::Counted { totals, .. } => {
            Some(format!("{words}, but {} passed and {} failed", totals.pass, totals.fail))
        }
    }
}
