//! Gemini CLI: `gemini --acp`, which speaks the Agent Client Protocol.

use serde_json::Value;

use super::acp;
use super::adapter::{Given, Heard, SignedIn, Start, Tried, Until, push, text};
use super::words;

pub(super) const TRIED: Tried = Tried { versions: &["0.61.0"], oldest: "0.50.0" };

pub(super) const SIGNED_IN: SignedIn = SignedIn {
    variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    files: &[".gemini/oauth_creds.json"],
};

pub(super) fn start(given: &Given<'_>) -> Start {
    let mut command = given.command("gemini");
    push(&mut command, &["--acp"]);
    // In a folder that nobody has looked at it would leave out our MCP server.
    if !given.says(&["--skip-trust"]) {
        push(&mut command, &["--skip-trust"]);
    }
    if let Some(model) = &given.agent.model {
        push(&mut command, &["--model", model]);
    }
    acp::over(given, command)
}

/// Reads `Attempt 1 failed with status 429. Retrying with backoff... _ApiError: {…}`, which it says
/// nowhere else.
pub(super) fn read_log(line: &str) -> Option<Heard> {
    let (_, said) = line.strip_prefix("Attempt ")?.split_once(" failed with status ")?;
    let (status, said) = said.split_once('.')?;
    let error = said.split_once('{').and_then(|(_, json)| {
        let json = format!("{{{json}");
        let value = serde_json::Deserializer::from_str(&json).into_iter::<Value>().next()?;
        value.ok().map(|value| value["error"].clone())
    });
    let error = error.unwrap_or_default();
    let words = text(&error, "message").map_or_else(String::new, |message| format!(": {message}"));
    let words = format!("status {status}{words}");
    Some(match status {
        "429" => Heard::Limited { until: until(&error), words },
        _ => Heard::Stumbled(words),
    })
}

/// Returns when to come back, as its server has it: `{"retryDelay": "37s"}` among the details.
fn until(error: &Value) -> Until {
    let mut details = error["details"].as_array().into_iter().flatten();
    let delay = details.find_map(|detail| text(detail, "retryDelay"));
    delay.map_or(Until::Unknown, |delay| words::after(&delay))
}
