//! Applies a `status.update`: moves the task if the update asks for a move and may make it;
//! otherwise logs the update.

use adjutant_model::answer::{AnswerVerdict, Reason};
use adjutant_model::event::Event;
use adjutant_model::policy::Policy;
use adjutant_model::review::ReviewPolicy;
use adjutant_model::status::Status;
use adjutant_model::task::Task;
use adjutant_model::work_log::WorkLogEntry;

use super::draft::DecisionDraft;
use crate::decision::Decision;
use crate::input::{MessageFacts, TokenOwner};
use crate::protocols::aof::{AofEnvelope, StatusUpdate};

pub(super) fn apply_update(
    mut draft: DecisionDraft,
    task: &Task,
    envelope: &AofEnvelope,
    update: &StatusUpdate,
    facts: &MessageFacts,
    policy: &Policy,
) -> Decision {
    let refused = match update.status.filter(|to| *to != task.status()) {
        None => None,
        Some(_) if task.story().is_some() => {
            draft.warn(Reason::StoryOwned, "the files of its story decide its status");
            Some(Reason::StoryOwned)
        }
        Some(to) if approves_own_work(task, envelope, to, facts, policy) => {
            draft.warn(
                Reason::SelfApproval,
                format!("{} did the work and cannot approve it", envelope.from),
            );
            Some(Reason::SelfApproval)
        }
        Some(Status::Done) if let Some(why) = task.history.unsettled() => {
            let what = format!("the work could not be committed to its branch: {why}");
            draft.warn(Reason::UnsettledWork, what);
            Some(Reason::UnsettledWork)
        }
        Some(to) if draft.transition(to, &reason(update)) => {
            return draft.finish(AnswerVerdict::Applied, None);
        }
        Some(_) => Some(Reason::InvalidTransition),
    };
    let entry = to_work_log_entry(envelope, update);
    if entry.is_empty() {
        return draft.finish(AnswerVerdict::Noop, refused);
    }
    draft.push(Event::TaskLogged { entry });
    draft.finish(AnswerVerdict::Applied, refused)
}

/// The agent that did the work cannot approve it or bypass its checks, and neither can any process
/// inside a run of the task.
fn approves_own_work(
    task: &Task,
    envelope: &AofEnvelope,
    to: Status,
    facts: &MessageFacts,
    policy: &Policy,
) -> bool {
    let judged = task.review == ReviewPolicy::Required || policy.looks_into(task);
    let is_own_run = matches!(&facts.token, TokenOwner::Run { task: of, .. } if *of == task.id);
    to == Status::Done && judged && (is_own_run || task.was_worked_on_by(&envelope.from))
}

fn reason(update: &StatusUpdate) -> String {
    if !update.blockers.is_empty() {
        return update.blockers.join("; ");
    }
    update.notes.clone().or_else(|| update.progress.clone()).unwrap_or_default()
}

fn to_work_log_entry(envelope: &AofEnvelope, update: &StatusUpdate) -> WorkLogEntry {
    WorkLogEntry {
        at: envelope.sent_at.clone(),
        progress: update.progress.clone(),
        notes: update.notes.clone(),
        blockers: update.blockers.clone(),
    }
}
