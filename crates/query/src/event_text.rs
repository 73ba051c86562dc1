//! Describes events in words. Takes any JSON, because other programs may have written the event log.

use adjutant_model::Reason;
use adjutant_model::run::RunExit;
use serde_json::Value;

use crate::text::clean;

/// Describes an event of the event log in a few words.
pub fn describe_event(event: &Value) -> String {
    describe_payload(event["type"].as_str().unwrap_or_default(), &event["payload"])
}

/// Returns whether an event is about nothing that a person must look at, although its type says
/// warning: a plain report has no files for a summary and a hand-over, and needs none.
pub fn is_routine_warning(event: &Value) -> bool {
    event["type"] == "protocol.message.warning"
        && event["payload"]["reason"].as_str().is_some_and(is_optional_file)
}

fn is_optional_file(reason: &str) -> bool {
    [Reason::SummaryFileNotFound, Reason::HandoffFileNotFound]
        .iter()
        .any(|optional| optional.as_str() == reason)
}

/// Describes an event's payload in a few words.
pub fn describe_payload(kind: &str, payload: &Value) -> String {
    let text = |key: &str| clean(payload[key].as_str().unwrap_or_default());
    let joined = |parts: &[String]| {
        let parts: Vec<&str> =
            parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        parts.join(": ")
    };
    match kind {
        "task.transitioned" => {
            let is_unusual = payload["againstTheTable"] == true;
            let flag = if is_unusual { " (not an allowed move)" } else { "" };
            let way = format!("{} → {}{flag}", text("from"), text("to"));
            joined(&[way, text("reason")])
        }
        "story.moved" => {
            let at = format!("{} {}, attempt {}", text("id"), text("step"), payload["attempt"]);
            joined(&[at, text("status"), text("lastError")])
        }
        "task.created" => clean(payload["task"]["title"].as_str().unwrap_or_default()),
        "task.edited" => join_with_commas(&payload["changed"]),
        "task.completed" => joined(&[text("outcome"), text("notes")]),
        "task.logged" => {
            let parts = joined(&[text("progress"), text("notes")]);
            joined(&[parts, join_with_commas(&payload["blockers"])])
        }
        "delegation.requested" => format!("from {} to {}", text("parentTaskId"), text("toAgent")),
        "protocol.message.rejected" => {
            joined(&[text("reason"), join_strings(&payload["errors"], "; ")])
        }
        "protocol.message.warning" if is_optional_file(&text("reason")) => {
            format!("no {}, which is optional", text("detail"))
        }
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
        "run.exited" => joined(&[exit_in_words(&text("exit")), text("reason")]),
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
        "work.checked" => describe_checks(payload),
        "work.saved" => text("ref"),
        "work.merged" if payload["evidence"]["changes"]["files"] == 0 => {
            format!("the change was already in {}: {}", text("base"), text("commit"))
        }
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
        "fleet.decider" => format!("{} is the leader", text("node")),
        "folder.adopted" => format!("{} tasks", clean(&payload["tasks"].to_string())),
        _ => text("reason"),
    }
}

/// Describes how a process ended.
fn exit_in_words(exit: &str) -> String {
    match RunExit::parse(exit) {
        Some(RunExit::Code(0)) => "exit code 0".to_owned(),
        Some(exit) => clean(&exit.in_words()),
        None => exit.to_owned(),
    }
}

/// Lists the checks with their results.
fn describe_checks(payload: &Value) -> String {
    let word = |check: &Value, key: &str| clean(check[key].as_str().unwrap_or_default());
    let one = |check: &Value| match word(check, "exit") {
        exit if exit == "code:0" => format!("`{}` passed", word(check, "command")),
        exit => format!("`{}` failed ({})", word(check, "command"), exit_in_words(&exit)),
    };
    let checks = payload["checks"].as_array().into_iter().flatten().map(one);
    let flaw = payload["flaw"].as_str().map(clean);
    checks.chain(flaw).collect::<Vec<_>>().join("; ")
}

fn join_with_commas(value: &Value) -> String {
    join_strings(value, ", ")
}

fn join_strings(value: &Value, between: &str) -> String {
    let items = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    clean(&items.collect::<Vec<_>>().join(between))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn event_about_optional_file_is_no_problem() {
        let warned = |reason: &str| {
            json!({
                "type": "protocol.message.warning",
                "payload": {"reason": reason, "detail": "outputs/summary.md"},
            })
        };
        let optional = warned("summary_file_not_found");
        assert!(is_routine_warning(&optional));
        assert!(is_routine_warning(&warned("handoff_file_not_found")));
        assert_eq!(describe_event(&optional), "no outputs/summary.md, which is optional");
        let other = warned("missing_token");
        assert!(!is_routine_warning(&other));
        assert_eq!(describe_event(&other), "missing_token: outputs/summary.md");
    }

    #[test]
    fn event_detail_describes_exits_in_words() {
        let exited = |exit: &str| describe_payload("run.exited", &json!({"exit": exit}));
        assert_eq!(exited("code:0"), "exit code 0");
        assert_eq!(exited("timed_out"), "timed out and was stopped");
        assert_eq!(exited("else"), "else");
        let checks = json!({"checks": [
            {"command": "make test", "exit": "code:0"},
            {"command": "make lint", "exit": "code:2"},
        ]});
        assert_eq!(
            describe_payload("work.checked", &checks),
            "`make test` passed; `make lint` failed (exit code 2)"
        );
    }

    #[test]
    fn event_detail_says_that_a_change_was_already_there() {
        let merged = |files: u64| {
            let payload = json!({
                "base": "main", "commit": "45ab", "evidence": {"changes": {"files": files}}
            });
            describe_payload("work.merged", &payload)
        };
        assert_eq!(merged(0), "the change was already in main: 45ab");
        assert_eq!(merged(1), "into main: 45ab");
    }

    #[test]
    fn event_detail_separates_problems_that_contain_commas() {
        let errors =
            ["payload.outcome: must be one of: done, blocked", "payload.notes: is required"];
        let payload = json!({"reason": "invalid_envelope", "errors": errors});
        assert_eq!(
            describe_payload("protocol.message.rejected", &payload),
            "invalid_envelope: payload.outcome: must be one of: done, blocked; payload.notes: is \
             required"
        );
    }
}
