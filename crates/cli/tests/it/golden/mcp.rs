//! Golden files of what the MCP server offers to each kind of session, and of its tools' answers.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use adjutant_test_support::golden::GoldenFolder;
use serde_json::{Value, json};

use super::mcp_session::McpSession;
use super::project::GoldenProject;
use super::transcript::indented;

/// The list requests of the protocol.
const LISTS: [&str; 4] =
    ["tools/list", "prompts/list", "resources/list", "resources/templates/list"];

/// Returns everything that the server offers to a session.
fn offered(project: &GoldenProject, session: &mut McpSession) -> String {
    let mut text = format!("# initialize\n{:#}\n", session.hello());
    for method in LISTS {
        let _ = write!(text, "\n# {method}\n{:#}\n", session.ask(method, &json!({})));
    }
    project.masked(&text)
}

/// Calls tools and returns their answers. Every tool of the session must be called.
fn called(
    project: &GoldenProject,
    session: &mut McpSession,
    calls: &[(&str, &str, Value)],
) -> String {
    let mut text = String::new();
    for (note, tool, arguments) in calls {
        let arguments = super::project::with_ids(&arguments.to_string());
        let parsed: Value = serde_json::from_str(&arguments).expect("JSON");
        let answer = session.call(tool, &parsed);
        let _ = writeln!(text, "# {note}\n> {tool} {arguments}");
        if answer["isError"] == true {
            text.push_str("[error]\n");
        }
        let said =
            answer["content"][0]["text"].as_str().map_or(format!("{answer:#}"), str::to_owned);
        let _ = writeln!(text, "{}", indented(&format!("{said}\n")));
    }
    let named: BTreeSet<&str> = calls.iter().map(|(_, tool, _)| *tool).collect();
    for tool in session.ask("tools/list", &json!({}))["tools"].as_array().expect("a list") {
        let name = tool["name"].as_str().expect("a name");
        assert!(named.contains(name), "the tool {name} has no call in golden/mcp.rs");
    }
    text.pop();
    project.masked(&text)
}

#[test]
fn mcp_offers_and_answers_match_golden_files() {
    let mut folder = GoldenFolder::new("mcp");
    let project = GoldenProject::new();
    let mut agent = McpSession::start(&project, &["--agent", "swe"], &[]);
    project.ok("task add 'Write the parser' --agent swe --status ready");
    project.fetch_task("swe");
    folder.add("agent.txt", offered(&project, &mut agent));
    agent.finish();
    let variables = project.run_environment("{1}", "swe", 1);
    let mut run = McpSession::start(&project, &[], &variables);
    folder.add("run.txt", offered(&project, &mut run));
    folder.add("run-calls.txt", called(&project, &mut run, &run_calls()));
    run.finish();
    let mut operator = McpSession::start(&project, &[], &[]);
    folder.add("operator.txt", offered(&project, &mut operator));
    folder.add("operator-calls.txt", called(&project, &mut operator, &operator_calls()));
    operator.finish();
    let project = GoldenProject::new();
    let mut agent = McpSession::start(&project, &["--agent", "swe"], &[]);
    folder.add("agent-calls.txt", agent_calls(&project, &mut agent));
    agent.finish();
    folder.check();
}

/// Calls the tools of an agent that fetches its own work.
fn agent_calls(project: &GoldenProject, session: &mut McpSession) -> String {
    let nothing = session.call("next_task", &json!({}));
    for title in ["One", "Two", "Three", "Four"] {
        project.ok(&format!("task add {title} --agent swe --status ready"));
    }
    let first = format!("# nothing to do\n> next_task {{}}\n{nothing:#}\n\n");
    let calls = [
        ("no task yet", "task_context", json!({})),
        ("a task", "next_task", json!({})),
        ("the task", "task_context", json!({})),
        ("progress", "report_progress", json!({"progress": "half of it", "notes": "Goes well."})),
        ("no argument", "report_progress", json!({})),
        ("a part for another agent", "handoff", json!({"to": "qa", "objective": "Test it"})),
        ("a path out of the project", "handoff", {
            json!({"to": "qa", "objective": "x", "expected_outputs": ["../out"]})
        }),
        ("done", "complete", {
            json!({"summary": "All of it.", "tests": {"total": 3, "passed": 3, "failed": 0}})
        }),
        ("done already", "complete", json!({"summary": "All of it."})),
        ("the next task", "next_task", json!({})),
        ("blocked", "report_blocked", json!({"blockers": ["no key"]})),
        ("the next task", "next_task", json!({})),
        ("a question", "ask_human", {
            json!({"question": "Which grammar?", "suggestion": "The old one."})
        }),
        ("the next task", "next_task", json!({})),
        ("an update", "aof_task_update", json!({"taskId": "{4}", "progress": "a third"})),
        ("another task", "aof_task_complete", json!({"taskId": "{1}", "summary": "All of it."})),
        ("done", "aof_task_complete", json!({"taskId": "{4}", "summary": "All of it."})),
    ];
    first + &called(project, session, &calls)
}

/// Returns the tool calls of a run.
fn run_calls() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("the task", "task_context", json!({})),
        ("the same task", "next_task", json!({})),
        ("progress", "report_progress", json!({"progress": "half of it"})),
        ("an update", "aof_task_update", json!({"taskId": "{1}", "progress": "a third"})),
        ("another task", "aof_task_complete", json!({"taskId": "{9}"})),
        ("no agent to hand it to", "handoff", json!({"to": "", "objective": "Test it"})),
        ("no question", "ask_human", json!({})),
        ("an unknown outcome", "complete", json!({"summary": "x", "outcome": "fine"})),
        ("blocked", "report_blocked", json!({"blockers": ["no key"], "summary": "Half of it."})),
    ]
}

/// Returns the tool calls of an operator.
fn operator_calls() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("every field", "create", {
            json!({
                "title": "Paint", "body": "Blue.", "priority": "high", "agent": "painter",
                "tags": ["art"], "depends_on": ["{1}"], "parent": "{1}", "resource": "brush",
                "due": "2031-01-01T00:00:00Z", "review": false, "ready": true, "checks": ["true"],
            })
        }),
        ("no title", "create", json!({})),
        ("an unknown priority", "create", json!({"title": "x", "priority": "urgent"})),
        ("ready tasks", "list", json!({"status": ["ready"], "limit": 1})),
        ("a task", "show", json!({"id": "{2}"})),
        ("a task that is not there", "show", json!({"id": "{40}"})),
        ("a task that waits", "why", json!({"id": "{2}"})),
        ("the inbox", "inbox", json!({})),
        ("an answer", "answer", json!({"id": "{1}", "text": "The key is in the safe."})),
        ("not in review", "approve", json!({"id": "{1}", "note": "Fine."})),
        ("not in review", "reject", json!({"id": "{1}", "reason": "no"})),
        ("not stuck", "retry", json!({"id": "{1}"})),
        ("given up", "cancel", json!({"id": "{2}", "reason": "no paint"})),
        ("reopened", "reopen", json!({"id": "{2}", "reason": "new paint"})),
        ("a copy", "copy", json!({"id": "{2}"})),
        ("not a message", "send", json!({"message": "hello"})),
        ("a broken message", "send", json!({"message": "AOF/1 {"})),
    ]
}
