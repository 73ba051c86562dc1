//! The adapter for Codex: `codex exec --json`, which prints a stream of JSON.

use serde_json::{Value, json};

use super::adapter::{
    AdapterInput, AgentStreamEvent, ModelUsage, RUN_VARIABLES, SignInDetection, StartPlan,
    TestedVersions, json_number, json_text, push_args,
};
use super::output_text;

pub(super) const TESTED_VERSIONS: TestedVersions =
    TestedVersions { versions: &["0.166.0"], oldest: "0.100.0" };

/// The API, and the account that a key belongs to.
pub(super) const NEEDED_HOSTS: &[&str] = &["api.openai.com", "chatgpt.com"];

pub(super) const SIGN_IN_DETECTION: SignInDetection = SignInDetection {
    variables: &["OPENAI_API_KEY", "CODEX_API_KEY"],
    files: &[".codex/auth.json"],
};

pub(super) const PASSED_VARIABLES: &[&str] =
    &["OPENAI_*", "CODEX_*", "AZURE_OPENAI_API_KEY", "RUST_LOG"];

pub(super) fn start(given: &AdapterInput<'_>) -> StartPlan {
    let mut command = given.command("codex");
    push_args(&mut command, &["exec", "--json", "--skip-git-repo-check"]);
    // No person is there to approve anything, and Codex's own sandbox would stop it from committing
    // in a worktree.
    if !given.has_argument(&["-s", "--sandbox", "--dangerously-bypass-approvals-and-sandbox"]) {
        push_args(&mut command, &["--dangerously-bypass-approvals-and-sandbox"]);
    }
    if let Some(model) = &given.agent.model {
        push_args(&mut command, &["-m", model]);
    }
    push_args(&mut command, &["-c", &mcp_server_setting(given)]);
    command.extend(given.agent.args.iter().cloned());
    if let Some(resume) = given.resume {
        push_args(&mut command, &["resume", resume.session]);
    }
    push_args(&mut command, &["-"]);
    StartPlan { command, ..StartPlan::default() }
}

/// Configures Adjutant's MCP server. Without `required` Codex would continue without the server.
/// Codex passes no variables on by default, so they are listed; listing only the names keeps the
/// token out of the arguments.
fn mcp_server_setting(given: &AdapterInput<'_>) -> String {
    // TOML writes strings and lists of strings like JSON.
    let (program, variables) = (json!(given.program), json!(RUN_VARIABLES));
    format!(
        "mcp_servers.adjutant={{command={program},args=[\"mcp\"],required=true,\
         env_vars={variables}}}"
    )
}

pub(super) fn read(line: &Value) -> Vec<AgentStreamEvent> {
    match line["type"].as_str().unwrap_or_default() {
        "thread.started" => {
            json_text(line, "thread_id").map(AgentStreamEvent::Session).into_iter().collect()
        }
        "turn.completed" => vec![AgentStreamEvent::TotalUsage(used(&line["usage"]))],
        "turn.failed" => {
            json_text(&line["error"], "message").map(classify_error).into_iter().collect()
        }
        "error" => json_text(line, "message").map(classify_error).into_iter().collect(),
        "item.started" | "item.completed" | "item.updated" => item(&line["item"]),
        _ => vec![],
    }
}

fn item(item: &Value) -> Vec<AgentStreamEvent> {
    match item["type"].as_str().unwrap_or_default() {
        "error" => {
            json_text(item, "message").map(AgentStreamEvent::RecoverableError).into_iter().collect()
        }
        "agent_message" => {
            let said = json_text(item, "text").map(AgentStreamEvent::Message);
            [AgentStreamEvent::ModelAnswered].into_iter().chain(said).collect()
        }
        "" => vec![],
        _ => vec![AgentStreamEvent::ModelAnswered],
    }
}

/// Classifies an error by its text, because Codex gives no error codes.
fn classify_error(said: String) -> AgentStreamEvent {
    let lower = said.to_lowercase();
    let has = |any: &[&str]| any.iter().any(|one| lower.contains(one));
    if has(&["usage limit", "429 too many requests", "quota exceeded", "rate limit reached"]) {
        AgentStreamEvent::LimitReached { until: output_text::parse_limit_end(&said), words: said }
    } else if has(&["401 unauthorized", "403 forbidden", "not logged in", "sign in again"]) {
        AgentStreamEvent::SignInRejected(said)
    } else {
        AgentStreamEvent::RecoverableError(said)
    }
}

fn used(usage: &Value) -> ModelUsage {
    ModelUsage {
        input: json_number(usage, "input_tokens"),
        output: json_number(usage, "output_tokens"),
        cached: json_number(usage, "cached_input_tokens"),
        cost: 0,
    }
}
