//! Tests of `adjutant mcp`: sessions of agents and operators, line by line as a client sends them.

use std::process::Command;

use adjutant_config::run_token::TokenSecret;
use adjutant_model::TaskId;
use adjutant_model::run_nonce::RunNonce;
use serde_json::{Value, json};

use crate::commands::support::{CliProject, LiveProcess, document, run};

/// An MCP client that initializes the session and calls tools.
struct McpClient {
    server: LiveProcess,
    last: u64,
}

impl McpClient {
    fn start(command: &mut Command) -> Self {
        let mut client = Self { server: LiveProcess::start(command), last: 0 };
        client.initialize("2025-06-18");
        client
    }

    fn initialize(&mut self, version: &str) -> Value {
        let who = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": who});
        let result = self.ask("initialize", &params);
        self.server.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        result["result"].clone()
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params});
        self.server.write(&request.to_string());
        let answer = self.server.next();
        assert_eq!(answer["id"], self.last, "{answer}");
        answer
    }

    /// Calls a tool, and returns whether it refused and the text it answered.
    fn call(&mut self, tool: &str, arguments: &Value) -> (bool, String) {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str();
        (result["isError"] == true, text.unwrap_or_else(|| panic!("{answer}")).to_owned())
    }

    /// Calls a tool that must not refuse.
    fn does(&mut self, tool: &str, arguments: &Value) -> String {
        let (refused, text) = self.call(tool, arguments);
        assert!(!refused, "{tool}: {text}");
        text
    }

    fn tools(&mut self) -> Vec<String> {
        let answer = self.ask("tools/list", &json!({}));
        let tools = answer["result"]["tools"].as_array().expect("tools").clone();
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }

    fn leave(self) {
        assert_eq!(self.server.finish(), Some(0));
    }
}

/// Starts a session inside the run of a task, with the token of its current lease.
fn inside(project: &CliProject, id: &str, fence: u64) -> McpClient {
    let task = TaskId::parse(id).expect("an id");
    let secret = TokenSecret::open(&project.path("")).expect("a secret");
    let mut command = project.command(["mcp"]);
    let file = project.path(&format!("tasks/in-progress/{id}.md"));
    let text = std::fs::read_to_string(file).expect("a task in progress");
    let nonce = text.lines().find_map(|line| line.trim().strip_prefix("nonce: "));
    let nonce = RunNonce::parse(nonce.expect("a nonce").trim_matches(['"', '\'']));
    let token = secret.token(&task, fence, nonce);
    let run = [("ADJUTANT_TASK_ID", id), ("ADJUTANT_AGENT", "swe"), ("ADJUTANT_ATTEMPT", "1")];
    McpClient::start(command.envs(run).env("ADJUTANT_RUN_TOKEN", token))
}

#[test]
fn mcp_server_speaks_every_published_version() {
    let project = CliProject::new();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut client =
            McpClient { server: LiveProcess::start(&mut project.command(["mcp"])), last: 0 };
        let hello = client.initialize(version);
        assert_eq!(hello["protocolVersion"], version);
        assert_eq!(hello["serverInfo"]["name"], "adjutant");
        assert!(client.tools().contains(&"create".to_owned()), "{version}");
        client.leave();
    }
}

#[test]
fn mcp_server_answers_discovery_before_initialize() {
    let project = CliProject::new();
    let mut client =
        McpClient { server: LiveProcess::start(&mut project.command(["mcp"])), last: 0 };
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let found = client.ask("server/discover", &json!({ "_meta": meta }));
    let versions = found["result"]["supportedVersions"].as_array().expect("versions").clone();
    assert!(versions.contains(&json!("2026-07-28")), "{found}");
    let listed = client.ask("tools/list", &json!({ "_meta": meta }));
    assert!(listed["result"]["tools"].as_array().is_some_and(|tools| tools.len() > 5), "{listed}");
    client.leave();
}

