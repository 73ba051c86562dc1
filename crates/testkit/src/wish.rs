//! Things that anybody might ask for at any time, picked by chance. Many will be refused.

use adjutant_core::command::{Changes, Start};
use adjutant_core::{Command, Status, TaskId};
use adjutant_runtime::Request;
use serde_json::json;

use crate::dice::Dice;
use crate::message::{completion, envelope, handoff, progress};
use crate::project::{add, operator, send};

/// Picks something to ask for on one of these tasks, in an agent's or an operator's name.
pub fn wish(dice: &mut Dice, tasks: &[TaskId], agent: &str, number: usize) -> Request {
    let id = dice.one_of(tasks).clone();
    let text = format!("Wish {number}");
    match dice.below(12) {
        0 => add(&text, *dice.one_of(&[Start::Backlog, Start::Ready])),
        1 => {
            let changes =
                Changes { title: Some(text.clone()), body: Some(text), ..Changes::default() };
            operator(Command::Edit { id, changes: Box::new(changes) })
        }
        2 | 3 => operator(Command::Move { id, to: *dice.one_of(&Status::ALL), reason: text }),
        4 => operator(Command::Reject { id, reason: text }),
        5 => operator(Command::Retry { id }),
        6 => send(&handoff(id.as_str(), dice.one_of(tasks).as_str(), agent, agent)),
        7 => {
            let to = dice.one_of(&Status::ALL).as_str();
            let said =
                json!({"taskId": id.as_str(), "agentId": agent, "status": to, "notes": text});
            send(&envelope("status.update", id.as_str(), agent, &said))
        }
        8 | 9 => {
            let outcome = dice.one_of(&["done", "blocked", "needs_review", "partial"]);
            let mut report = completion(id.as_str(), agent, outcome);
            report["payload"]["notes"] = text.into();
            send(&report)
        }
        _ => send(&progress(id.as_str(), agent, &text)),
    }
}
