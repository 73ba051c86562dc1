//! Applies a completion report of any dialect: records the result and moves the task.

use adjutant_model::actor::AgentId;
use adjutant_model::answer::{AnswerVerdict, Reason};
use adjutant_model::completion::{CompletionReport, HANDOFF_REF, RunResult, WorkOutcome};
use adjutant_model::constraints::{RunConstraints, WorkspaceFacts, find_breaches};
use adjutant_model::event::{Event, ReportChannel};
use adjutant_model::field_reader::NOTES_CHARS_MAX;
use adjutant_model::policy::Policy;
use adjutant_model::task::Task;
use adjutant_model::time::Timestamp;

use super::draft::DecisionDraft;
use crate::decision::Decision;
use crate::input::{FilePresence, MessageFacts};
use crate::protocols::aof::AofEnvelope;

/// The reason logged when a late report of the last run reopens its task.
const LATE_REPORT_REASON: &str = "late report of its last run";

/// The agent that reports a completion, and when.
pub(super) struct ReportAuthor<'a> {
    pub(super) agent: &'a AgentId,
    pub(super) at: &'a Timestamp,
}

/// Applies a `completion.report` message.
pub(super) fn apply_report(
    mut draft: DecisionDraft,
    task: &Task,
    envelope: &AofEnvelope,
    completion: &CompletionReport,
    facts: &MessageFacts,
    policy: &Policy,
) -> Decision {
    if task.status().is_closed() {
        return draft.finish(AnswerVerdict::Noop, Some(Reason::TaskClosed));
    }
    // The run has reported already, and its work is being checked.
    if task.history.claim().is_some() {
        return draft.finish(AnswerVerdict::Noop, None);
    }
    let by = ReportAuthor { agent: &envelope.from, at: &envelope.sent_at };
    record_completion(&mut draft, task, &by, completion, facts, policy, |draft| {
        warn_of_missing_files(draft, completion, facts);
    });
    draft.finish(AnswerVerdict::Applied, None)
}

/// Records a result and moves the task. Breached constraints are logged as warnings and
/// turn a success into a request for review. `aside` adds the other events of the report,
/// before the moves.
pub(super) fn record_completion(
    draft: &mut DecisionDraft,
    task: &Task,
    by: &ReportAuthor<'_>,
    said: &CompletionReport,
    facts: &MessageFacts,
    policy: &Policy,
    aside: impl FnOnce(&mut DecisionDraft),
) {
    let mut broken = broken_constraints(task, said.outcome, facts.workspace.as_ref());
    if task.lease().is_none() {
        broken.extend(DecisionDraft::unchecked_reason(task, said.outcome, policy));
    }
    let completion = downgrade_completion(said, &broken);
    let reason = if broken.is_empty() { completion.reason() } else { broken.join("; ") };
    let claimed = draft.hold_for_checks(task, completion.outcome, &reason, policy);
    draft.push(Event::TaskCompleted {
        result: Box::new(RunResult {
            task: task.id.clone(),
            agent: by.agent.clone(),
            completed_at: by.at.clone(),
            completion: completion.clone(),
        }),
        channel: ReportChannel::Message,
    });
    for breach in &broken {
        draft.warn(Reason::ConstraintBreached, breach);
    }
    aside(draft);
    if task.was_given_up_on(by.agent) {
        draft.reopen_task(LATE_REPORT_REASON);
    }
    if !claimed {
        draft.complete_with_reason(task, &completion, &reason);
    }
}

/// Returns the constraints that a run which reports success has breached, each in words.
pub(super) fn broken_constraints(
    task: &Task,
    said: WorkOutcome,
    seen: Option<&WorkspaceFacts>,
) -> Vec<String> {
    let (Some(foreign), Some(seen), WorkOutcome::Done) = (&task.origin, seen, said) else {
        return vec![];
    };
    let none = RunConstraints::default();
    let constraints = foreign.constraints().unwrap_or(&none);
    let found = find_breaches(constraints, &foreign.expected_outputs(), seen);
    found.iter().map(ToString::to_string).collect()
}

/// Returns the completion that counts: one that asks for review if constraints were breached.
pub(super) fn downgrade_completion(said: &CompletionReport, broken: &[String]) -> CompletionReport {
    if broken.is_empty() {
        return said.clone();
    }
    let notes = format!("{}\n{}", broken.join("; "), said.notes);
    let notes = notes.trim_end().chars().take(NOTES_CHARS_MAX).collect();
    CompletionReport { outcome: WorkOutcome::NeedsReview, notes, ..said.clone() }
}

fn warn_of_missing_files(
    draft: &mut DecisionDraft,
    completion: &CompletionReport,
    facts: &MessageFacts,
) {
    if facts.summary == FilePresence::Missing {
        draft.warn(Reason::SummaryFileNotFound, completion.summary_ref.as_str());
    }
    if facts.handoff == FilePresence::Missing {
        draft.warn(Reason::HandoffFileNotFound, HANDOFF_REF);
    }
}