#[test]
fn operator_tools_do_what_commands_do() {
    let project = CliProject::new();
    let mut client = McpClient::start(&mut project.command(["mcp"]));
    let tools = client.tools();
    for tool in ["list", "create", "show", "why", "approve", "reject", "retry", "cancel", "send"] {
        assert!(tools.contains(&tool.to_owned()), "{tool}");
    }
    let new = json!({"title": "Mend the gate", "ready": true, "checks": ["make check"]});
    let made = client.does("create", &new);
    let id = document(&made)["taskId"].as_str().expect("an id").to_owned();
    assert_eq!(project.status_of(&id), "ready");
    let by_command = project.add(["Another", "--check", "make check"]);
    let checks = |id: &str| project.json(["task", "show", id])["metadata"]["checks"].clone();
    assert_eq!((checks(&id), checks(&id)), (json!(["make check"]), checks(&by_command)));
    project.does(["task", "cancel", &by_command]);
    let elsewhere = client.does("create", &json!({"title": "Paint", "agent": "painter"}));
    let warning = "no agent named \"painter\" is configured; add [agents.painter] to adjutant.toml; an \
         agent that runs elsewhere can fetch it with `adjutant mcp --agent painter`";
    assert_eq!(document(&elsewhere)["warnings"], json!([warning]));
    let shown = client.does("show", &json!({ "id": id }));
    assert_eq!(document(&shown), project.json(["task", "show", &id]));
    let listed = client.does("list", &json!({"status": ["ready"]}));
    assert_eq!(document(&listed)["tasks"], project.json(["task", "list", "--status", "ready"]));
    let why = client.does("why", &json!({ "id": id }));
    assert_eq!(document(&why), project.json(["why", &id]));
    project.does(["task", "move", &id, "in-progress"]);
    project.does(["task", "move", &id, "review"]);
    let inbox = client.does("inbox", &json!({}));
    assert_eq!(document(&inbox)["items"], project.json(["inbox"]));
    client.does("reject", &json!({"id": id, "reason": "it squeaks"}));
    assert_eq!(project.status_of(&id), "ready");
    client.does("cancel", &json!({"id": id, "reason": "no gate"}));
    assert_eq!(project.status_of(&id), "cancelled");
    client.does("reopen", &json!({"id": id, "reason": "a gate"}));
    assert_eq!(project.status_of(&id), "backlog");
    let copy = client.does("copy", &json!({"id": id}));
    assert_eq!(document(&copy)["status"], "backlog", "{copy}");
    client.does("cancel", &json!({"id": id, "reason": "no gate"}));
    client.leave();
}

#[test]
fn tool_call_with_bad_arguments_is_refused_and_changes_nothing() {
    let project = CliProject::new();
    let id = project.add(["one"]);
    TokenSecret::open(&project.path("")).expect("a secret");
    let before = project.digest();
    let mut client = McpClient::start(&mut project.command(["mcp"]));
    let bad = [
        ("create", json!({}), "missing field `title`"),
        ("create", json!({"title": "x", "priority": "urgent"}), "critical, high, normal or low"),
        ("create", json!({"title": "x", "due": "soon"}), "2026-02-09T21:00:00Z"),
        ("create", json!({"titel": "x"}), "unknown field `titel`"),
        ("create", json!({"title": "x", "checks": "make"}), "expected a sequence"),
        ("create", json!({"title": "x", "checks": ["a\nb"]}), "a command on one line"),
        ("show", json!({"id": "TASK-2026-02-09-999"}), "there is no such task"),
        ("show", json!({"id": "../../etc/passwd"}), "`adjutant task list` lists the tasks"),
        ("why", json!({"id": 7}), "expected a string"),
        ("approve", json!({ "id": id }), "invalid_transition"),
        ("list", json!({"status": ["finished"]}), "finished"),
        ("send", json!({"message": "AOF/1 {"}), "invalid_json"),
    ];
    for (tool, arguments, words) in &bad {
        let (refused, text) = client.call(tool, arguments);
        assert!(refused && text.contains(words), "{tool} {arguments}: {text}");
    }
    let unknown = client.ask("tools/call", &json!({"name": "drop_all", "arguments": {}}));
    assert!(unknown["error"]["message"].as_str().is_some_and(|text| text.contains("drop_all")));
    client.leave();
    assert_eq!(project.digest(), before);
}

