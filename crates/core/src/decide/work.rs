//! Work that was looked into, merged or saved: what becomes of its task.

use super::Decision;
use super::draft::Draft;
use super::recovery::{Rules, Sign, fail};
use crate::answer::{Reason, Verdict};
use crate::completion::{Outcome, moves};
use crate::effect::Effect;
use crate::event::Event;
use crate::evidence::Evidence;
use crate::id::TaskId;
use crate::name::Actor;
use crate::policy::Merge;
use crate::status::Status;
use crate::task::{Review, Task};
use crate::time::Time;
use crate::work::{Claim, Merged};
use crate::world::World;

/// What a run said was looked into: it counts, or was an attempt without a result.
pub(super) fn checked(
    world: &World,
    id: &TaskId,
    fence: u64,
    evidence: &Evidence,
    jitter: u64,
    now: Time,
) -> Decision {
    let mut draft = Draft::new(Actor::System, Some(id.clone()));
    let Some(task) = world.task(id) else {
        return draft.end(Verdict::Noop, Some(Reason::TaskNotFound));
    };
    draft.on(task);
    let Some(claim) = task.trials.claim().filter(|claim| claim.fence == fence) else {
        return draft.end(Verdict::Noop, Some(Reason::StaleRun));
    };
    let attempt = claim.attempt;
    let found = Box::new(evidence.clone());
    draft.push(Event::WorkChecked { attempt, fence, evidence: found });
    let failed = evidence.failed().filter(|_| claim.outcome == Outcome::Done);
    match (failed, &evidence.flaw) {
        (Some(check), _) => {
            let why = format!("check failed: {}", check.in_words());
            let rules = Rules { policy: world.policy(), jitter, now };
            fail(&mut draft, task, Sign::Disproved(&why), rules);
        }
        (None, Some(flaw)) if claim.outcome == Outcome::Done => {
            let why = format!("its work could not be looked into: {flaw}");
            go(&mut draft, task, Outcome::NeedsReview, &why);
        }
        (None, _) => holds(world, &mut draft, task, claim),
    }
    draft.end(Verdict::Applied, None)
}

/// What it said counts. Where nobody has to look at it, it is merged before it is done.
fn holds(world: &World, draft: &mut Draft, task: &Task, claim: &Claim) {
    let done = claim.outcome == Outcome::Done && task.review == Review::NotNeeded;
    if !done || world.policy().merge_of(task) == Merge::None {
        return go(draft, task, claim.outcome, &claim.reason);
    }
    draft.transition(Status::Review, &claim.reason);
    draft.push(Event::MergeRequested { note: claim.reason.to_string() });
    draft.owe(Effect::MergeWork { task: task.id.clone(), attempt: claim.attempt });
}

fn go(draft: &mut Draft, task: &Task, outcome: Outcome, reason: &str) {
    for to in moves(task.status(), outcome, task.review) {
        draft.transition(to, reason);
    }
}

/// Something came of a merge. What is in the base is in the record, whatever became of the task
/// meanwhile.
pub(super) fn merged(world: &World, id: &TaskId, merged: &Merged) -> Decision {
    let mut draft = Draft::new(Actor::System, Some(id.clone()));
    let Some(task) = world.task(id) else {
        return draft.end(Verdict::Noop, Some(Reason::TaskNotFound));
    };
    draft.on(task);
    let Some(merging) = task.trials.merging() else {
        if let Merged::Done { base, commit, evidence } = merged {
            draft.push(in_base(base, commit, evidence));
            return draft.end(Verdict::Applied, None);
        }
        return draft.end(Verdict::Noop, None);
    };
    match merged {
        Merged::Done { base, commit, evidence } => {
            draft.push(in_base(base, commit, evidence));
            draft.transition(Status::Done, &merging.note);
        }
        Merged::Refused { reason, files } => {
            draft.push(Event::MergeRefused { reason: reason.clone(), files: files.clone() });
            // What nobody approved goes round for ever if it is sent back: a person has to look.
            if task.review == Review::Required {
                draft.transition(Status::Ready, reason);
            }
        }
        Merged::Waits { reason } if merging.waits.as_deref() == Some(reason.as_str()) => {
            return draft.end(Verdict::Noop, None);
        }
        Merged::Waits { reason } => draft.push(Event::MergeWaiting { reason: reason.clone() }),
    }
    draft.end(Verdict::Applied, None)
}

fn in_base(base: &str, commit: &str, evidence: &Evidence) -> Event {
    let evidence = Box::new(evidence.clone());
    Event::WorkMerged { base: base.to_owned(), commit: commit.to_owned(), evidence }
}

/// Writes down where uncommitted work was put.
pub(super) fn saved(id: &TaskId, reference: &str, commit: &str) -> Decision {
    let mut draft = Draft::new(Actor::System, Some(id.clone()));
    draft.push(Event::WorkSaved { reference: reference.to_owned(), commit: commit.to_owned() });
    draft.end(Verdict::Applied, None)
}
