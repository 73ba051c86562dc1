//! Random requests of agents and operators. Many will be refused.

use adjutant_engine::EngineRequest;
use adjutant_model::command::{InitialStatus, TaskChanges};
use adjutant_model::{Command, Status, TaskId};
use serde_json::json;

use crate::message::{completion, envelope, handoff, progress};
use crate::project::{add_request, message_request, operator_request};
use crate::seeded_rng::SeededRng;

/// Makes a random request on one of these tasks, in an agent's or an operator's name.
pub fn random_request(
    rng: &mut SeededRng,
    tasks: &[TaskId],
    agent: &str,
    number: usize,
) -> EngineRequest {
    let id = rng.choose(tasks).clone();
    let text = format!("Wish {number}");
    match rng.below(12) {
        0 => add_request(&text, *rng.choose(&[InitialStatus::Backlog, InitialStatus::Ready])),
        1 => {
            let changes = TaskChanges {
                title: Some(text.clone()),
                body: Some(text),
                ..TaskChanges::default()
            };
            operator_request(Command::Edit { id, changes: Box::new(changes) })
        }
        2 | 3 => {
            operator_request(Command::Move { id, to: *rng.choose(&Status::ALL), reason: text })
        }
        4 => operator_request(Command::Reject { id, reason: text }),
        5 => operator_request(Command::Retry { id }),
        6 => message_request(&handoff(id.as_str(), rng.choose(tasks).as_str(), agent, agent)),
        7 => {
            let to = rng.choose(&Status::ALL).as_str();
            let payload =
                json!({"taskId": id.as_str(), "agentId": agent, "status": to, "notes": text});
            message_request(&envelope("status.update", id.as_str(), agent, &payload))
        }
        8 | 9 => {
            let outcome = rng.choose(&["done", "blocked", "needs_review", "partial"]);
            let mut report = completion(id.as_str(), agent, outcome);
            report["payload"]["notes"] = text.into();
            message_request(&report)
        }
        _ => message_request(&progress(id.as_str(), agent, &text)),
    }
}
