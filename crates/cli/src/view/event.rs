//! An event of the record, in one line.

use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::output::{Colour, Output, clean};
use crate::table::fit;

/// The terminal from which on there is room for the whole time and the actor.
const WIDE: usize = 120;

/// Returns an event in words, cut to the terminal. Takes any JSON: others may have written it.
pub(crate) fn line(out: &Output, event: &Value) -> String {
    let paint = |colour, text: &str| out.paint(colour, text);
    cut(words(event, out.width()), out.width().unwrap_or(usize::MAX), &paint)
}

/// Returns what is said of an event, each with its colour and the width it has at least.
fn words(event: &Value, terminal: Option<usize>) -> Vec<(Colour, String, usize)> {
    let text = |key: &str| clean(event[key].as_str().unwrap_or_default());
    let kind = text("type");
    let number = format!("{:>5}", clean(&event["eventId"].to_string()));
    let mut words = vec![(Colour::Dim, number, 5)];
    let wide = terminal.is_none_or(|width| width >= WIDE);
    words.push((Colour::Dim, time(&text("timestamp"), wide), 0));
    words.push((colour(&kind), kind.clone(), 25));
    words.push((Colour::Plain, text("taskId"), 19));
    if wide {
        words.push((Colour::Plain, text("actor"), 0));
    }
    words.push((Colour::Plain, detail(&kind, &event["payload"]), 0));
    words
}

/// Shows a time to the second, or where there is little room to the minute and without its year.
fn time(timestamp: &str, wide: bool) -> String {
    let seconds = timestamp.split('.').next().unwrap_or_default().replace('T', " ");
    if wide {
        return seconds;
    }
    let short = seconds.split_once('-').and_then(|(_, rest)| rest.rsplit_once(':'));
    short.map_or(seconds.clone(), |(minutes, _)| minutes.to_owned())
}

fn cut(
    words: Vec<(Colour, String, usize)>,
    mut room: usize,
    paint: &dyn Fn(Colour, &str) -> String,
) -> String {
    let mut line = String::new();
    for (n, (colour, text, width)) in words.into_iter().enumerate() {
        let gap = if n == 0 { "" } else { "  " };
        let text = fit(&text, room.saturating_sub(gap.len()));
        if text.is_empty() && width == 0 {
            continue;
        }
        let blank = " ".repeat(width.saturating_sub(text.width()));
        room = room.saturating_sub(gap.len() + text.width() + blank.len());
        line.extend([gap, &paint(colour, &text), &blank]);
    }
    line.trim_end().to_owned()
}

/// Says what happened by an event, in a few words.
pub(crate) fn detail(kind: &str, payload: &Value) -> String {
    let text = |key: &str| clean(payload[key].as_str().unwrap_or_default());
    let joined = |parts: &[String]| {
        let said: Vec<&str> =
            parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        said.join(": ")
    };
    match kind {
        "task.transitioned" => {
            let flag = if payload["againstTheTable"] == true { " (no such move)" } else { "" };
            let way = format!("{} → {}{flag}", text("from"), text("to"));
            joined(&[way, text("reason")])
        }
        "story.moved" => {
            let at = format!("{} {}, attempt {}", text("id"), text("step"), payload["attempt"]);
            joined(&[at, text("status"), text("lastError")])
        }
        "task.created" => clean(payload["task"]["title"].as_str().unwrap_or_default()),
        "task.edited" => list(&payload["changed"]),
        "task.completed" => joined(&[text("outcome"), text("notes")]),
        "task.logged" => {
            let said = joined(&[text("progress"), text("notes")]);
            joined(&[said, list(&payload["blockers"])])
        }
        "delegation.requested" => format!("from {} to {}", text("parentTaskId"), text("toAgent")),
        "protocol.message.rejected" => joined(&[text("reason"), parts(&payload["errors"], "; ")]),
        "protocol.message.warning" | "dispatch.refused" => {
            joined(&[text("reason"), text("detail")])
        }
        "protocol.message.received" | "protocol.message.unknown" => text("type"),
        "task.answered" | "run.asked" => text("text"),
        "task.asked" => text("question"),
        "run.answered" => {
            let allowed = payload["allowed"].as_bool().unwrap_or(false);
            joined(&[if allowed { "allowed" } else { "denied" }.to_owned(), text("note")])
        }
        "epic.noted" => format!("{}: {}", text("epicId"), text("text")),
        "run.started" => format!("{}, attempt {}", text("agent"), payload["attempt"]),
        "run.heartbeat" => format!("until {}", text("expiresAt")),
        "run.exited" => joined(&[text("exit"), text("reason")]),
        "run.usage" => {
            let number = |key: &str| payload["usage"][key].as_u64().unwrap_or(0);
            let tokens = number("inputTokens").saturating_add(number("outputTokens"));
            let cost = payload["usage"]["costUsd"].as_f64().unwrap_or(0.0);
            let used = format!("{} used {tokens} tokens, ${cost:.4}", text("agent"));
            joined(&[used, text("warning")])
        }
        "run.parked" => {
            let parked = |key: &str| clean(payload["parked"][key].as_str().unwrap_or_default());
            joined(&[parked("agent"), parked("until"), parked("reason")])
        }
        "agent.freed" => text("agent"),
        "work.claimed" => joined(&[text("outcome"), text("reason")]),
        "work.checked" => checked(payload),
        "work.saved" => text("ref"),
        "work.merged" => format!("into {}: {}", text("base"), text("commit")),
        "merge.requested" => text("note"),
        "run.failed" | "run.deferred" => {
            joined(&[format!("attempt {}", payload["attempt"]), text("reason")])
        }
        "run.salvage.applied" => text("file"),
        "run.salvaged" => joined(&[text("reason"), text("file")]),
        "command.refused" => joined(&[text("command"), text("reason")]),
        "access.refused" => joined(&[text("reason"), text("detail")]),
        "request.kept" => text("about"),
        "notify.sent" | "notify.failed" => {
            let of = format!("{} of event {}", text("kind"), payload["about"]);
            joined(&[text("rule"), of, text("reason")])
        }
        "fleet.decider" => format!("{} decides", text("node")),
        "folder.adopted" => format!("{} tasks", clean(&payload["tasks"].to_string())),
        _ => text("reason"),
    }
}

