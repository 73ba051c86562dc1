//! A run has ended: its report counts, or its exit is judged.

use super::completion::{broken, judged};
use super::draft::Draft;
use super::recovery::{Rules, Sign, exited, look_into, recover};
use super::{Decision, park, session_end};
use crate::account::Told;
use crate::answer::{Reason, Verdict};
use crate::completion::{Outcome, RunResult, moves};
use crate::constraints::WorkspaceFacts;
use crate::event::Event;
use crate::id::TaskId;
use crate::input::Found;
use crate::name::Actor;
use crate::policy::OnExitOk;
use crate::resume;
use crate::run::Exit;
use crate::status::Status;
use crate::task::Task;
use crate::time::Time;
use crate::world::World;

/// How long a task waits whose run had no place to work in.
const DEFERRED_MS: i64 = 5 * 60_000;

/// What was seen of the end of a run.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) fence: u64,
    pub(super) exit: &'a Exit,
    pub(super) tail: &'a str,
    pub(super) found: Option<&'a Found>,
    pub(super) told: &'a Told,
    pub(super) workspace: Option<&'a WorkspaceFacts>,
}

pub(super) fn decide(
    world: &World,
    id: &TaskId,
    seen: &Seen<'_>,
    jitter: u64,
    now: Time,
) -> Decision {
    let said = without_messages(seen.tail);
    let seen = &Seen { tail: &said, ..*seen };
    let mut draft = Draft::new(actor(seen), Some(id.clone()));
    let Some(task) = world.task(id) else {
        return draft.end(Verdict::Noop, Some(Reason::TaskNotFound));
    };
    draft.on(task);
    let rules = Rules { policy: world.policy(), jitter, now };
    // Its end was seen, and what it said is being looked into.
    if task.trials.claim().is_some() && task.trials.open.is_none() {
        return draft.end(Verdict::Noop, Some(Reason::StaleRun));
    }
    if let Some(lease) = task.lease().filter(|lease| lease.fence == seen.fence) {
        let run = (&lease.agent, lease.attempt, lease.fence);
        if has_begun(seen.exit) {
            let session = resume::kept(task, run.0, seen.exit, seen.told);
            park::note(&mut draft, task, run, seen.told, session);
        }
        unreported(world, &mut draft, task, seen, rules);
    } else if let Some(run) = task.trials.open.as_ref().filter(|run| run.fence == seen.fence) {
        // It has reported: whoever works on it next begins anew.
        park::note(&mut draft, task, (&run.agent, run.attempt, run.fence), seen.told, None);
        exited(&mut draft, task, seen.exit, seen.tail);
    } else {
        return draft.end(Verdict::Noop, Some(Reason::StaleRun));
    }
    draft.end(Verdict::Applied, None)
}

/// Says whether there was anybody who could have told something.
fn has_begun(exit: &Exit) -> bool {
    match exit {
        Exit::NotStarted(_) | Exit::NoWorkspace(_) => false,
        Exit::Code(_)
        | Exit::Signal(_)
        | Exit::TimedOut
        | Exit::Idle
        | Exit::OverBudget
        | Exit::Stopped
        | Exit::Lost => true,
    }
}

fn actor(seen: &Seen<'_>) -> Actor {
    match seen.found {
        Some(Found::Result(result)) => session_end::actor(result),
        Some(Found::Invalid(_)) | None => Actor::Scheduler,
    }
}

/// The run ended while its task was still in progress: no report was applied.
fn unreported(world: &World, draft: &mut Draft, task: &Task, seen: &Seen<'_>, rules: Rules<'_>) {
    if task.trials.claim().is_some() {
        exited(draft, task, seen.exit, seen.tail);
        look_into(draft, task);
        return;
    }
    match (seen.found, seen.exit) {
        // An agent that cannot work at all is parked all the same.
        _ if task.story().is_some() && seen.told.trouble.is_none() => {
            recover(draft, task, Sign::Exited(seen.exit, seen.tail), None, rules);
        }
        (None, Exit::NoWorkspace(_)) => deferred(draft, task, seen, rules),
        (None, Exit::Stopped) => {
            exited(draft, task, seen.exit, seen.tail);
            draft.transition(Status::Ready, &seen.exit.in_words());
        }
        (None, _) if let Some(trouble) = &seen.told.trouble => {
            park::park(world, draft, task, seen, trouble, rules.now);
        }
        (None, Exit::Code(0)) => silent(world, draft, task, seen, rules),
        (found, _) => {
            let found = found.map(|found| allowed(draft, task, found, seen.workspace));
            recover(draft, task, Sign::Exited(seen.exit, seen.tail), found.as_ref(), rules);
        }
    }
}

/// Returns what counts of a result that was left behind, and says where the run did not do as it was
/// told.
fn allowed(draft: &mut Draft, task: &Task, found: &Found, seen: Option<&WorkspaceFacts>) -> Found {
    let Found::Result(result) = found else { return found.clone() };
    let broken = broken(task, result.completion.outcome, seen);
    for breach in &broken {
        draft.warn(Reason::ConstraintBreached, breach);
    }
    let completion = judged(&result.completion, &broken);
    Found::Result(Box::new(RunResult { completion, ..(**result).clone() }))
}

/// It ended well and said nothing. What that means is for the configuration to say.
fn silent(world: &World, draft: &mut Draft, task: &Task, seen: &Seen<'_>, rules: Rules<'_>) {
    let agent = task.lease().and_then(|_| world.policy().worker(task));
    let outcome = match agent.map(|agent| agent.on_exit_ok).unwrap_or_default() {
        OnExitOk::NoReport => {
            return recover(draft, task, Sign::Exited(seen.exit, seen.tail), None, rules);
        }
        OnExitOk::NeedsReview => Outcome::NeedsReview,
        OnExitOk::Done => Outcome::Done,
    };
    exited(draft, task, seen.exit, seen.tail);
    let broken = broken(task, outcome, seen.workspace);
    for breach in &broken {
        draft.warn(Reason::ConstraintBreached, breach);
    }
    let (outcome, reason) = match &broken[..] {
        [] => (outcome, format!("exited without a report; on_exit_ok = {outcome}")),
        some => (Outcome::NeedsReview, some.join("; ")),
    };
    if draft.claim(task, outcome, &reason, rules.policy) {
        return;
    }
    for to in moves(task.status(), outcome, task.review) {
        draft.transition(to, &reason);
    }
}

/// There was no place for it to work in, which is no fault of the task: it is tried again later,
/// and no attempt is counted.
fn deferred(draft: &mut Draft, task: &Task, seen: &Seen<'_>, rules: Rules<'_>) {
    let Some(lease) = task.lease() else { return };
    let (attempt, fence) = (lease.attempt, lease.fence);
    let reason = seen.exit.in_words();
    exited(draft, task, seen.exit, seen.tail);
    draft.transition(Status::Ready, &reason);
    let not_before = Time::from_millis(rules.now.as_millis().saturating_add(DEFERRED_MS));
    draft.push(Event::RunDeferred { attempt, fence, reason, not_before });
}

/// Leaves out the messages among the last lines of a run: they were taken for what they are, and
/// say nothing of why it ended.
fn without_messages(tail: &str) -> String {
    let words: Vec<&str> = tail.lines().filter(|line| !line.starts_with("AOF/1 ")).collect();
    words.join("\n")
}
