//! Applies the results that runs left behind and that were never applied (`session_end`).

use adjutant_model::actor::Actor;
use adjutant_model::answer::{Answer, AnswerVerdict};
use adjutant_model::completion::RunResult;
use adjutant_model::event::{Event, ReportChannel};
use adjutant_model::status::Status;
use adjutant_model::task_id::TaskId;

use super::draft::DecisionDraft;
use super::salvage;
use crate::decision::Decision;
use crate::input::FoundResult;
use crate::world::World;

pub(super) fn decide(world: &World, found: &[(TaskId, FoundResult)]) -> Decision {
    let verdict = AnswerVerdict::Noop;
    let mut all = Decision { answer: Answer::plain(verdict), events: vec![], effects: vec![] };
    for (id, found) in found {
        let Some(part) = decide_one(world, id, found) else {
            continue;
        };
        all.answer.verdict = AnswerVerdict::Applied;
        all.events.extend(part.events);
        all.effects.extend(part.effects);
    }
    all
}

/// Decides each task by itself, so that one bad result does not stop the others.
fn decide_one(world: &World, id: &TaskId, found: &FoundResult) -> Option<Decision> {
    let task = world.task(id).filter(|task| task.status() == Status::InProgress)?;
    match found {
        FoundResult::Result(result) => {
            let mut draft = DecisionDraft::new(actor(result), None);
            draft.load_task(task);
            let channel = ReportChannel::LeftBehind;
            // The report is already being checked.
            if task.history.claim().is_some() {
                return None;
            }
            let (said, reason) = (&result.completion, result.completion.reason());
            let claimed = draft.hold_for_checks(task, said.outcome, &reason, world.policy());
            draft.push(Event::TaskCompleted { result: result.clone(), channel });
            if !claimed {
                draft.complete(task, said);
            }
            Some(draft.finish(AnswerVerdict::Applied, None))
        }
        FoundResult::Invalid(problems) => {
            let mut draft = DecisionDraft::new(Actor::Router, None);
            draft.load_task(task);
            salvage::salvage_result(&mut draft, problems);
            Some(draft.finish(AnswerVerdict::Applied, None))
        }
    }
}

pub(super) fn actor(result: &RunResult) -> Actor {
    Some(result.agent.clone())
        .filter(|agent| !agent.is_reserved())
        .map_or(Actor::Router, Actor::Agent)
}
