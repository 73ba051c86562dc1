//! An event of the record, in one line.

use serde_json::Value;

use crate::output::{Colour, Output, clean};

/// Returns an event in words. Takes any JSON: others may have written it.
pub(crate) fn line(out: &Output, event: &Value) -> String {
    let text = |key: &str| clean(event[key].as_str().unwrap_or_default());
    let kind = text("type");
    let time = text("timestamp").replace('T', " ");
    let time = time.split('.').next().unwrap_or_default().to_owned();
    let mut words = vec![
        out.paint(Colour::Dim, &format!("{:>5}", event["eventId"].to_string())),
        out.paint(Colour::Dim, &time),
        out.paint(colour(&kind), &format!("{kind:<26}")),
        format!("{:<19}", text("taskId")),
        text("actor"),
    ];
    words.push(detail(&kind, &event["payload"]));
    words.join("  ").trim_end().to_owned()
}

fn detail(kind: &str, payload: &Value) -> String {
    let text = |key: &str| clean(payload[key].as_str().unwrap_or_default());
    let joined = |parts: &[String]| {
        let said: Vec<&str> =
            parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        said.join(": ")
    };
    match kind {
        "task.transitioned" => {
            let way = format!("{} → {}", text("from"), text("to"));
            joined(&[way, text("reason")])
        }
        "task.created" => clean(payload["task"]["title"].as_str().unwrap_or_default()),
        "task.edited" => list(&payload["changed"]),
        "task.completed" => joined(&[text("outcome"), text("notes")]),
        "task.logged" => {
            let said = joined(&[text("progress"), text("notes")]);
            joined(&[said, list(&payload["blockers"])])
        }
        "delegation.requested" => format!("from {} to {}", text("parentTaskId"), text("toAgent")),
        "protocol.message.rejected" => joined(&[text("reason"), list(&payload["errors"])]),
        "protocol.message.warning" => joined(&[text("reason"), text("detail")]),
        "protocol.message.received" | "protocol.message.unknown" => text("type"),
        "run.salvaged" => joined(&[text("reason"), text("file")]),
        "command.refused" => joined(&[text("command"), text("reason")]),
        _ => text("reason"),
    }
}

fn list(value: &Value) -> String {
    let items = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    clean(&items.collect::<Vec<_>>().join(", "))
}

fn colour(kind: &str) -> Colour {
    match kind {
        kind if kind.ends_with("rejected") || kind.ends_with("refused") => Colour::Red,
        kind if kind.ends_with("warning") || kind.ends_with("unknown") => Colour::Yellow,
        "task.transitioned" | "task.completed" => Colour::Green,
        _ => Colour::Blue,
    }
}
