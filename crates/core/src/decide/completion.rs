//! `completion.report`: keep the result, and move the task where its outcome leads.

use super::Decision;
use super::draft::Draft;
use crate::answer::{Reason, Verdict};
use crate::aof::Envelope;
use crate::completion::{Completion, HANDOFF_REF, RunResult};
use crate::event::{Channel, Event};
use crate::input::{Facts, Presence};
use crate::task::Task;

/// What the record says of a task that is taken up again for a report of its last run.
const LATE: &str = "its last run has reported after all";

pub(super) fn report(
    mut draft: Draft,
    task: &Task,
    envelope: &Envelope,
    completion: &Completion,
    facts: &Facts,
) -> Decision {
    if task.status().is_closed() {
        return draft.end(Verdict::Noop, Some(Reason::TaskClosed));
    }
    let result = RunResult {
        task: task.id.clone(),
        agent: envelope.from.clone(),
        completed_at: envelope.sent_at.clone(),
        completion: completion.clone(),
    };
    draft.push(Event::TaskCompleted { result: Box::new(result), channel: Channel::Message });
    warn_of_missing_files(&mut draft, completion, facts);
    if task.was_given_up_on(&envelope.from) {
        draft.take_up(LATE);
    }
    draft.complete(task, completion);
    draft.end(Verdict::Applied, None)
}

fn warn_of_missing_files(draft: &mut Draft, completion: &Completion, facts: &Facts) {
    if facts.summary == Presence::Missing {
        draft.warn(Reason::SummaryFileNotFound, completion.summary_ref.as_str());
    }
    if facts.handoff == Presence::Missing {
        draft.warn(Reason::HandoffFileNotFound, HANDOFF_REF);
    }
}
