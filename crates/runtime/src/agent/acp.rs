//! Any agent that speaks the Agent Client Protocol. This program speaks it in another process, as
//! `adjutant acp-agent`, and tells what happens as lines of JSON.

use serde_json::{Value, json};

use super::adapter::{Given, Heard, Start, Used, number, push, text};
use super::words;
use crate::shim::spec::Asks;

/// The paper that says which agent is started, and what it may do.
pub const PAPER: &str = "acp.json";

pub(super) fn start(given: &Given<'_>) -> Start {
    over(given, given.agent.command.clone())
}

/// Has an agent that is started by this command spoken to.
pub(super) fn over(given: &Given<'_>, mut agent: Vec<String>) -> Start {
    agent.extend(given.agent.args.iter().cloned());
    let table = given.agent.table();
    let rule = |rule: &adjutant_core::permit::Rule| {
        json!({
            "tool": rule.tool.map(adjutant_core::permit::ToolKind::as_str),
            "title": rule.title,
            "answer": rule.ruling.as_str(),
        })
    };
    let paper = json!({
        "command": agent,
        "resume": given.resume.map(|resume| json!({"session": resume.session, "anew": resume.anew})),
        "graceMs": given.grace_ms,
        "permissions": table.rules.iter().map(rule).collect::<Vec<_>>(),
        "otherwise": table.otherwise.as_str(),
    });
    let mut command = vec![given.program.to_owned()];
    push(&mut command, &["acp-agent", &given.paper(PAPER)]);
    Start {
        command,
        papers: vec![(PAPER.to_owned(), format!("{paper:#}\n"))],
        // The agent is told to cancel its turn before anybody asks it to end.
        asks: Asks::Agent,
        ..Start::default()
    }
}

pub(super) fn read(line: &Value) -> Vec<Heard> {
    match line["type"].as_str().unwrap_or_default() {
        "agent" => text(line, "version").map(Heard::Version).into_iter().collect(),
        // One that cannot be gone on with is nobody's business.
        "session" if line["canGoOn"] == true => {
            text(line, "id").map(Heard::Session).into_iter().collect()
        }
        "message" => {
            let said = text(line, "text").map(Heard::Words);
            [Heard::Works].into_iter().chain(said).collect()
        }
        "thought" => vec![Heard::Works],
        "update" => update(&line["update"]),
        "usage" => vec![Heard::Used(used(&line["usage"]))],
        "permission" if line["answer"] == "denied" => {
            vec![Heard::Denied(words::or(text(line, "text"), "a tool"))]
        }
        "error" => error(line),
        _ => vec![],
    }
}

fn update(update: &Value) -> Vec<Heard> {
    match update["sessionUpdate"].as_str().unwrap_or_default() {
        "tool_call" | "tool_call_update" | "plan" => vec![Heard::Works],
        // What is in its context now is not what it used; what it cost adds up.
        "usage_update" if update["cost"]["currency"] == "USD" => {
            let cost = update["cost"]["amount"].as_f64().map_or(0, words::millionths);
            vec![Heard::Used(Used { cost, ..Used::default() })]
        }
        _ => vec![],
    }
}

/// What is read is all that is not written: some count what came from a cache apart.
fn used(usage: &Value) -> Used {
    let output = number(usage, "outputTokens");
    let rest = number(usage, "totalTokens").saturating_sub(output);
    Used {
        input: number(usage, "inputTokens").max(rest),
        output,
        cached: number(usage, "cachedReadTokens"),
        cost: 0,
    }
}

fn error(line: &Value) -> Vec<Heard> {
    let said = words::or(text(line, "message"), "it did not say what went wrong");
    match line["kind"].as_str().unwrap_or_default() {
        "stopped" => vec![],
        "sign_in" => vec![Heard::Unusable(said)],
        _ => vec![failed(said)],
    }
}

/// Tells what an error means. The protocol has a code for one that is not signed in, and words for
/// the rest.
pub(super) fn failed(said: String) -> Heard {
    let lower = said.to_lowercase();
    let has = |any: &[&str]| any.iter().any(|one| lower.contains(one));
    if has(&[
        "usage limit",
        "rate limit",
        "429",
        "too many requests",
        "quota exceeded",
        "resource_exhausted",
    ]) {
        Heard::Limited { until: words::reset(&said), words: said }
    } else if has(&[
        "401",
        "403 forbidden",
        "invalid api key",
        "invalid x-api-key",
        "incorrect api key",
        "api key not valid",
        "authentication required",
        "authentication error",
        "authentication_error",
        "not logged in",
        "please log in",
        "/login",
    ]) {
        Heard::Unusable(said)
    } else {
        Heard::Stumbled(said)
    }
}
