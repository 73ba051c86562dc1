//! What came of a step: what was measured, against what was claimed.

use super::claim::{Claim, Words};
use super::input::{Report, Verdict};
use super::{Reason, Rule, Status, Tests};
use crate::Time;

/// What the tests came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Measured {
    /// This step needs none.
    NotNeeded,
    /// Nobody knows how to run them.
    NoCommand,
    /// They ran.
    Ran(Ran),
    /// They did not end in time.
    TimedOut {
        /// What had come to an end by then.
        tests: Tests,
        /// The tests that had failed by then.
        failing: Vec<String>,
    },
    /// They could not be started.
    Broken(String),
}

/// Tests that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// How many came to what; none if the output could not be counted.
    pub tests: Option<Tests>,
    /// The tests that failed.
    pub failing: Vec<String>,
    /// Whether the command said that all is well.
    pub success: bool,
}

/// What the check after the step came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checked {
    /// There is none for this step and project.
    NotNeeded,
    /// It succeeded.
    Passed,
    /// It did not, and these were its last words.
    Failed(String),
}

/// What came of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// The report, unless what is there is about something else.
    pub report: Option<Report>,
    /// What is odd.
    pub warnings: Vec<String>,
}

/// What is known about how a step went.
#[derive(Debug, Clone)]
pub struct Evidence<'a> {
    /// What the executor claims.
    pub claim: &'a Claim,
    /// What the tests came to.
    pub measured: &'a Measured,
    /// What the check after the step came to.
    pub checked: &'a Checked,
    /// When the executor ended.
    pub at: Time,
}

/// Judges a step by what is known. What was measured beats a claim of success, and nothing but a
/// claim or a measurement makes a pass.
pub fn judge(rule: &Rule, evidence: &Evidence<'_>) -> Judged {
    let mut warnings = Vec::new();
    let words = match evidence.claim {
        Claim::Stale(_) => return Judged { report: None, warnings },
        Claim::Missing | Claim::Unreadable(_) => Words::default(),
        Claim::Said(words) => words.clone(),
    };
    let verdict = match evidence.claim {
        Claim::Missing => failed("the executor left no hand-over"),
        Claim::Unreadable(why) => failed(why),
        Claim::Said(_) | Claim::Stale(_) => weigh(rule, &words, evidence, &mut warnings),
    };
    let (tests, failing_tests) = counted(evidence.measured, &words);
    let lint_pass = match evidence.checked {
        Checked::NotNeeded => None,
        Checked::Passed => Some(true),
        Checked::Failed(_) => Some(false),
    };
    let files_changed = words.files_changed;
    let at = evidence.at;
    let report = Report { at, verdict, tests, failing_tests, lint_pass, files_changed };
    Judged { report: Some(report), warnings }
}

fn failed(why: &str) -> Verdict {
    Verdict::Failing { reason: None, error: Some(why.to_owned()) }
}

fn weigh(
    rule: &Rule,
    words: &Words,
    evidence: &Evidence<'_>,
    warnings: &mut Vec<String>,
) -> Verdict {
    let reason = words.reason(warnings);
    let status = words.status(warnings);
    let claimed = match status {
        Some(Status::NeedsHuman) => return Verdict::Asked { reason },
        Some(Status::Pass) if reason.is_some() => {
            warnings.push("a pass with a reason is taken as failing".to_owned());
            Some(false)
        }
        Some(Status::Pass) => Some(true),
        None if reason.is_none() => None,
        Some(_) | None => Some(false),
    };
    if let Checked::Failed(why) = evidence.checked {
        return Verdict::Failing { reason, error: Some(format!("the check failed: {why}")) };
    }
    match (claimed, measured(rule, evidence.measured, warnings)) {
        (_, Tested::TimedOut) => Verdict::Failing {
            reason: reason.or(Some(Reason::TestTimeout)),
            error: Some("the tests did not end in time".to_owned()),
        },
        (_, Tested::Broken(why)) => Verdict::Failing { reason, error: Some(why) },
        (Some(false), _) if rule.treat_failing_as_pass && reason.is_none() => Verdict::Pass,
        (Some(false), _) => Verdict::Failing { reason, error: None },
        (Some(true), Tested::Red(why)) => {
            warnings.push(format!("a pass was claimed, and {why}"));
            Verdict::Failing { reason: None, error: Some(why) }
        }
        (None, Tested::Red(why)) => Verdict::Failing { reason: None, error: Some(why) },
        (Some(true), Tested::Right | Tested::Unknown) | (None, Tested::Right) => Verdict::Pass,
        (None, Tested::Unknown) => Verdict::Unknown,
    }
}

/// What the tests say about the step.
enum Tested {
    /// They are as they should be.
    Right,
    /// They are not.
    Red(String),
    /// They say nothing.
    Unknown,
    /// They did not end.
    TimedOut,
    /// They could not be run at all.
    Broken(String),
}

fn measured(rule: &Rule, measured: &Measured, warnings: &mut Vec<String>) -> Tested {
    match measured {
        Measured::NotNeeded => Tested::Unknown,
        Measured::NoCommand => {
            warnings.push("no test command is known, so the claim counts".to_owned());
            Tested::Unknown
        }
        Measured::Broken(why) => Tested::Broken(format!("the tests could not be run: {why}")),
        Measured::TimedOut { .. } => Tested::TimedOut,
        Measured::Ran(ran) if rule.treat_failing_as_pass => scaffolded(ran, warnings),
        Measured::Ran(ran) => implemented(ran, warnings),
    }
}

/// After a scaffold, red is right: tests that fail, or that cannot even be built.
fn scaffolded(ran: &Ran, warnings: &mut Vec<String>) -> Tested {
    let red = !ran.success || ran.tests.is_some_and(|tests| tests.fail > 0);
    if red {
        return Tested::Right;
    }
    warnings.push("no test fails after the scaffold".to_owned());
    Tested::Unknown
}

fn implemented(ran: &Ran, warnings: &mut Vec<String>) -> Tested {
    let tests = ran.tests.unwrap_or_default();
    if tests.fail > 0 {
        return Tested::Red(format!("{} of the tests fail", tests.fail));
    }
    if !ran.success {
        return Tested::Red("the test command fails".to_owned());
    }
    if ran.tests.is_some() && tests.pass == 0 {
        warnings.push("the test command succeeds without running any test".to_owned());
        return Tested::Unknown;
    }
    Tested::Right
}

/// Returns the counts to write down: what was measured, else what was claimed.
fn counted(measured: &Measured, words: &Words) -> (Option<Tests>, Vec<String>) {
    match measured {
        Measured::Ran(ran) => (ran.tests.or(words.tests), ran.failing.clone()),
        Measured::TimedOut { tests, failing } => (Some(*tests), failing.clone()),
        Measured::NotNeeded | Measured::NoCommand | Measured::Broken(_) => (words.tests, vec![]),
    }
}
