//! What came of the work, in whatever dialect it was said: keep the result, and move the task where
//! its outcome leads.

use super::Decision;
use super::draft::Draft;
use crate::answer::{Reason, Verdict};
use crate::aof::Envelope;
use crate::completion::{Completion, HANDOFF_REF, Outcome, RunResult};
use crate::constraints::{Constraints, WorkspaceFacts, breaches};
use crate::event::{Channel, Event};
use crate::fields::NOTES_CHARS_MAX;
use crate::input::{Facts, Presence};
use crate::name::AgentId;
use crate::policy::Policy;
use crate::task::Task;
use crate::time::Stamp;

/// What the record says of a task that is taken up again for a report of its last run.
const LATE: &str = "its last run has reported after all";

/// Who says that the work is over, and when.
pub(super) struct By<'a> {
    pub(super) agent: &'a AgentId,
    pub(super) at: &'a Stamp,
}

/// Takes a `completion.report`.
pub(super) fn report(
    mut draft: Draft,
    task: &Task,
    envelope: &Envelope,
    completion: &Completion,
    facts: &Facts,
    policy: &Policy,
) -> Decision {
    if task.status().is_closed() {
        return draft.end(Verdict::Noop, Some(Reason::TaskClosed));
    }
    // What it said first is being looked into.
    if task.trials.claim().is_some() {
        return draft.end(Verdict::Noop, None);
    }
    let by = By { agent: &envelope.from, at: &envelope.sent_at };
    complete(&mut draft, task, &by, completion, facts, policy, |draft| {
        warn_of_missing_files(draft, completion, facts);
    });
    draft.end(Verdict::Applied, None)
}

/// Keeps a result and makes its moves. What the agent was not to do and did is said beside it, and
/// takes the place of its success. `aside` says what else belongs to the report.
pub(super) fn complete(
    draft: &mut Draft,
    task: &Task,
    by: &By<'_>,
    said: &Completion,
    facts: &Facts,
    policy: &Policy,
    aside: impl FnOnce(&mut Draft),
) {
    let mut broken = broken(task, said.outcome, facts.workspace.as_ref());
    if task.lease().is_none() {
        broken.extend(Draft::unchecked(task, said.outcome, policy));
    }
    let completion = judged(said, &broken);
    let reason = if broken.is_empty() { completion.reason() } else { broken.join("; ") };
    let claimed = draft.claim(task, completion.outcome, &reason, policy);
    draft.push(Event::TaskCompleted {
        result: Box::new(RunResult {
            task: task.id.clone(),
            agent: by.agent.clone(),
            completed_at: by.at.clone(),
            completion: completion.clone(),
        }),
        channel: Channel::Message,
    });
    for breach in &broken {
        draft.warn(Reason::ConstraintBreached, breach);
    }
    aside(draft);
    if task.was_given_up_on(by.agent) {
        draft.take_up(LATE);
    }
    if !claimed {
        draft.complete_for(task, &completion, &reason);
    }
}

/// Returns in what a run that says it is done did not do as it was told, each in words.
pub(super) fn broken(task: &Task, said: Outcome, seen: Option<&WorkspaceFacts>) -> Vec<String> {
    let (Some(foreign), Some(seen), Outcome::Done) = (&task.foreign, seen, said) else {
        return vec![];
    };
    let none = Constraints::default();
    let constraints = foreign.constraints().unwrap_or(&none);
    let found = breaches(constraints, &foreign.expected_outputs(), seen);
    found.iter().map(ToString::to_string).collect()
}

/// Returns what counts of what a run says, where it did not do as it was told.
pub(super) fn judged(said: &Completion, broken: &[String]) -> Completion {
    if broken.is_empty() {
        return said.clone();
    }
    let notes = format!("{}\n{}", broken.join("; "), said.notes);
    let notes = notes.trim_end().chars().take(NOTES_CHARS_MAX).collect();
    Completion { outcome: Outcome::NeedsReview, notes, ..said.clone() }
}

fn warn_of_missing_files(draft: &mut Draft, completion: &Completion, facts: &Facts) {
    if facts.summary == Presence::Missing {
        draft.warn(Reason::SummaryFileNotFound, completion.summary_ref.as_str());
    }
    if facts.handoff == Presence::Missing {
        draft.warn(Reason::HandoffFileNotFound, HANDOFF_REF);
    }
}
