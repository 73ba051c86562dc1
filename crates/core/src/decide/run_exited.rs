//! Handles the end of a run: applies its report, or judges its exit.

use adjutant_model::actor::Actor;
use adjutant_model::answer::{AnswerVerdict, Reason};
use adjutant_model::completion::{RunResult, WorkOutcome, outcome_transitions};
use adjutant_model::constraints::WorkspaceFacts;
use adjutant_model::event::Event;
use adjutant_model::policy::OnExitOk;
use adjutant_model::run::RunExit;
use adjutant_model::status::Status;
use adjutant_model::task::Task;
use adjutant_model::task_id::TaskId;
use adjutant_model::time::Time;
use adjutant_model::usage::AgentTelemetry;

use super::completion::{broken_constraints, downgrade_completion};
use super::draft::DecisionDraft;
use super::recovery::{RecoveryContext, RunEndCause, record_exit, recover, request_checks};
use super::{park, session_end};
use crate::decision::Decision;
use crate::input::FoundResult;
use crate::protocols::aof::MESSAGE_PREFIX;
use crate::resume;
use crate::world::World;

/// How long a task waits after its run could not start.
const DEFERRED_MS: i64 = 5 * 60_000;

/// What was observed at the end of a run.
#[derive(Clone, Copy)]
pub(super) struct RunEndFacts<'a> {
    pub(super) fence: u64,
    pub(super) exit: &'a RunExit,
    pub(super) tail: &'a str,
    pub(super) found: Option<&'a FoundResult>,
    pub(super) telemetry: &'a AgentTelemetry,
    pub(super) workspace: Option<&'a WorkspaceFacts>,
}

pub(super) fn decide(
    world: &World,
    id: &TaskId,
    seen: &RunEndFacts<'_>,
    jitter: u64,
    now: Time,
) -> Decision {
    let said = without_messages(seen.tail);
    let seen = &RunEndFacts { tail: &said, ..*seen };
    let mut draft = DecisionDraft::new(actor(seen), Some(id.clone()));
    let Some(task) = world.task(id) else {
        return draft.finish(AnswerVerdict::Noop, Some(Reason::TaskNotFound));
    };
    draft.load_task(task);
    let rules = RecoveryContext { policy: world.policy(), jitter, now };
    // The exit is recorded already, and the report is being checked.
    if task.history.claim().is_some() && task.history.open.is_none() {
        return draft.finish(AnswerVerdict::Noop, Some(Reason::StaleRun));
    }
    if let Some(lease) = task.lease().filter(|lease| lease.fence == seen.fence) {
        let run = (&lease.agent, lease.attempt, lease.fence);
        if has_started(seen.exit) {
            let session = resume::session_to_keep(task, run.0, seen.exit, seen.telemetry);
            park::record_telemetry(&mut draft, task, run, seen.telemetry, session);
        }
        handle_unreported_exit(world, &mut draft, task, seen, rules);
    } else if let Some(run) = task.history.open.as_ref().filter(|run| run.fence == seen.fence) {
        // The run has reported, so the next run starts a new session.
        park::record_telemetry(
            &mut draft,
            task,
            (&run.agent, run.attempt, run.fence),
            seen.telemetry,
            None,
        );
        record_exit(&mut draft, task, seen.exit, seen.tail);
    } else {
        return draft.finish(AnswerVerdict::Noop, Some(Reason::StaleRun));
    }
    draft.finish(AnswerVerdict::Applied, None)
}

/// Returns whether the agent ever ran, and so could report anything about itself.
fn has_started(exit: &RunExit) -> bool {
    match exit {
        RunExit::NotStarted(_) | RunExit::NoWorkspace(_) => false,
        RunExit::Code(_)
        | RunExit::Signal(_)
        | RunExit::TimedOut
        | RunExit::Idle
        | RunExit::OverBudget
        | RunExit::Stopped
        | RunExit::Lost => true,
    }
}

fn actor(seen: &RunEndFacts<'_>) -> Actor {
    match seen.found {
        Some(FoundResult::Result(result)) => session_end::actor(result),
        Some(FoundResult::Invalid(_)) | None => Actor::Scheduler,
    }
}

