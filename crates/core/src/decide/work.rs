//! Decides what happens to a task whose work was checked, merged or saved.

use adjutant_model::actor::Actor;
use adjutant_model::answer::{AnswerVerdict, Reason};
use adjutant_model::completion::{WorkOutcome, outcome_transitions};
use adjutant_model::effect::Effect;
use adjutant_model::event::Event;
use adjutant_model::evidence::WorkEvidence;
use adjutant_model::merge_mode::MergeMode;
use adjutant_model::review::ReviewPolicy;
use adjutant_model::status::Status;
use adjutant_model::task::Task;
use adjutant_model::task_id::TaskId;
use adjutant_model::time::Time;
use adjutant_model::work::{MergeResult, WorkClaim};

use super::draft::DecisionDraft;
use super::recovery::{RecoveryContext, RunEndCause, record_failed_attempt};
use crate::decision::Decision;
use crate::world::World;

/// Applies a report whose work was checked, or counts a failed attempt if a check failed.
pub(super) fn apply_check_results(
    world: &World,
    id: &TaskId,
    fence: u64,
    evidence: &WorkEvidence,
    jitter: u64,
    now: Time,
) -> Decision {
    let mut draft = DecisionDraft::new(Actor::System, Some(id.clone()));
    let Some(task) = world.task(id) else {
        return draft.finish(AnswerVerdict::Noop, Some(Reason::TaskNotFound));
    };
    draft.load_task(task);
    let Some(claim) = task.history.claim().filter(|claim| claim.fence == fence) else {
        return draft.finish(AnswerVerdict::Noop, Some(Reason::StaleRun));
    };
    let attempt = claim.attempt;
    let found = Box::new(evidence.clone());
    draft.push(Event::WorkChecked { attempt, fence, evidence: found });
    let failed = evidence.failed().filter(|_| claim.outcome == WorkOutcome::Done);
    match (failed, &evidence.flaw) {
        (Some(check), _) => {
            let why = format!("check failed: {}", check.in_words());
            let rules = RecoveryContext { policy: world.policy(), jitter, now };
            record_failed_attempt(&mut draft, task, RunEndCause::Disproved(&why), rules);
        }
        (None, Some(flaw)) if claim.outcome == WorkOutcome::Done => {
            let why = format!("the work could not be verified: {flaw}");
            apply_outcome(&mut draft, task, WorkOutcome::NeedsReview, &why);
        }
        (None, _) => match person_needed(task, claim, evidence) {
            Some(why) => apply_outcome(&mut draft, task, WorkOutcome::NeedsReview, &why),
            None => accept_claim(world, &mut draft, task, claim),
        },
    }
    draft.finish(AnswerVerdict::Applied, None)
}

/// Returns why work that was reported done needs a person, although it passed its checks and its
/// task needs no review.
fn person_needed(task: &Task, claim: &WorkClaim, evidence: &WorkEvidence) -> Option<String> {
    if claim.outcome != WorkOutcome::Done || task.review != ReviewPolicy::NotNeeded {
        return None;
    }
    if !evidence.protected.is_empty() {
        return Some(format!("it changes protected paths: {}", evidence.protected.join(", ")));
    }
    let why = "the checks in its file were changed, are not accepted, and were not run";
    task.history.has_unaccepted_checks().then(|| why.to_owned())
}

/// Applies a report that passed its checks. If no review is needed, the work is merged before the
/// task is done.
fn accept_claim(world: &World, draft: &mut DecisionDraft, task: &Task, claim: &WorkClaim) {
    let done = claim.outcome == WorkOutcome::Done && task.review == ReviewPolicy::NotNeeded;
    if !done || world.policy().merge_of(task) == MergeMode::None {
        return apply_outcome(draft, task, claim.outcome, &claim.reason);
    }
    draft.transition(Status::Review, &claim.reason);
    draft.push(Event::MergeRequested { note: claim.reason.to_string() });
    draft.add_effect(Effect::MergeWork { task: task.id.clone(), attempt: claim.attempt });
}

fn apply_outcome(draft: &mut DecisionDraft, task: &Task, outcome: WorkOutcome, reason: &str) {
    for to in outcome_transitions(task.status(), outcome, task.review) {
        draft.transition(to, reason);
    }
}

/// Handles the result of a merge. A completed merge is logged even if the task
/// has changed meanwhile.
pub(super) fn apply_merge_result(world: &World, id: &TaskId, merged: &MergeResult) -> Decision {
    let mut draft = DecisionDraft::new(Actor::System, Some(id.clone()));
    let Some(task) = world.task(id) else {
        return draft.finish(AnswerVerdict::Noop, Some(Reason::TaskNotFound));
    };
    draft.load_task(task);
    let Some(merging) = task.history.merging() else {
        if let MergeResult::Done { base, commit, evidence } = merged {
            draft.push(to_merged_event(base, commit, evidence));
            return draft.finish(AnswerVerdict::Applied, None);
        }
        return draft.finish(AnswerVerdict::Noop, None);
    };
    match merged {
        MergeResult::Done { base, commit, evidence } => {
            draft.push(to_merged_event(base, commit, evidence));
            draft.transition(Status::Done, &merging.note);
        }
        MergeResult::Refused { reason, files } => {
            draft.push(Event::MergeRefused { reason: reason.clone(), files: files.clone() });
            // Without a review, a task that is sent back would loop for ever, so it stays for a
            // person.
            if task.review == ReviewPolicy::Required {
                draft.transition(Status::Ready, reason);
            }
        }
        MergeResult::Waits { reason } if merging.waits.as_deref() == Some(reason.as_str()) => {
            return draft.finish(AnswerVerdict::Noop, None);
        }
        MergeResult::Waits { reason } => draft.push(Event::MergeWaiting { reason: reason.clone() }),
    }
    draft.finish(AnswerVerdict::Applied, None)
}

fn to_merged_event(base: &str, commit: &str, evidence: &WorkEvidence) -> Event {
    let evidence = Box::new(evidence.clone());
    Event::WorkMerged { base: base.to_owned(), commit: commit.to_owned(), evidence }
}

/// Records where uncommitted work was saved.
pub(super) fn record_saved_work(id: &TaskId, reference: &str, commit: &str) -> Decision {
    let mut draft = DecisionDraft::new(Actor::System, Some(id.clone()));
    draft.push(Event::WorkSaved { reference: reference.to_owned(), commit: commit.to_owned() });
    draft.finish(AnswerVerdict::Applied, None)
}
