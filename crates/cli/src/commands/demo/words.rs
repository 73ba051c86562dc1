//! What happens, in the words of somebody who watches.

use serde_json::Value;

use super::plan::Plan;
use crate::output::{Colour, clean};

/// Returns who did what; none for what only the record needs.
pub(super) fn of<'e>(event: &'e Value, plan: &Plan) -> Option<(Colour, &'e str, String)> {
    let payload = &event["payload"];
    let text = |key: &str| clean(payload[key].as_str().unwrap_or_default());
    let id = event["taskId"].as_str().unwrap_or_default();
    let title = plan.title(id);
    let actor = event["actor"].as_str().unwrap_or_default();
    Some(match event["type"].as_str()? {
        "run.started" => {
            let nth = match payload["attempt"].as_u64() {
                Some(1) | None => String::new(),
                Some(n) => format!(", attempt {n}"),
            };
            let agent = payload["agent"].as_str().unwrap_or_default();
            (Colour::Plain, agent, format!("takes up “{title}”{nth}"))
        }
        "task.logged" => (Colour::Dim, actor, format!("“{title}”: {}", text("progress"))),
        "delegation.requested" => {
            (Colour::Blue, actor, format!("hands “{title}” on to {}", text("toAgent")))
        }
        "delegation.accepted" => (Colour::Blue, actor, format!("accepts “{title}”")),
        "run.failed" => {
            let what =
                format!("attempt {} at “{title}” failed: {}", payload["attempt"], text("reason"));
            (Colour::Yellow, "scheduler", what)
        }
        "task.transitioned" => match payload["to"].as_str()? {
            "done" => (Colour::Green, who_did(actor), format!("“{title}” is done")),
            "review" if plan.is(id, "build") => {
                (Colour::Yellow, actor, format!("“{title}” waits for a review"))
            }
            "blocked" => {
                (Colour::Yellow, actor, format!("“{title}” is blocked: {}", text("reason")))
            }
            "deadletter" => (Colour::Red, actor, format!("“{title}” is given up")),
            _ => return None,
        },
        _ => return None,
    })
}

/// A person is addressed as one.
fn who_did(actor: &str) -> &str {
    if actor.starts_with("human:") { "you" } else { actor }
}
