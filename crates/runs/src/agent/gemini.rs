//! The adapter for Gemini CLI: `gemini --acp`, which speaks the Agent Client Protocol.

use serde_json::Value;

use super::adapter::{
    AdapterInput, AgentStreamEvent, LimitResetTime, SignInDetection, StartPlan, TestedVersions,
    json_text, push_args,
};
use super::{acp, output_text};

pub(super) const TESTED_VERSIONS: TestedVersions =
    TestedVersions { versions: &["0.61.0"], oldest: "0.50.0" };

/// Measured with an API key.
pub(super) const NEEDED_HOSTS: &[&str] = &["generativelanguage.googleapis.com"];

pub(super) const SIGN_IN_DETECTION: SignInDetection = SignInDetection {
    variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    files: &[".gemini/oauth_creds.json"],
};

pub(super) const PASSED_VARIABLES: &[&str] = &[
    "GEMINI_*",
    "GOOGLE_API_KEY",
    "GOOGLE_GEMINI_BASE_URL",
    "GOOGLE_GENAI_*",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_CLOUD_LOCATION",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "CODE_ASSIST_ENDPOINT",
];

pub(super) fn start(given: &AdapterInput<'_>) -> StartPlan {
    let mut command = given.command("gemini");
    push_args(&mut command, &["--acp"]);
    // In an untrusted folder Gemini would ignore Adjutant's MCP server.
    if !given.has_argument(&["--skip-trust"]) {
        push_args(&mut command, &["--skip-trust"]);
    }
    if let Some(model) = &given.agent.model {
        push_args(&mut command, &["--model", model]);
    }
    acp::start_over_acp(given, command)
}

/// Parses `Attempt 1 failed with status 429. Retrying with backoff... _ApiError: {…}`. Gemini
/// reports these errors only in its log.
pub(super) fn read_log(line: &str) -> Option<AgentStreamEvent> {
    let (_, said) = line.strip_prefix("Attempt ")?.split_once(" failed with status ")?;
    let (status, said) = said.split_once('.')?;
    let error = said.split_once('{').and_then(|(_, json)| {
        let json = format!("{{{json}");
        let value = serde_json::Deserializer::from_str(&json).into_iter::<Value>().next()?;
        value.ok().map(|value| value["error"].clone())
    });
    let error = error.unwrap_or_default();
    let words =
        json_text(&error, "message").map_or_else(String::new, |message| format!(": {message}"));
    let words = format!("status {status}{words}");
    Some(match status {
        "429" => AgentStreamEvent::LimitReached { until: retry_time(&error), words },
        _ => AgentStreamEvent::RecoverableError(words),
    })
}

/// Returns when to retry, from `{"retryDelay": "37s"}` in the error details.
fn retry_time(error: &Value) -> LimitResetTime {
    let mut details = error["details"].as_array().into_iter().flatten();
    let delay = details.find_map(|detail| json_text(detail, "retryDelay"));
    delay.map_or(LimitResetTime::Unknown, |delay| output_text::parse_delay(&delay))
}
