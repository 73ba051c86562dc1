//! What the MCP server offers each kind of session: its tools, prompts and resources.

use std::fmt::Write as _;

use adjutant_test_support::golden::GoldenFolder;
use serde_json::{Value, json};

use super::project::GoldenProject;
use crate::cli::support::Live;

/// Asks a session for everything it offers.
fn offered(project: &GoldenProject, args: &[&str], variables: &[(String, String)]) -> String {
    let mut command = project.command(args);
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    let mut session = Live::start(&mut command);
    let client = json!({"name": "test", "version": "1"});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    let mut text = String::new();
    for (id, (method, params)) in [
        ("initialize", hello),
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
    ]
    .into_iter()
    .enumerate()
    {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        session.write(&request.to_string());
        let mut answer: Value = session.next();
        let answer =
            if answer["error"].is_object() { &mut answer["error"] } else { &mut answer["result"] };
        let _ = write!(text, "# {method}\n{:#}\n\n", answer.take());
        if method == "initialize" {
            session.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        }
    }
    assert_eq!(session.finish(), Some(0));
    text.truncate(text.len() - 1);
    project.masked(&text)
}

#[test]
fn mcp_offers_match_golden_files() {
    let project = GoldenProject::new();
    project.ok("task add 'Write the parser' --agent swe --status ready");
    project.fetch_task("swe");
    let run = project.run_environment("{1}", "swe", 1);
    let mut folder = GoldenFolder::new("mcp");
    folder.add("run.txt", offered(&project, &["mcp"], &run));
    folder.add("agent.txt", offered(&project, &["mcp", "--agent", "swe"], &[]));
    folder.add("operator.txt", offered(&project, &["mcp"], &[]));
    folder.check();
}