/// Says what each check came to.
fn checked(payload: &Value) -> String {
    let word = |check: &Value, key: &str| clean(check[key].as_str().unwrap_or_default());
    let one = |check: &Value| format!("`{}` {}", word(check, "command"), word(check, "exit"));
    let checks = payload["checks"].as_array().into_iter().flatten().map(one);
    let flaw = payload["flaw"].as_str().map(clean);
    checks.chain(flaw).collect::<Vec<_>>().join("; ")
}

fn list(value: &Value) -> String {
    parts(value, ", ")
}

fn parts(value: &Value, between: &str) -> String {
    let items = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    clean(&items.collect::<Vec<_>>().join(between))
}

fn colour(kind: &str) -> Colour {
    match kind {
        kind if kind.ends_with("rejected") || kind.ends_with("refused") => Colour::Red,
        kind if kind.ends_with("warning") || kind.ends_with("unknown") => Colour::Yellow,
        "task.transitioned" | "task.completed" => Colour::Green,
        _ => Colour::Blue,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(terminal: Option<usize>) -> String {
        let event = json!({
            "eventId": 17, "type": "task.transitioned", "timestamp": "2026-02-09T21:10:00.000Z",
            "actor": "swe-backend", "taskId": "TASK-2026-02-09-057",
            "payload": {"from": "in-progress", "to": "review", "reason": "All \u{1b}[31mmet"},
        });
        let room = terminal.unwrap_or(usize::MAX);
        cut(words(&event, terminal), room, &|_, text| text.to_owned())
    }

    #[test]
    fn an_event_says_all_there_is_where_there_is_room() {
        let whole = "   17  2026-02-09 21:10:00  task.transitioned          TASK-2026-02-09-057  \
                     swe-backend  in-progress → review: All \u{fffd}[31mmet";
        assert_eq!(shown(None), whole);
        assert_eq!(shown(Some(200)), whole);
    }

    #[test]
    fn an_event_fits_a_narrow_terminal() {
        let narrow =
            "   17  02-09 21:10  task.transitioned          TASK-2026-02-09-057  in-progress…";
        assert_eq!(shown(Some(80)), narrow);
        assert_eq!(shown(Some(40)), "   17  02-09 21:10  task.transitioned");
        for terminal in 1..150 {
            assert!(shown(Some(terminal)).width() <= terminal, "{terminal}");
        }
    }

    #[test]
    fn problems_are_told_apart_though_they_have_commas_in_them() {
        let errors =
            ["payload.outcome: must be one of: done, blocked", "payload.notes: is required"];
        let payload = json!({"reason": "invalid_envelope", "errors": errors});
        assert_eq!(
            detail("protocol.message.rejected", &payload),
            "invalid_envelope: payload.outcome: must be one of: done, blocked; payload.notes: is \
             required"
        );
    }

    #[test]
    fn what_is_no_event_is_shown_as_far_as_it_goes() {
        let words = words(&json!({"eventId": "x", "payload": 3}), None);
        assert_eq!(cut(words, 80, &|_, text| text.to_owned()), "  \"x\"");
    }
}
