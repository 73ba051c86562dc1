//! The adapter for Claude Code: `claude -p`, which prints a stream of JSON.

use serde_json::{Value, json};

use super::adapter::{
    AdapterInput, AgentStreamEvent, LimitResetTime, ModelUsage, SignInDetection, StartPlan,
    TestedVersions, json_number, json_text, push_args,
};
use super::output_text;

pub(super) const TESTED_VERSIONS: TestedVersions =
    TestedVersions { versions: &["2.1.325"], oldest: "2.0.0" };

/// Measured with an API key.
pub(super) const NEEDED_HOSTS: &[&str] = &["api.anthropic.com"];

pub(super) const SIGN_IN_DETECTION: SignInDetection = SignInDetection {
    variables: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
    files: &[".claude/.credentials.json"],
};

/// Keys of clouds are not passed: `env_pass = ["AWS_*"]` does so for Bedrock.
pub(super) const PASSED_VARIABLES: &[&str] = &[
    "ANTHROPIC_*",
    "CLAUDE_*",
    "CLOUD_ML_REGION",
    "VERTEX_REGION_*",
    "DISABLE_*",
    "ENABLE_TOOL_SEARCH",
    "BASH_DEFAULT_TIMEOUT_MS",
    "BASH_MAX_TIMEOUT_MS",
    "BASH_MAX_OUTPUT_LENGTH",
    "MCP_TIMEOUT",
    "MCP_TOOL_TIMEOUT",
    "MAX_THINKING_TOKENS",
    "MAX_MCP_OUTPUT_TOKENS",
    "DO_NOT_TRACK",
    "IS_SANDBOX",
];

/// The tools allowed without a prompt, because no person is there to answer one.
const ALLOWED_TOOLS: &str = "Bash,Edit,Write,NotebookEdit,mcp__adjutant";

pub(super) fn start(given: &AdapterInput<'_>) -> StartPlan {
    let mut command = given.command("claude");
    push_args(&mut command, &["-p", "--output-format", "stream-json", "--verbose"]);
    push_args(
        &mut command,
        &["--mcp-config", &given.attempt_file("mcp.json"), "--strict-mcp-config"],
    );
    // Claude refuses to skip permissions when it runs as root, so the tools are allowed one by one.
    if !given.has_argument(&["--permission-mode", "--dangerously-skip-permissions"]) {
        push_args(&mut command, &["--permission-mode", "dontAsk"]);
    }
    if !given.has_argument(&["--allowedTools", "--allowed-tools"]) {
        push_args(&mut command, &["--allowedTools", ALLOWED_TOOLS]);
    }
    if let Some(model) = &given.agent.model {
        push_args(&mut command, &["--model", model]);
    }
    // Claude reports its cost only at the end, so it must enforce the cost limit itself.
    if let Some(cost) = given.cost {
        push_args(&mut command, &["--max-budget-usd", &output_text::format_dollars(cost)]);
    }
    if let Some(resume) = given.resume {
        push_args(&mut command, &["--resume", resume.session]);
    }
    command.extend(given.agent.args.iter().cloned());
    let server = given.mcp_server_config(|name| format!("${{{name}}}"));
    let paper = format!("{:#}\n", json!({"mcpServers": {"adjutant": server}}));
    StartPlan {
        command,
        environment: [("DISABLE_AUTOUPDATER".to_owned(), "1".to_owned())].into(),
        files: vec![("mcp.json".to_owned(), paper)],
        ..StartPlan::default()
    }
}

pub(super) fn read(line: &Value) -> Vec<AgentStreamEvent> {
    match line["type"].as_str().unwrap_or_default() {
        "system" => system(line),
        "assistant" => assistant(line),
        "rate_limit_event" => rate_limit(&line["rate_limit_info"]),
        "result" => result(line),
        _ => vec![],
    }
}

fn system(line: &Value) -> Vec<AgentStreamEvent> {
    match line["subtype"].as_str().unwrap_or_default() {
        "init" => init(line),
        "api_retry" => match line["error_status"].as_u64() {
            Some(401 | 403) => {
                vec![AgentStreamEvent::SignInRejected(output_text::text_or(
                    json_text(line, "error"),
                    "it is not signed in",
                ))]
            }
            Some(429) => vec![AgentStreamEvent::LimitReached {
                until: LimitResetTime::Unknown,
                words: output_text::text_or(json_text(line, "error"), "too many requests"),
            }],
            _ => vec![],
        },
        "permission_denied" => {
            let tool = output_text::text_or(json_text(line, "tool_name"), "a tool");
            vec![AgentStreamEvent::ToolDenied(tool)]
        }
        _ => vec![],
    }
}

