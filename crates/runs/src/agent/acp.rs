//! The adapter for any agent that speaks the Agent Client Protocol. `adjutant acp-agent` speaks the
//! protocol in a separate process and prints its events as JSON lines.

use adjutant_run_files::shim_spec::StopTarget;
use serde_json::{Value, json};

use super::adapter::{
    AdapterInput, AgentStreamEvent, ModelUsage, StartPlan, json_number, json_text, push_args,
};
use super::output_text;

/// The file that tells `adjutant acp-agent` which command to start and what the agent may do.
pub const ACP_CONFIG_FILE: &str = "acp.json";

/// Besides `PROVIDER_VARIABLES`: what the programs need that are known to speak the protocol
/// (Claude, Codex, goose, Copilot, Qwen, Kimi, Kilo, Vibe, `OpenHands`). Another program names its
/// variables in `env_pass`.
pub(super) const PASSED_VARIABLES: &[&str] = &[
    "ACP_*",
    "CLAUDE_*",
    "CODEX_*",
    "GOOSE_*",
    "OPENCODE_*",
    "COPILOT_*",
    "QWEN_*",
    "DASHSCOPE_API_KEY",
    "KIMI_*",
    "MOONSHOT_API_KEY",
    "KILO_*",
    "VIBE_*",
    "OPENHANDS_*",
    "LLM_*",
    "GOOGLE_GEMINI_BASE_URL",
];

pub(super) fn start(given: &AdapterInput<'_>) -> StartPlan {
    start_over_acp(given, given.agent.command.clone())
}

/// Starts `adjutant acp-agent`, which runs the command `agent` and speaks ACP to it.
pub(super) fn start_over_acp(given: &AdapterInput<'_>, mut agent: Vec<String>) -> StartPlan {
    agent.extend(given.agent.args.iter().cloned());
    let table = given.agent.permission_table();
    let rule = |rule: &adjutant_model::permission::PermissionRule| {
        json!({
            "tool": rule.tool.map(adjutant_model::permission::ToolKind::as_str),
            "title": rule.title,
            "command": rule.command,
            "path": rule.path,
            "server": rule.server,
            "unseen": rule.unseen,
            "answer": rule.ruling.as_str(),
        })
    };
    let paper = json!({
        "command": agent,
        "resume": given.resume.map(|resume| json!({"session": resume.session, "anew": resume.full_order})),
        "graceMs": given.grace_ms,
        "permissions": table.rules.iter().map(rule).collect::<Vec<_>>(),
        "otherwise": table.otherwise.as_str(),
    });
    let mut command = vec![given.program.to_owned()];
    push_args(&mut command, &["acp-agent", &given.attempt_file(ACP_CONFIG_FILE)]);
    StartPlan {
        command,
        files: vec![(ACP_CONFIG_FILE.to_owned(), format!("{paper:#}\n"))],
        // `adjutant acp-agent` cancels the agent's turn before it asks the agent to terminate.
        terminate_scope: StopTarget::Agent,
        ..StartPlan::default()
    }
}

pub(super) fn read(line: &Value) -> Vec<AgentStreamEvent> {
    match line["type"].as_str().unwrap_or_default() {
        "agent" => json_text(line, "version").map(AgentStreamEvent::Version).into_iter().collect(),
        // A session that cannot be resumed is not worth recording.
        "session" if line["canGoOn"] == true => {
            json_text(line, "id").map(AgentStreamEvent::Session).into_iter().collect()
        }
        "message" => {
            let said = json_text(line, "text").map(AgentStreamEvent::Message);
            [AgentStreamEvent::ModelAnswered].into_iter().chain(said).collect()
        }
        "thought" => vec![AgentStreamEvent::ModelAnswered],
        "update" => update(&line["update"]),
        "usage" => vec![AgentStreamEvent::TotalUsage(used(&line["usage"]))],
        "permission" if line["answer"] == "denied" => {
            vec![AgentStreamEvent::ToolDenied(output_text::text_or(
                json_text(line, "text"),
                "a tool",
            ))]
        }
        "error" => error(line),
        _ => vec![],
    }
}

fn update(update: &Value) -> Vec<AgentStreamEvent> {
    match update["sessionUpdate"].as_str().unwrap_or_default() {
        "tool_call" | "tool_call_update" | "plan" => vec![AgentStreamEvent::ModelAnswered],
        // The tokens in this update are the current context size, not usage; only the cost
        // is a total.
        "usage_update" if update["cost"]["currency"] == "USD" => {
            let cost = update["cost"]["amount"].as_f64().map_or(0, output_text::to_micro_dollars);
            vec![AgentStreamEvent::TotalUsage(ModelUsage { cost, ..ModelUsage::default() })]
        }
        _ => vec![],
    }
}

/// Input is all tokens that are not output, because some agents count cached tokens separately.
fn used(usage: &Value) -> ModelUsage {
    let output = json_number(usage, "outputTokens");
    let rest = json_number(usage, "totalTokens").saturating_sub(output);
    ModelUsage {
        input: json_number(usage, "inputTokens").max(rest),
        output,
        cached: json_number(usage, "cachedReadTokens"),
        cost: 0,
    }
}

fn error(line: &Value) -> Vec<AgentStreamEvent> {
    let said = output_text::text_or(json_text(line, "message"), "unknown error");
    match line["kind"].as_str().unwrap_or_default() {
        "stopped" => vec![],
        "sign_in" => vec![AgentStreamEvent::SignInRejected(said)],
        _ => vec![classify_error(said)],
    }
}

/// Classifies an error by its text. Only "not signed in" has an error code in the protocol.
pub(super) fn classify_error(said: String) -> AgentStreamEvent {
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
        AgentStreamEvent::LimitReached { until: output_text::parse_limit_end(&said), words: said }
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
        AgentStreamEvent::SignInRejected(said)
    } else {
        AgentStreamEvent::RecoverableError(said)
    }
}