/// Handles a run that ended while its task was in progress: no report was applied.
fn handle_unreported_exit(
    world: &World,
    draft: &mut DecisionDraft,
    task: &Task,
    seen: &RunEndFacts<'_>,
    rules: RecoveryContext<'_>,
) {
    if task.history.claim().is_some() {
        record_exit(draft, task, seen.exit, seen.tail);
        request_checks(draft, task);
        return;
    }
    match (seen.found, seen.exit) {
        // A story step goes to recovery, unless its agent cannot work: that agent is parked below.
        _ if task.story().is_some() && seen.telemetry.trouble.is_none() => {
            recover(draft, task, RunEndCause::Exited(seen.exit, seen.tail), None, rules);
        }
        (None, RunExit::NoWorkspace(_) | RunExit::NotStarted(_))
            if seen.telemetry.trouble.is_none() =>
        {
            defer_task(draft, task, seen, rules);
        }
        (None, RunExit::Stopped) => {
            record_exit(draft, task, seen.exit, seen.tail);
            draft.transition(Status::Ready, &seen.exit.in_words());
        }
        (None, _) if let Some(trouble) = &seen.telemetry.trouble => {
            park::park_agent(world, draft, task, seen, trouble, rules.now);
        }
        (None, RunExit::Code(0)) => handle_silent_exit(world, draft, task, seen, rules),
        (found, _) => {
            let found = found.map(|found| enforce_constraints(draft, task, found, seen.workspace));
            recover(draft, task, RunEndCause::Exited(seen.exit, seen.tail), found.as_ref(), rules);
        }
    }
}

/// Returns the part of a left-behind result that counts, and logs every breached constraint.
fn enforce_constraints(
    draft: &mut DecisionDraft,
    task: &Task,
    found: &FoundResult,
    seen: Option<&WorkspaceFacts>,
) -> FoundResult {
    let FoundResult::Result(result) = found else { return found.clone() };
    let broken = broken_constraints(task, result.completion.outcome, seen);
    for breach in &broken {
        draft.warn(Reason::ConstraintBreached, breach);
    }
    let completion = downgrade_completion(&result.completion, &broken);
    FoundResult::Result(Box::new(RunResult { completion, ..(**result).clone() }))
}

/// Handles a run that exited with code 0 and without a report: `on_exit_ok` says what that means.
fn handle_silent_exit(
    world: &World,
    draft: &mut DecisionDraft,
    task: &Task,
    seen: &RunEndFacts<'_>,
    rules: RecoveryContext<'_>,
) {
    let agent = task.lease().and_then(|_| world.policy().worker(task));
    let outcome = match agent.map(|agent| agent.on_exit_ok).unwrap_or_default() {
        OnExitOk::NoReport => {
            return recover(draft, task, RunEndCause::Exited(seen.exit, seen.tail), None, rules);
        }
        OnExitOk::NeedsReview => WorkOutcome::NeedsReview,
        OnExitOk::Done => WorkOutcome::Done,
    };
    record_exit(draft, task, seen.exit, seen.tail);
    let broken = broken_constraints(task, outcome, seen.workspace);
    for breach in &broken {
        draft.warn(Reason::ConstraintBreached, breach);
    }
    let (outcome, reason) = match &broken[..] {
        [] => (outcome, format!("exited without a report; on_exit_ok = {outcome}")),
        some => (WorkOutcome::NeedsReview, some.join("; ")),
    };
    if draft.hold_for_checks(task, outcome, &reason, rules.policy) {
        return;
    }
    for to in outcome_transitions(task.status(), outcome, task.review) {
        draft.transition(to, &reason);
    }
}

/// Handles a run that had no workspace or whose program could not be started. That is no fault of
/// the task: it is retried later, and no attempt is counted.
fn defer_task(
    draft: &mut DecisionDraft,
    task: &Task,
    seen: &RunEndFacts<'_>,
    rules: RecoveryContext<'_>,
) {
    let Some(lease) = task.lease() else { return };
    let (attempt, fence) = (lease.attempt, lease.fence);
    let reason = seen.exit.in_words();
    record_exit(draft, task, seen.exit, seen.tail);
    draft.transition(Status::Ready, &reason);
    let not_before = Time::from_millis(rules.now.as_millis().saturating_add(DEFERRED_MS));
    draft.push(Event::RunDeferred { attempt, fence, reason, not_before });
}

/// Drops AOF/1 messages from the last lines of output: they were handled as messages and do not
/// explain the exit.
fn without_messages(tail: &str) -> String {
    let words: Vec<&str> = tail.lines().filter(|line| !line.starts_with(MESSAGE_PREFIX)).collect();
    words.join("\n")
}