#[test]
fn agent_session_fetches_task_and_reports_on_it() {
    let project = CliProject::new();
    let first = project.add(["Mend the gate", "--status", "ready"]);
    let second = project.add(["Paint it", "--status", "ready"]);
    let mut client = McpClient::start(&mut project.command(["mcp", "--agent", "roamer"]));
    let (refused, text) = client.call("task_context", &json!({}));
    assert!(refused && text.contains("next_task"), "{text}");
    let order = client.does("next_task", &json!({}));
    assert!(order.contains("Mend the gate") && order.contains(&first), "{order}");
    assert_eq!(client.does("next_task", &json!({})), order, "the same until it is reported on");
    client.does("report_progress", &json!({"progress": "the hinges are off"}));
    assert!(project.json(["task", "show", &first])["body"].to_string().contains("hinges"));
    let arguments = json!({"summary": "Oiled **both** hinges."});
    let said = client.does("complete", &arguments);
    assert!(said.contains("waits for a review"), "{said}");
    let types = project.types();
    assert_eq!(client.does("complete", &arguments), said, "a call may come twice");
    assert_eq!(project.status_of(&first), "review");
    let again = project.types()[types.len()..].to_vec();
    assert_eq!(again, ["protocol.message.received"], "and changes nothing more");
    let summary = project.read(&format!("tasks/review/{first}/outputs/summary.md"));
    assert_eq!(summary, "Oiled **both** hinges.\n");
    let order = client.does("next_task", &json!({}));
    assert!(order.contains(&second), "{order}");
    client.does("ask_human", &json!({"question": "Which colour?", "suggestion": "green"}));
    let inbox = project.json(["inbox"]).to_string();
    assert!(inbox.contains("Which colour? (suggested: green)"), "{inbox}");
    assert!(client.does("next_task", &json!({})).contains("no task for you"));
    project.does(["answer", &second, "blue"]);
    assert!(client.does("next_task", &json!({})).contains("blue"));
    client.leave();
}

#[test]
fn run_session_reports_only_on_its_own_task() {
    let project = CliProject::new();
    let (own, other) = (project.add(["Own", "--status", "ready"]), project.add(["Other"]));
    let mut fetch = McpClient::start(&mut project.command(["mcp", "--agent", "swe"]));
    fetch.does("next_task", &json!({}));
    fetch.leave();
    let mut client = inside(&project, &own, 1);
    let tools = client.tools();
    for tool in [
        "task_context",
        "report_progress",
        "report_blocked",
        "complete",
        "handoff",
        "ask_human",
        "next_task",
    ] {
        assert!(tools.contains(&tool.to_owned()), "{tool}");
    }
    assert!(!tools.contains(&"approve".to_owned()));
    assert!(client.does("task_context", &json!({})).contains(&own));
    assert!(client.does("next_task", &json!({})).contains(&own));
    let (refused, text) = client.call("aof_task_complete", &json!({ "taskId": other }));
    assert!(refused && text.contains(&own), "{text}");
    let read = |client: &mut McpClient, id: &str| {
        client.ask("resources/read", &json!({"uri": format!("adjutant://tasks/{id}")}))
    };
    assert!(read(&mut client, &other)["error"].is_object());
    let file = read(&mut client, &own)["result"]["contents"][0]["text"].clone();
    assert_eq!(file, project.read(&format!("tasks/in-progress/{own}.md")));
    client.does("aof_task_update", &json!({"taskId": own, "progress": "half"}));
    client.does("aof_task_complete", &json!({"summary": "all"}));
    assert_eq!(project.status_of(&own), "review");
    client.leave();
}

#[test]
fn run_session_hands_off_work_once() {
    let project = CliProject::new();
    let own = project.add(["Own", "--status", "ready"]);
    let mut client = McpClient::start(&mut project.command(["mcp", "--agent", "swe"]));
    client.does("next_task", &json!({}));
    let arguments = json!({
        "to": "qa",
        "objective": "Test the gate",
        "acceptance_criteria": ["It does not squeak."],
        "expected_outputs": ["report.md"],
        "priority": "high",
    });
    let said = client.does("handoff", &arguments);
    let made = said.split_whitespace().find(|word| word.starts_with("TASK-")).expect("an id");
    let made = made.trim_end_matches('.').to_owned();
    let shown = project.json(["task", "show", &made]);
    assert_eq!((&shown["parentId"], &shown["priority"]), (&json!(own), &json!("high")));
    assert_eq!(shown["status"], "ready");
    assert!(client.does("handoff", &arguments).contains(&made), "the same when asked again");
    assert_eq!(project.json(["task", "list"]).as_array().map(Vec::len), Some(2));
    let bad = json!({"to": "qa", "objective": "x", "expected_outputs": ["../out"]});
    let (refused, text) = client.call("handoff", &bad);
    assert!(refused && text.contains("expectedOutputs"), "{text}");
    let mut other = McpClient::start(&mut project.command(["mcp", "--agent", "qa"]));
    assert!(other.does("next_task", &json!({})).contains(&made));
    let (refused, text) = other.call("handoff", &json!({"to": "swe", "objective": "deeper"}));
    assert!(refused && text.contains("nested_delegation"), "{text}");
    assert_eq!(project.status_of(&own), "in-progress");
    client.leave();
    other.leave();
}

