//! `session_end`: applies the results that were left behind and never applied.

use super::Decision;
use super::draft::Draft;
use super::salvage;
use crate::answer::{Answer, Verdict};
use crate::completion::RunResult;
use crate::event::{Channel, Event};
use crate::id::TaskId;
use crate::input::Found;
use crate::name::Actor;
use crate::status::Status;
use crate::world::World;

pub(super) fn decide(world: &World, found: &[(TaskId, Found)]) -> Decision {
    let verdict = Verdict::Noop;
    let mut all = Decision { answer: Answer::plain(verdict), events: vec![], effects: vec![] };
    for (id, found) in found {
        let Some(part) = decide_one(world, id, found) else {
            continue;
        };
        all.answer.verdict = Verdict::Applied;
        all.events.extend(part.events);
        all.effects.extend(part.effects);
    }
    all
}

/// Each task for itself: one bad result stops no other.
fn decide_one(world: &World, id: &TaskId, found: &Found) -> Option<Decision> {
    let task = world.task(id).filter(|task| task.status() == Status::InProgress)?;
    match found {
        Found::Result(result) => {
            let mut draft = Draft::new(actor(result), None);
            draft.on(task);
            let channel = Channel::LeftBehind;
            // What was said is being looked into.
            if task.trials.claim().is_some() {
                return None;
            }
            let (said, reason) = (&result.completion, result.completion.reason());
            let claimed = draft.claim(task, said.outcome, &reason, world.policy());
            draft.push(Event::TaskCompleted { result: result.clone(), channel });
            if !claimed {
                draft.complete(task, said);
            }
            Some(draft.end(Verdict::Applied, None))
        }
        Found::Invalid(problems) => {
            let mut draft = Draft::new(Actor::Router, None);
            draft.on(task);
            salvage::put_aside(&mut draft, problems);
            Some(draft.end(Verdict::Applied, None))
        }
    }
}

pub(super) fn actor(result: &RunResult) -> Actor {
    Some(result.agent.clone())
        .filter(|agent| !agent.is_reserved())
        .map_or(Actor::Router, Actor::Agent)
}
