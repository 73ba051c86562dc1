//! Every refusal reason with its meaning, and other words that reach a person or the event log.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use adjutant_core::story::StoryRefusal;
use adjutant_model::answer::{AnswerVerdict, Reason};
use adjutant_model::dialect::STATUS_MAPPINGS;
use adjutant_model::effect::StopReason;
use adjutant_model::run::RunExit;
use adjutant_model::story::{Step, StoryHold};
use adjutant_test_support::assert_every_variant;
use adjutant_test_support::golden::GoldenFolder;

fn lines<T>(items: impl IntoIterator<Item = T>, line: impl Fn(T) -> String) -> String {
    items.into_iter().fold(String::new(), |mut lines, item| {
        let _ = writeln!(lines, "{}", line(item));
        lines
    })
}

fn exits() -> String {
    let all = [
        RunExit::Code(0),
        RunExit::Code(1),
        RunExit::Signal(9),
        RunExit::TimedOut,
        RunExit::Idle,
        RunExit::OverBudget,
        RunExit::Stopped,
        RunExit::Lost,
        RunExit::NotStarted("no such file".into()),
        RunExit::NoWorkspace("no git".into()),
    ];
    assert_every_variant!(
        &all,
        RunExit {
            Code,
            Signal,
            TimedOut,
            Idle,
            OverBudget,
            Stopped,
            Lost,
            NotStarted,
            NoWorkspace
        }
    );
    lines(all, |exit| format!("{exit}: {}", exit.in_words()))
}

fn refusals() -> String {
    let all = [
        StoryRefusal::NotRunning,
        StoryRefusal::TooLate,
        StoryRefusal::StillRunning,
        StoryRefusal::NotWaiting,
        StoryRefusal::AlreadyDone,
        StoryRefusal::NotDone,
        StoryRefusal::BadStep(Step::Bootstrap),
    ];
    assert_every_variant!(
        &all,
        StoryRefusal {
            NotRunning,
            TooLate,
            StillRunning,
            NotWaiting,
            AlreadyDone,
            NotDone,
            BadStep
        }
    );
    lines(all, |refusal| format!("{}: {}", refusal.as_str(), refusal.meaning()))
}

/// The component that gives a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReasonSource {
    /// The parser of messages and documents.
    Reading,
    Decision,
    /// The daemon's access control for programs and browsers, outside the core.
    Daemon,
}

fn source(reason: Reason) -> ReasonSource {
    match reason {
        Reason::InvalidJson
        | Reason::InvalidEnvelope
        | Reason::PayloadTooLarge
        | Reason::NestingTooDeep
        | Reason::UnknownType
        | Reason::TaskIdMismatch
        | Reason::AgentIdMismatch
        | Reason::InvalidAcceptanceCriteria => ReasonSource::Reading,
        Reason::KeptForLater
        | Reason::Unauthenticated
        | Reason::ForeignHost
        | Reason::ForeignOrigin
        | Reason::ForeignNode
        | Reason::ForgedRequest
        | Reason::NotYourTask
        | Reason::TooSlow => ReasonSource::Daemon,
        Reason::InvalidYaml
        | Reason::TaskNotFound
        | Reason::TaskUnreadable
        | Reason::TaskOnHold
        | Reason::UnauthorizedAgent
        | Reason::StaleRun
        | Reason::TokenRequired
        | Reason::MissingToken
        | Reason::UnknownToken
        | Reason::TaskConflict
        | Reason::NestedDelegation
        | Reason::ParentNotFound
        | Reason::DependencyNotFound
        | Reason::DependencyCycle
        | Reason::TaskClosed
        | Reason::InvalidTransition
        | Reason::SelfApproval
        | Reason::UnsettledWork
        | Reason::OperatorOnly
        | Reason::InvalidArgument
        | Reason::ProtectedPaths
        | Reason::OddDocument
        | Reason::ConstraintBreached
        | Reason::SummaryFileNotFound
        | Reason::HandoffFileNotFound
        | Reason::InvalidRunResult
        | Reason::SalvageNotFound
        | Reason::SalvageUnusable
        | Reason::HeldBack
        | Reason::StoryOwned
        | Reason::NothingToDo
        | Reason::TooManyRequests => ReasonSource::Decision,
    }
}

/// Checks that a text names every reason of a source.
pub(super) fn check_reasons(text: &str, given_by: ReasonSource) {
    let words: BTreeSet<&str> = text.split(|c: char| c != '_' && !c.is_alphanumeric()).collect();
    let reasons = Reason::ALL.iter().filter(|reason| source(**reason) == given_by);
    let missing: Vec<&Reason> = reasons.filter(|reason| !words.contains(reason.as_str())).collect();
    assert!(missing.is_empty(), "nothing in the golden files is refused for {missing:?}");
}

#[test]
fn reasons_match_golden_files() {
    let mut golden = GoldenFolder::new("reasons/words");
    let reason = |reason: Reason| format!("{reason}: {}", reason.meaning());
    golden.add("reasons.txt", lines(Reason::ALL, reason));
    golden.add("verdicts.txt", lines(AnswerVerdict::ALL, |verdict| verdict.to_string()));
    golden.add("exits.txt", exits());
    golden.add("stop-reasons.txt", lines(StopReason::ALL, |stop| stop.as_str().to_owned()));
    let kind = |kind: adjutant_model::notice::NoticeKind| {
        format!("{}: {}", kind.as_str(), kind.in_words())
    };
    golden.add("notices.txt", lines(adjutant_model::notice::NoticeKind::ALL, kind));
    let hold = |hold: StoryHold| format!("{}: {}", hold.as_str(), hold.meaning());
    golden.add("story-holds.txt", lines(StoryHold::ALL, hold));
    golden.add(
        "story-reasons.txt",
        lines(adjutant_model::story::StepFailReason::ALL, |reason| reason.as_str().to_owned()),
    );
    golden.add("story-refusals.txt", refusals());
    let row = |row: &adjutant_model::dialect::DialectRow| {
        format!("{} {}: {}{}", row.dialect, row.status, row.reason_prefix, row.outcome)
    };
    golden.add("dialect-statuses.txt", lines(&STATUS_MAPPINGS, row));
    golden.check();
}
