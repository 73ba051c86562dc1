//! Codex: `codex exec --json`, which prints a stream of JSON.

use serde_json::{Value, json};

use super::adapter::{
    Given, Heard, RUN_VARIABLES, SignedIn, Start, Tried, Used, number, push, text,
};
use super::words;

pub(super) const TRIED: Tried = Tried { versions: &["0.166.0"], oldest: "0.100.0" };

pub(super) const SIGNED_IN: SignedIn =
    SignedIn { variables: &["OPENAI_API_KEY", "CODEX_API_KEY"], files: &[".codex/auth.json"] };

pub(super) fn start(given: &Given<'_>) -> Start {
    let mut command = given.command("codex");
    push(&mut command, &["exec", "--json", "--skip-git-repo-check"]);
    // Nobody is there to be asked; its own sandbox would keep it from committing in a worktree.
    if !given.says(&["-s", "--sandbox", "--dangerously-bypass-approvals-and-sandbox"]) {
        push(&mut command, &["--dangerously-bypass-approvals-and-sandbox"]);
    }
    if let Some(model) = &given.agent.model {
        push(&mut command, &["-m", model]);
    }
    push(&mut command, &["-c", &server(given)]);
    command.extend(given.agent.args.iter().cloned());
    if let Some(resume) = given.resume {
        push(&mut command, &["resume", resume.session]);
    }
    push(&mut command, &["-"]);
    Start { command, ..Start::default() }
}

/// Names our MCP server. Without `required` it would go on without one, and the variables must be
/// named because it passes none on by itself; by name alone, no token stands in its arguments.
fn server(given: &Given<'_>) -> String {
    // Texts and lists of them are written as in JSON.
    let (program, variables) = (json!(given.program), json!(RUN_VARIABLES));
    format!(
        "mcp_servers.adjutant={{command={program},args=[\"mcp\"],required=true,\
         env_vars={variables}}}"
    )
}

pub(super) fn read(line: &Value) -> Vec<Heard> {
    match line["type"].as_str().unwrap_or_default() {
        "thread.started" => text(line, "thread_id").map(Heard::Session).into_iter().collect(),
        "turn.completed" => vec![Heard::Used(used(&line["usage"]))],
        "turn.failed" => text(&line["error"], "message").map(failed).into_iter().collect(),
        "error" => text(line, "message").map(failed).into_iter().collect(),
        "item.started" | "item.completed" | "item.updated" => item(&line["item"]),
        _ => vec![],
    }
}

fn item(item: &Value) -> Vec<Heard> {
    match item["type"].as_str().unwrap_or_default() {
        "error" => text(item, "message").map(Heard::Stumbled).into_iter().collect(),
        "agent_message" => {
            let said = text(item, "text").map(Heard::Words);
            [Heard::Works].into_iter().chain(said).collect()
        }
        "" => vec![],
        _ => vec![Heard::Works],
    }
}

/// Tells what an error means. Codex has words for it and nothing else.
fn failed(said: String) -> Heard {
    let lower = said.to_lowercase();
    let has = |any: &[&str]| any.iter().any(|one| lower.contains(one));
    if has(&["usage limit", "429 too many requests", "quota exceeded", "rate limit reached"]) {
        Heard::Limited { until: words::reset(&said), words: said }
    } else if has(&["401 unauthorized", "403 forbidden", "not logged in", "sign in again"]) {
        Heard::Unusable(said)
    } else {
        Heard::Stumbled(said)
    }
}

fn used(usage: &Value) -> Used {
    Used {
        input: number(usage, "input_tokens"),
        output: number(usage, "output_tokens"),
        cached: number(usage, "cached_input_tokens"),
        cost: 0,
    }
}
