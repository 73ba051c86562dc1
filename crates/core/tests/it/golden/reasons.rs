//! Every reason with its meaning, and other words that reach a person or the event log.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use adjutant_core::answer::{Reason, Verdict};
use adjutant_core::dialect::TABLE;
use adjutant_core::effect::Stop;
use adjutant_core::notice;
use adjutant_core::pipeline::{self, Hold, Refusal, Step};
use adjutant_core::run::Exit;
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
        Exit::Code(0),
        Exit::Code(1),
        Exit::Signal(9),
        Exit::TimedOut,
        Exit::Idle,
        Exit::OverBudget,
        Exit::Stopped,
        Exit::Lost,
        Exit::NotStarted("no such file".into()),
        Exit::NoWorkspace("no git".into()),
    ];
    assert_every_variant!(
        &all,
        Exit { Code, Signal, TimedOut, Idle, OverBudget, Stopped, Lost, NotStarted, NoWorkspace }
    );
    lines(all, |exit| format!("{exit}: {}", exit.in_words()))
}

fn refusals() -> String {
    let all = [
        Refusal::NotRunning,
        Refusal::TooLate,
        Refusal::StillRunning,
        Refusal::NothingWaits,
        Refusal::AlreadyDone,
        Refusal::NotDone,
        Refusal::BadStep(Step::Bootstrap),
    ];
    assert_every_variant!(
        &all,
        Refusal { NotRunning, TooLate, StillRunning, NothingWaits, AlreadyDone, NotDone, BadStep }
    );
    lines(all, |refusal| format!("{}: {}", refusal.as_str(), refusal.meaning()))
}

/// What gives a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReasonSource {
    /// What reads messages and documents.
    Reading,
    /// A decision.
    Decision,
    /// What lets programs and browsers into a daemon, outside of the core.
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
        | Reason::ForgedRequest
        | Reason::NotYourTask
        | Reason::TooSlow => ReasonSource::Daemon,
        Reason::InvalidYaml
        | Reason::TaskNotFound
        | Reason::TaskUnreadable
        | Reason::UnauthorizedAgent
        | Reason::StaleRun
        | Reason::TokenRequired
        | Reason::UnknownToken
        | Reason::TaskConflict
        | Reason::NestedDelegation
        | Reason::ParentNotFound
        | Reason::DependencyNotFound
        | Reason::DependencyCycle
        | Reason::TaskClosed
        | Reason::InvalidTransition
        | Reason::SelfApproval
        | Reason::OperatorOnly
        | Reason::InvalidArgument
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
    let reason = |reason: &Reason| format!("{reason}: {}", reason.meaning().trim());
    golden.add("reasons.txt", lines(Reason::ALL, reason));
    golden.add("verdicts.txt", lines(Verdict::ALL, |verdict| verdict.to_string()));
    golden.add("exits.txt", exits());
    golden.add("stop-reasons.txt", lines(Stop::ALL, |stop| stop.as_str().to_owned()));
    let kind = |kind: notice::Kind| format!("{}: {}", kind.as_str(), kind.in_words());
    golden.add("notices.txt", lines(notice::Kind::ALL, kind));
    let hold = |hold: Hold| format!("{}: {}", hold.as_str(), hold.meaning());
    golden.add("story-holds.txt", lines(Hold::ALL, hold));
    golden.add(
        "story-reasons.txt",
        lines(pipeline::Reason::ALL, |reason| reason.as_str().to_owned()),
    );
    golden.add("story-refusals.txt", refusals());
    let row = |row: &adjutant_core::dialect::Row| {
        format!("{} {}: {}{}", row.dialect, row.status, row.prefix, row.outcome)
    };
    golden.add("dialect-statuses.txt", lines(&TABLE, row));
    golden.check();
}
