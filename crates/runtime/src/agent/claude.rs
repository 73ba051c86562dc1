//! Claude Code: `claude -p`, which prints a stream of JSON.

use serde_json::{Value, json};

use super::adapter::{Given, Heard, SignedIn, Start, Tried, Until, Used, number, push, text};
use super::words;

pub(super) const TRIED: Tried = Tried { versions: &["2.1.325"], oldest: "2.0.0" };

pub(super) const SIGNED_IN: SignedIn = SignedIn {
    variables: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
    files: &[".claude/.credentials.json"],
};

/// What it may do without asking, as nobody is there to ask.
const ALLOWED: &str = "Bash,Edit,Write,NotebookEdit,mcp__adjutant";

pub(super) fn start(given: &Given<'_>) -> Start {
    let mut command = given.command("claude");
    push(&mut command, &["-p", "--output-format", "stream-json", "--verbose"]);
    push(&mut command, &["--mcp-config", &given.paper("mcp.json"), "--strict-mcp-config"]);
    // As root it refuses to skip permissions, so that they are given one by one.
    if !given.says(&["--permission-mode", "--dangerously-skip-permissions"]) {
        push(&mut command, &["--permission-mode", "dontAsk"]);
    }
    if !given.says(&["--allowedTools", "--allowed-tools"]) {
        push(&mut command, &["--allowedTools", ALLOWED]);
    }
    if let Some(model) = &given.agent.model {
        push(&mut command, &["--model", model]);
    }
    // It tells its cost at the end only, so that it has to look after it itself.
    if let Some(cost) = given.cost {
        push(&mut command, &["--max-budget-usd", &words::plain_dollars(cost)]);
    }
    if let Some(resume) = given.resume {
        push(&mut command, &["--resume", resume.session]);
    }
    command.extend(given.agent.args.iter().cloned());
    let server = given.server(|name| format!("${{{name}}}"));
    let paper = format!("{:#}\n", json!({"mcpServers": {"adjutant": server}}));
    Start {
        command,
        environment: [("DISABLE_AUTOUPDATER".to_owned(), "1".to_owned())].into(),
        papers: vec![("mcp.json".to_owned(), paper)],
        ..Start::default()
    }
}

pub(super) fn read(line: &Value) -> Vec<Heard> {
    match line["type"].as_str().unwrap_or_default() {
        "system" => system(line),
        "assistant" => assistant(line),
        "rate_limit_event" => rate_limit(&line["rate_limit_info"]),
        "result" => result(line),
        _ => vec![],
    }
}

fn system(line: &Value) -> Vec<Heard> {
    match line["subtype"].as_str().unwrap_or_default() {
        "init" => init(line),
        "api_retry" => match line["error_status"].as_u64() {
            Some(401 | 403) => {
                vec![Heard::Unusable(words::or(text(line, "error"), "it is not signed in"))]
            }
            Some(429) => vec![Heard::Limited {
                until: Until::Unknown,
                words: words::or(text(line, "error"), "too many requests"),
            }],
            _ => vec![],
        },
        "permission_denied" => {
            let tool = words::or(text(line, "tool_name"), "a tool");
            vec![Heard::Denied(tool)]
        }
        _ => vec![],
    }
}

fn init(line: &Value) -> Vec<Heard> {
    let mut heard = Vec::new();
    heard.extend(text(line, "session_id").map(Heard::Session));
    heard.extend(text(line, "claude_code_version").map(Heard::Version));
    let servers = line["mcp_servers"].as_array().into_iter().flatten();
    let ours = servers.into_iter().find(|server| server["name"] == "adjutant");
    // One that is still connecting may be there in a moment.
    match ours.and_then(|server| server["status"].as_str()) {
        Some("connected" | "pending") => {}
        Some(status) => heard.push(Heard::NoServer(format!("its status is {status:?}"))),
        None => heard.push(Heard::NoServer("it knows of no such server".to_owned())),
    }
    heard
}

fn assistant(line: &Value) -> Vec<Heard> {
    let message = &line["message"];
    if line["is_api_error_message"] == true || line.get("error").is_some_and(Value::is_string) {
        return failed(line, &words::of_content(&message["content"]));
    }
    let mut heard = vec![Heard::Works];
    if let Some(id) = text(message, "id") {
        heard.push(Heard::Call { id, used: used(&message["usage"]) });
    }
    let said = words::of_content(&message["content"]);
    heard.extend((!said.is_empty()).then_some(Heard::Words(said)));
    heard
}

/// Tells what an error of the model's API means.
fn failed(line: &Value, said: &str) -> Vec<Heard> {
    let status = line["api_error_status"].as_u64();
    let said = said.to_owned();
    vec![match (status, line["error"].as_str()) {
        (Some(401 | 403), _) | (_, Some("authentication_failed" | "oauth_org_not_allowed")) => {
            Heard::Unusable(said)
        }
        (_, Some("billing_error")) => Heard::Unusable(said),
        (Some(429), _) | (_, Some("rate_limit")) => {
            Heard::Limited { until: words::reset(&said), words: said }
        }
        _ => Heard::Stumbled(said),
    }]
}

fn rate_limit(info: &Value) -> Vec<Heard> {
    if info["status"] != "rejected" || info["isUsingOverage"] == true {
        return vec![];
    }
    let kind = text(info, "rateLimitType").map_or_else(String::new, |kind| format!(" ({kind})"));
    vec![Heard::Limited {
        until: info["resetsAt"].as_i64().map_or(Until::Unknown, Until::At),
        words: format!("its usage limit is reached{kind}"),
    }]
}

/// The last event. `subtype` may be `success` while `is_error` says that it is none.
fn result(line: &Value) -> Vec<Heard> {
    let mut heard = Vec::new();
    let cost = line["total_cost_usd"].as_f64().map_or(0, words::millionths);
    heard.push(Heard::Used(Used { cost, ..used(&line["usage"]) }));
    let said = text(line, "result");
    let subtype = line["subtype"].as_str().unwrap_or_default();
    if line["is_error"] == true && line["api_error_status"].is_u64() {
        heard.extend(failed(line, &words::or(said, "an error of the model's API")));
    } else if line["is_error"] == true || subtype != "success" {
        let errors = line["errors"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let errors = errors.collect::<Vec<_>>().join("; ");
        heard.push(Heard::Stumbled(words::or(said, &format!("{subtype}: {errors}"))));
    } else {
        heard.extend(said.map(Heard::Words));
    }
    heard
}

fn used(usage: &Value) -> Used {
    let cached = number(usage, "cache_read_input_tokens");
    let written = number(usage, "cache_creation_input_tokens");
    Used {
        input: number(usage, "input_tokens").saturating_add(cached).saturating_add(written),
        output: number(usage, "output_tokens"),
        cached,
        cost: 0,
    }
}
