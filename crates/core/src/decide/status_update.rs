//! `status.update`: move the task if it asks for that and may, else write it down.

use super::Decision;
use super::draft::Draft;
use crate::answer::{Reason, Verdict};
use crate::aof::{Envelope, StatusUpdate};
use crate::event::Event;
use crate::policy::Policy;
use crate::status::Status;
use crate::task::{Review, Task};
use crate::worklog::Entry;

pub(super) fn update(
    mut draft: Draft,
    task: &Task,
    envelope: &Envelope,
    update: &StatusUpdate,
    policy: &Policy,
) -> Decision {
    let refused = match update.status.filter(|to| *to != task.status()) {
        None => None,
        Some(_) if task.story().is_some() => {
            draft.warn(Reason::StoryOwned, "its story's files say where it stands");
            Some(Reason::StoryOwned)
        }
        Some(to) if approves_own_work(task, envelope, to, policy) => {
            draft.warn(Reason::SelfApproval, format!("{} did the work", envelope.from));
            Some(Reason::SelfApproval)
        }
        Some(to) if draft.transition(to, &reason(update)) => {
            return draft.end(Verdict::Applied, None);
        }
        Some(_) => Some(Reason::InvalidTransition),
    };
    let entry = entry(envelope, update);
    if entry.is_empty() {
        return draft.end(Verdict::Noop, refused);
    }
    draft.push(Event::TaskLogged { entry });
    draft.end(Verdict::Applied, refused)
}

/// Who did the work cannot also approve it, nor get around its checks.
fn approves_own_work(task: &Task, envelope: &Envelope, to: Status, policy: &Policy) -> bool {
    let judged = task.review == Review::Required || policy.looks_into(task);
    to == Status::Done && judged && task.was_worked_on_by(&envelope.from)
}

fn reason(update: &StatusUpdate) -> String {
    if !update.blockers.is_empty() {
        return update.blockers.join("; ");
    }
    update.notes.clone().or_else(|| update.progress.clone()).unwrap_or_default()
}

fn entry(envelope: &Envelope, update: &StatusUpdate) -> Entry {
    Entry {
        at: envelope.sent_at.clone(),
        progress: update.progress.clone(),
        notes: update.notes.clone(),
        blockers: update.blockers.clone(),
    }
}
