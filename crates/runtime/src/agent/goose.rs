//! goose: `goose run --output-format stream-json`.

use serde_json::Value;

use super::adapter::{Given, Heard, SignedIn, Start, Tried, Until, Used, number, push, text};
use super::words;

pub(super) const TRIED: Tried = Tried { versions: &["1.52.0"], oldest: "1.20.0" };

pub(super) const SIGNED_IN: SignedIn = SignedIn {
    variables: &["GOOSE_PROVIDER", "GOOSE_PROVIDER__TYPE"],
    files: &[".config/goose/config.yaml"],
};

/// It waits for an hour where its server says so, and tells that in its log only.
const ENVIRONMENT: [(&str, &str); 3] = [
    ("GOOSE_MODE", "auto"),
    ("OTEL_LOGS_EXPORTER", "console"),
    ("RUST_LOG", "goose_provider_types::retry=warn"),
];

pub(super) fn start(given: &Given<'_>) -> Start {
    let mut command = given.command("goose");
    push(&mut command, &["run", "-q", "--output-format", "stream-json"]);
    // It passes its whole environment on to what it starts. A session knows its servers, and will
    // not be told of one twice.
    if given.resume.is_none() {
        let server = format!("adjutant:{} mcp", words::quoted(given.program));
        push(&mut command, &["--with-extension", &server]);
    }
    if let Some(model) = &given.agent.model {
        push(&mut command, &["--model", model]);
    }
    // It does not tell what its session is called, so that it is told.
    let session = given.resume.map_or(given.name, |resume| resume.session).to_owned();
    if given.resume.is_some() {
        push(&mut command, &["--resume"]);
    }
    push(&mut command, &["--name", &session]);
    command.extend(given.agent.args.iter().cloned());
    push(&mut command, &["-i", "-"]);
    Start {
        command,
        environment: ENVIRONMENT.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        session: Some(session),
        ..Start::default()
    }
}

pub(super) fn read(line: &Value) -> Vec<Heard> {
    match line["type"].as_str().unwrap_or_default() {
        "message" => message(&line["message"]),
        "error" => text(line, "error").map(failed).into_iter().collect(),
        "complete" => vec![Heard::Used(Used {
            input: number(line, "input_tokens"),
            output: number(line, "output_tokens"),
            cached: number(line, "cache_read_input_tokens"),
            cost: 0,
        })],
        _ => vec![],
    }
}

fn message(message: &Value) -> Vec<Heard> {
    let parts = message["content"].as_array().into_iter().flatten();
    let errors = parts.filter(|part| part["type"] == "error");
    let mut heard: Vec<Heard> =
        errors.filter_map(|part| Some(error(part, text(part, "message")?))).collect();
    if message["role"] == "assistant" && heard.is_empty() {
        let said = words::of_content(&message["content"]);
        // An error of the server's comes in the words of the model, and from no model.
        let made_up = message["metadata"].get("inference").is_none();
        if made_up && said.contains("error") {
            return vec![failed(said)];
        }
        heard.push(Heard::Works);
        heard.extend((!said.is_empty()).then_some(Heard::Words(said)));
    }
    heard
}

fn error(part: &Value, said: String) -> Heard {
    match part["kind"].as_str().unwrap_or_default() {
        "authentication" => Heard::Unusable(said),
        "rate_limit" | "rate_limited" | "credits_exhausted" => {
            Heard::Limited { until: words::reset(&said), words: said }
        }
        _ => failed(said),
    }
}

fn failed(said: String) -> Heard {
    let lower = said.to_lowercase();
    if lower.contains("authentication error") {
        Heard::Unusable(said)
    } else if lower.contains("rate limit") || lower.contains("429 too many requests") {
        Heard::Limited { until: words::reset(&said), words: said }
    } else {
        Heard::Stumbled(said)
    }
}

/// Reads `Body: String(Owned("Request failed, retrying (1/3): RateLimitExceeded { details: \"…\",
/// retry_delay: Some(3600s) }"))`, a line of what it exports of its log.
pub(super) fn read_log(line: &str) -> Option<Heard> {
    let (_, said) = line.strip_prefix("Body: ")?.split_once("Request failed, retrying ")?;
    let (_, said) = said.split_once(": ")?;
    let said = said.trim_end_matches(['"', ')']).replace("\\\"", "\"");
    let Some(limit) = said.strip_prefix("RateLimitExceeded ") else {
        return Some(Heard::Stumbled(said));
    };
    let within = |start, end| Some(limit.split_once(start)?.1.split_once(end)?.0);
    let said = within("details: \"", "\", retry_delay").unwrap_or(limit);
    let until = within("retry_delay: Some(", ")").map_or(Until::Unknown, words::after);
    Some(Heard::Limited { until, words: format!("Rate limit exceeded: {said}") })
}