fn init(line: &Value) -> Vec<AgentStreamEvent> {
    let mut events = Vec::new();
    events.extend(json_text(line, "session_id").map(AgentStreamEvent::Session));
    events.extend(json_text(line, "claude_code_version").map(AgentStreamEvent::Version));
    let servers = line["mcp_servers"].as_array().into_iter().flatten();
    let ours = servers.into_iter().find(|server| server["name"] == "adjutant");
    // A server that is still connecting may be ready in a moment.
    match ours.and_then(|server| server["status"].as_str()) {
        Some("connected" | "pending") => {}
        Some(status) => {
            events.push(AgentStreamEvent::McpServerFailed(format!("its status is {status:?}")));
        }
        None => {
            events
                .push(AgentStreamEvent::McpServerFailed("it does not list the server".to_owned()));
        }
    }
    events
}

fn assistant(line: &Value) -> Vec<AgentStreamEvent> {
    let message = &line["message"];
    if line["is_api_error_message"] == true || line.get("error").is_some_and(Value::is_string) {
        return classify_error(line, &output_text::content_text(&message["content"]));
    }
    let mut events = vec![AgentStreamEvent::ModelAnswered];
    if let Some(id) = json_text(message, "id") {
        events.push(AgentStreamEvent::ModelCall { id, used: used(&message["usage"]) });
    }
    let said = output_text::content_text(&message["content"]);
    events.extend((!said.is_empty()).then_some(AgentStreamEvent::Message(said)));
    events
}

/// Classifies an error of the model's API.
fn classify_error(line: &Value, said: &str) -> Vec<AgentStreamEvent> {
    let status = line["api_error_status"].as_u64();
    let said = said.to_owned();
    vec![match (status, line["error"].as_str()) {
        (Some(401 | 403), _) | (_, Some("authentication_failed" | "oauth_org_not_allowed")) => {
            AgentStreamEvent::SignInRejected(said)
        }
        (_, Some("billing_error")) => AgentStreamEvent::SignInRejected(said),
        (Some(429), _) | (_, Some("rate_limit")) => AgentStreamEvent::LimitReached {
            until: output_text::parse_limit_end(&said),
            words: said,
        },
        _ => AgentStreamEvent::RecoverableError(said),
    }]
}

fn rate_limit(info: &Value) -> Vec<AgentStreamEvent> {
    if info["status"] != "rejected" || info["isUsingOverage"] == true {
        return vec![];
    }
    let kind =
        json_text(info, "rateLimitType").map_or_else(String::new, |kind| format!(" ({kind})"));
    vec![AgentStreamEvent::LimitReached {
        until: info["resetsAt"].as_i64().map_or(LimitResetTime::Unknown, LimitResetTime::At),
        words: format!("it has reached its usage limit{kind}"),
    }]
}

/// Parses the last event. `subtype` can be `success` although `is_error` is set.
fn result(line: &Value) -> Vec<AgentStreamEvent> {
    let mut events = Vec::new();
    let cost = line["total_cost_usd"].as_f64().map_or(0, output_text::to_micro_dollars);
    events.push(AgentStreamEvent::TotalUsage(ModelUsage { cost, ..used(&line["usage"]) }));
    let said = json_text(line, "result");
    let subtype = line["subtype"].as_str().unwrap_or_default();
    if line["is_error"] == true && line["api_error_status"].is_u64() {
        events
            .extend(classify_error(line, &output_text::text_or(said, "error of the model's API")));
    } else if line["is_error"] == true || subtype != "success" {
        let errors = line["errors"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let errors = errors.collect::<Vec<_>>().join("; ");
        events.push(AgentStreamEvent::RecoverableError(output_text::text_or(
            said,
            &format!("{subtype}: {errors}"),
        )));
    } else {
        events.extend(said.map(AgentStreamEvent::Message));
    }
    events
}

fn used(usage: &Value) -> ModelUsage {
    let cached = json_number(usage, "cache_read_input_tokens");
    let written = json_number(usage, "cache_creation_input_tokens");
    ModelUsage {
        input: json_number(usage, "input_tokens").saturating_add(cached).saturating_add(written),
        output: json_number(usage, "output_tokens"),
        cached,
        cost: 0,
    }
}