#[test]
fn replaced_run_session_changes_nothing() {
    let project = CliProject::new();
    let id = project.add(["One", "--status", "ready"]);
    let mut first = McpClient::start(&mut project.command(["mcp", "--agent", "swe"]));
    first.does("next_task", &json!({}));
    project.does(["task", "move", &id, "ready"]);
    let mut second = McpClient::start(&mut project.command(["mcp", "--agent", "swe"]));
    second.does("next_task", &json!({}));
    let (refused, text) = first.call("complete", &json!({"summary": "too late"}));
    assert!(refused && text.contains("stale_run"), "{text}");
    assert_eq!(project.status_of(&id), "in-progress");
    assert!(project.json(["inbox"]).to_string().contains("salvage"));
    first.leave();
    second.leave();
}

#[test]
fn agent_session_inside_run_is_refused() {
    let project = CliProject::new();
    let id = project.add(["One", "--status", "ready"]);
    let mut command = project.command(["mcp", "--agent", "another", "--json"]);
    let ran = run(command.env("ADJUTANT_RUN_TOKEN", "t").env("ADJUTANT_AGENT", "swe"));
    assert_eq!((ran.code, &document(&ran.out)["error"]["code"]), (1, &json!("operator_only")));
    assert_eq!(project.status_of(&id), "ready");
    assert_eq!(project.types().last().map(String::as_str), Some("command.refused"));
}

#[test]
fn operator_session_works_beside_daemon() {
    let project = CliProject::new();
    project.does(["up", "--detach"]);
    let mut client = McpClient::start(&mut project.command(["mcp"]));
    let made = client.does("create", &json!({"title": "Mend the gate"}));
    let id = document(&made)["taskId"].as_str().expect("an id").to_owned();
    assert_eq!(project.status_of(&id), "backlog");
    project.does(["down"]);
    client.does("cancel", &json!({"id": id, "reason": "no gate"}));
    assert_eq!(project.status_of(&id), "cancelled");
    client.leave();
}

/// Returns the title and the status of every task that the session lists.
fn listed(client: &mut McpClient) -> Vec<(String, String)> {
    let listed = document(&client.does("list", &json!({})));
    let text = |task: &Value, field: &str| task[field].as_str().unwrap_or_default().to_owned();
    let tasks = listed["tasks"].as_array().expect("tasks");
    tasks.iter().map(|task| (text(task, "title"), text(task, "status"))).collect()
}

fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(title, status)| ((*title).to_owned(), (*status).to_owned())).collect()
}

#[test]
fn list_tool_shows_changes_of_others_at_once() {
    let project = CliProject::new();
    let mut client = McpClient::start(&mut project.command(["mcp"]));
    assert_eq!(listed(&mut client), []);
    let id = project.add(["Mend the gate"]);
    assert_eq!(listed(&mut client), pairs(&[("Mend the gate", "backlog")]));
    project.does(["task", "move", &id, "ready"]);
    assert_eq!(listed(&mut client), pairs(&[("Mend the gate", "ready")]));
    let (ready, done) = (format!("tasks/ready/{id}.md"), format!("tasks/done/{id}.md"));
    project.write(&ready, project.read(&ready).replace("Mend", "Paint"));
    assert_eq!(listed(&mut client), pairs(&[("Paint the gate", "ready")]));
    std::fs::rename(project.path(&ready), project.path(&done)).expect("moved by hand");
    assert_eq!(listed(&mut client), pairs(&[("Paint the gate", "done")]));
    client.does("create", &json!({"title": "Oil the gate"}));
    let both = [("Oil the gate", "backlog"), ("Paint the gate", "done")];
    assert_eq!(listed(&mut client), pairs(&both));
    std::fs::remove_file(project.path(&done)).expect("taken away by hand");
    assert_eq!(listed(&mut client), pairs(&both[..1]));
    client.leave();
}

#[test]
fn list_tool_shows_daemon_commits_at_once() {
    let project = CliProject::new();
    project.does(["up", "--detach"]);
    let mut client = McpClient::start(&mut project.command(["mcp"]));
    let mut titles = Vec::new();
    for number in 1..=20 {
        titles.push((format!("Task {number}"), "backlog".to_owned()));
        project.add([&titles[number - 1].0]);
        assert_eq!(listed(&mut client), titles);
    }
    project.does(["down"]);
    titles.push(("The last one".to_owned(), "backlog".to_owned()));
    project.add(["The last one"]);
    assert_eq!(listed(&mut client), titles);
    client.leave();
}
