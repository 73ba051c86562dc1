//! Describes the demo's events for a person who watches.

use serde_json::Value;

use super::plan::DemoPlan;
use crate::output::{TextColour, clean};

/// Returns the colour, actor and description of an event; `None` if it is not shown.
pub(super) fn describe_event<'e>(
    event: &'e Value,
    plan: &DemoPlan,
) -> Option<(TextColour, &'e str, String)> {
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
            (TextColour::Plain, agent, format!("starts “{title}”{nth}"))
        }
        "task.logged" => (TextColour::Dim, actor, format!("“{title}”: {}", text("progress"))),
        "delegation.requested" => {
            (TextColour::Blue, actor, format!("delegates “{title}” to {}", text("toAgent")))
        }
        "delegation.accepted" => (TextColour::Blue, actor, format!("accepts “{title}”")),
        "run.failed" => {
            let what =
                format!("attempt {} of “{title}” failed: {}", payload["attempt"], text("reason"));
            (TextColour::Yellow, "scheduler", what)
        }
        "task.transitioned" => match payload["to"].as_str()? {
            "done" => (TextColour::Green, display_actor(actor), format!("“{title}” is done")),
            "review" if plan.is_task(id, "build") => {
                (TextColour::Yellow, actor, format!("“{title}” waits for review"))
            }
            "blocked" => {
                (TextColour::Yellow, actor, format!("“{title}” is blocked: {}", text("reason")))
            }
            "deadletter" => (
                TextColour::Red,
                actor,
                format!("“{title}” failed too often and was given up (deadletter)"),
            ),
            _ => return None,
        },
        _ => return None,
    })
}

/// Addresses the operator as "you".
fn display_actor(actor: &str) -> &str {
    if actor.starts_with("human:") { "you" } else { actor }
}
