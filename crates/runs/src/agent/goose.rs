//! The adapter for goose: `goose run --output-format stream-json`.

use serde_json::Value;

use super::adapter::{
    AdapterInput, AgentStreamEvent, LimitResetTime, ModelUsage, SignInDetection, StartPlan,
    TestedVersions, json_number, json_text, push_args,
};
use super::output_text;

pub(super) const TESTED_VERSIONS: TestedVersions =
    TestedVersions { versions: &["1.52.0"], oldest: "1.20.0" };

pub(super) const SIGN_IN_DETECTION: SignInDetection = SignInDetection {
    variables: &["GOOSE_PROVIDER", "GOOSE_PROVIDER__TYPE"],
    files: &[".config/goose/config.yaml"],
};

/// Besides `PROVIDER_VARIABLES`, because goose can use any provider. It keeps keys in the keyring,
/// which it reaches over the session bus.
pub(super) const PASSED_VARIABLES: &[&str] =
    &["GOOSE_*", "DATABRICKS_HOST", "DATABRICKS_TOKEN", "DBUS_SESSION_BUS_ADDRESS"];

/// goose waits up to an hour if its provider says so, and reports that only in its log.
const ENVIRONMENT: [(&str, &str); 3] = [
    ("GOOSE_MODE", "auto"),
    ("OTEL_LOGS_EXPORTER", "console"),
    ("RUST_LOG", "goose_provider_types::retry=warn"),
];

pub(super) fn start(given: &AdapterInput<'_>) -> StartPlan {
    let mut command = given.command("goose");
    push_args(&mut command, &["run", "-q", "--output-format", "stream-json"]);
    // goose passes its whole environment to the MCP server. A resumed session already has the
    // server and refuses a second one.
    if given.resume.is_none() {
        let server = format!("adjutant:{} mcp", output_text::shell_quote(given.program));
        push_args(&mut command, &["--with-extension", &server]);
    }
    if let Some(model) = &given.agent.model {
        push_args(&mut command, &["--model", model]);
    }
    // goose does not report its session's name, so Adjutant chooses the name.
    let session = given.resume.map_or(given.name, |resume| resume.session).to_owned();
    if given.resume.is_some() {
        push_args(&mut command, &["--resume"]);
    }
    push_args(&mut command, &["--name", &session]);
    command.extend(given.agent.args.iter().cloned());
    push_args(&mut command, &["-i", "-"]);
    StartPlan {
        command,
        environment: ENVIRONMENT.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        session: Some(session),
        ..StartPlan::default()
    }
}

pub(super) fn read(line: &Value) -> Vec<AgentStreamEvent> {
    match line["type"].as_str().unwrap_or_default() {
        "message" => message(&line["message"]),
        "error" => json_text(line, "error").map(classify_error).into_iter().collect(),
        "complete" => vec![AgentStreamEvent::TotalUsage(ModelUsage {
            input: json_number(line, "input_tokens"),
            output: json_number(line, "output_tokens"),
            cached: json_number(line, "cache_read_input_tokens"),
            cost: 0,
        })],
        _ => vec![],
    }
}

fn message(message: &Value) -> Vec<AgentStreamEvent> {
    let parts = message["content"].as_array().into_iter().flatten();
    let errors = parts.filter(|part| part["type"] == "error");
    let mut events: Vec<AgentStreamEvent> =
        errors.filter_map(|part| Some(error(part, json_text(part, "message")?))).collect();
    if message["role"] == "assistant" && events.is_empty() {
        let said = output_text::content_text(&message["content"]);
        // goose reports a provider error as an assistant message that lacks `inference` metadata.
        let made_up = message["metadata"].get("inference").is_none();
        if made_up && said.contains("error") {
            return vec![classify_error(said)];
        }
        events.push(AgentStreamEvent::ModelAnswered);
        events.extend((!said.is_empty()).then_some(AgentStreamEvent::Message(said)));
    }
    events
}

fn error(part: &Value, said: String) -> AgentStreamEvent {
    match part["kind"].as_str().unwrap_or_default() {
        "authentication" => AgentStreamEvent::SignInRejected(said),
        "rate_limit" | "rate_limited" | "credits_exhausted" => AgentStreamEvent::LimitReached {
            until: output_text::parse_limit_end(&said),
            words: said,
        },
        _ => classify_error(said),
    }
}

fn classify_error(said: String) -> AgentStreamEvent {
    let lower = said.to_lowercase();
    if lower.contains("authentication error") {
        AgentStreamEvent::SignInRejected(said)
    } else if lower.contains("rate limit") || lower.contains("429 too many requests") {
        AgentStreamEvent::LimitReached { until: output_text::parse_limit_end(&said), words: said }
    } else {
        AgentStreamEvent::RecoverableError(said)
    }
}

/// Parses `Body: String(Owned("Request failed, retrying (1/3): RateLimitExceeded { details: \"…\",
/// retry_delay: Some(3600s) }"))`, a line of the exported log.
pub(super) fn read_log(line: &str) -> Option<AgentStreamEvent> {
    let (_, said) = line.strip_prefix("Body: ")?.split_once("Request failed, retrying ")?;
    let (_, said) = said.split_once(": ")?;
    let said = said.trim_end_matches(['"', ')']).replace("\\\"", "\"");
    let Some(limit) = said.strip_prefix("RateLimitExceeded ") else {
        return Some(AgentStreamEvent::RecoverableError(said));
    };
    let within = |start, end| Some(limit.split_once(start)?.1.split_once(end)?.0);
    let said = within("details: \"", "\", retry_delay").unwrap_or(limit);
    let until =
        within("retry_delay: Some(", ")").map_or(LimitResetTime::Unknown, output_text::parse_delay);
    Some(AgentStreamEvent::LimitReached { until, words: format!("Rate limit exceeded: {said}") })
}
