//! Carries out the scheduler's plan at a tick.

use adjutant_model::actor::Actor;
use adjutant_model::answer::{Answer, AnswerVerdict};
use adjutant_model::effect::Effect;
use adjutant_model::event::{Event, TransitionCause};
use adjutant_model::run::{RunExit, RunPlace, RunRef};
use adjutant_model::run_history::BlockedBy;
use adjutant_model::sandbox_level::SandboxLevel;
use adjutant_model::status::Status;
use adjutant_model::task::Task;
use adjutant_model::task_id::TaskId;
use adjutant_model::time::Time;

use super::draft::DecisionDraft;
use super::recovery::{RecoveryContext, RunEndCause, record_exit, recover};
use crate::decision::Decision;
use crate::input::TickFacts;
use crate::schedule::{ScheduleAction, plan};
use crate::world::World;

pub(super) fn decide(world: &World, facts: &TickFacts, now: Time) -> Decision {
    let mut all =
        Decision { answer: Answer::plain(AnswerVerdict::Noop), events: vec![], effects: vec![] };
    for action in plan(world, facts, now) {
        let Some(task) = world.task(action.task()) else { continue };
        let mut draft = DecisionDraft::new(Actor::Scheduler, None);
        draft.load_task(task);
        carry_out(world, &mut draft, task, &action, facts, now);
        let part = draft.finish(AnswerVerdict::Applied, None);
        all.answer.verdict = AnswerVerdict::Applied;
        all.events.extend(part.events);
        all.effects.extend(part.effects);
    }
    all
}

fn carry_out(
    world: &World,
    draft: &mut DecisionDraft,
    task: &Task,
    action: &ScheduleAction,
    facts: &TickFacts,
    now: Time,
) {
    let policy = &world.policy().scheduler;
    let rules = RecoveryContext { policy: world.policy(), jitter: facts.jitter, now };
    let found = facts.runs.get(&task.id).and_then(|seen| seen.found.as_ref());
    match action {
        ScheduleAction::StaleHeartbeat { .. } => {
            recover(draft, task, RunEndCause::StaleHeartbeat, found, rules);
        }
        ScheduleAction::ExpireLease { .. } => {
            recover(draft, task, RunEndCause::LeaseExpired, found, rules);
        }
        ScheduleAction::RunLost { .. } => {
            recover(draft, task, RunEndCause::Exited(&RunExit::Lost, ""), found, rules);
        }
        ScheduleAction::RunOver { .. } => record_exit(draft, task, &RunExit::Lost, ""),
        ScheduleAction::RenewLease { fence, expires_at, .. } => {
            draft.push(Event::RunHeartbeat { fence: *fence, expires_at: *expires_at });
        }
        ScheduleAction::Block { dependency, .. } => block(draft, world, dependency),
        ScheduleAction::Unblock { .. } => {
            draft.transition(Status::Ready, "its dependencies are done");
        }
        ScheduleAction::Assign { agent, node, attempt, fence, .. } => {
            let ttl = policy.heartbeat_ttl_ms;
            let expires_at = Time::from_millis(now.as_millis().saturating_add(ttl));
            let place = node.clone().map_or(RunPlace::Here, RunPlace::Node);
            let sandbox = world.policy().sandbox_on(node.as_ref(), agent, task);
            let (agent, attempt, fence) = (agent.clone(), *attempt, *fence);
            let run = RunRef { agent, attempt, fence, nonce: facts.nonce };
            assign(draft, task, run, RunTerms { expires_at, place, sandbox });
        }
    }
}

fn block(draft: &mut DecisionDraft, world: &World, dependency: &TaskId) {
    let status = world.task(dependency).map_or(Status::Cancelled, Task::status);
    let reason = format!("depends on {dependency}, which will not be done ({status})");
    let held = TransitionCause::Held(BlockedBy::Dependency);
    draft.move_to(Status::Ready, Status::Blocked, &reason, held);
}

/// Until when a run has its lease, where it runs and what confines it.
struct RunTerms {
    expires_at: Time,
    place: RunPlace,
    sandbox: SandboxLevel,
}

/// The lease and the move are one commit; the agent is started after it.
fn assign(
    draft: &mut DecisionDraft,
    task: &Task,
    run: RunRef,
    RunTerms { expires_at, place, sandbox }: RunTerms,
) {
    let RunRef { agent, attempt, fence, nonce } = run;
    let given = match &place {
        RunPlace::Node(node) => format!("assigned to {agent} on {node}"),
        RunPlace::Here | RunPlace::Elsewhere => format!("assigned to {agent}"),
    };
    draft.transition(Status::InProgress, &given);
    let started = Event::RunStarted {
        agent: agent.clone(),
        attempt,
        fence,
        nonce,
        expires_at,
        place,
        sandbox,
    };
    draft.push(started);
    draft.add_effect(Effect::StartRun { task: task.id.clone(), agent, attempt, fence, nonce });
}
