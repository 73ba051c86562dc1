//! MCP over HTTP, in every version of the protocol and without sessions.

use serde_json::{Value, json};

use crate::http::project::{HttpProject, HttpReply, ListeningDaemon};

/// The protocol versions with an `initialize` handshake.
const VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

fn post(up: &ListeningDaemon, headers: &[(&str, &str)], body: &Value) -> HttpReply {
    let bearer = format!("Bearer {}", up.token);
    let mut all = vec![
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ];
    if !headers.iter().any(|(name, _)| *name == "Authorization") {
        all.push(("Authorization", &bearer));
    }
    all.extend_from_slice(headers);
    up.call_with("POST", "/mcp", &all, body.to_string().as_bytes())
}

fn result(reply: &HttpReply) -> Value {
    assert_eq!(reply.status, 200, "{reply:?}");
    let said = reply.json();
    assert!(said["result"].is_object(), "{said}");
    said["result"].clone()
}

fn call(name: &str, arguments: &Value) -> Value {
    let params = json!({"name": name, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params})
}

#[test]
fn mcp_versions_work_side_by_side_without_sessions() {
    let stage = HttpProject::new();
    let up = stage.up();
    for version in VERSIONS {
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
        let begun = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let reply = post(&up, &[], &begun);
        assert_eq!(result(&reply)["protocolVersion"], version);
        assert_eq!(reply.header("mcp-session-id"), None, "nothing is remembered");
        let header = [("MCP-Protocol-Version", version)];
        let noted = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(post(&up, &header, &noted).status, 202);
        let made = post(&up, &header, &call("create", &json!({"title": format!("By {version}")})));
        assert_eq!(result(&made)["structuredContent"]["result"], "applied");
    }
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    });
    let params = json!({"name": "list", "arguments": {}, "_meta": meta});
    let listed = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
    let header = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "list"),
    ];
    let tasks = result(&post(&up, &header, &listed))["structuredContent"]["tasks"].clone();
    assert_eq!(tasks.as_array().map(Vec::len), Some(VERSIONS.len()));
    assert_eq!(up.get("/mcp").status, 405, "there is nothing to follow");
}

#[test]
fn mcp_agent_fetches_work_by_single_calls() {
    let stage = HttpProject::new();
    let id = stage.add(&["Fetch me", "--status", "ready", "--agent", "remote"]);
    let up = stage.up();
    let header = [("MCP-Protocol-Version", "2025-06-18"), ("Adjutant-Agent", "remote")];
    let text =
        |reply: &HttpReply| result(reply)["content"][0]["text"].as_str().expect("text").to_owned();
    let nothing = post(&up, &header, &call("report_progress", &json!({"progress": "x"})));
    assert!(text(&nothing).contains("call `next_task`"), "{nothing:?}");
    let order = text(&post(&up, &header, &call("next_task", &json!({}))));
    assert!(order.contains("Fetch me"), "{order}");
    // The next daemon still knows the agent's task.
    up.kill();
    let up = stage.up();
    assert_eq!(
        text(&post(&up, &header, &call("report_progress", &json!({"progress": "half"})))),
        "Progress recorded."
    );
    for _ in 0..2 {
        let done = post(&up, &header, &call("complete", &json!({"summary": "Done."})));
        assert!(text(&done).contains("Your report was accepted"), "{done:?}");
    }
    assert_eq!(stage.json(&["task", "show", &id])["status"], "review");
    assert!(text(&post(&up, &header, &call("next_task", &json!({})))).contains("no task for you"));
    let wrong = [("Authorization", "Bearer wrong"), ("Adjutant-Agent", "remote")];
    post(&up, &wrong, &call("next_task", &json!({}))).assert_problem(401, "unauthenticated");
}
