//! The socket of a run: whatever process uses it speaks as the run, with a daemon and without one,
//! and no use of it harms the run or the daemon.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use adjutant_run_files::unix_socket;
use adjutant_test_support::skip::skip;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::up::project::{AdjutantOutput, DaemonProject, RunningDaemon, document, until, wait_for};

/// An agent that writes its environment to a file, and works until a file says that it may end.
const WAITS: &str = r#"
env > environment.new; mv environment.new "environment.$ADJUTANT_AGENT"
while [ ! -e end ]; do sleep 0.05; done
"#;

/// A project with a run that waits. The test speaks as that run.
struct WaitingRun {
    stage: DaemonProject,
    id: String,
    variables: Vec<(String, String)>,
}

impl WaitingRun {
    /// Starts the run without a daemon.
    fn start(settings: &str) -> Self {
        let stage = DaemonProject::new(settings).with_command("dev", WAITS, "");
        Self::start_in(stage, "dev")
    }

    fn start_in(stage: DaemonProject, agent: &str) -> Self {
        let words = ["task", "add", "Do it", "--agent", agent, "--status", "ready"];
        let id = stage.json(&words)["id"].as_str().expect("an id").to_owned();
        stage.run_ok(["tick"]);
        let variables = variables_of(&stage, agent);
        Self { stage, id, variables }
    }

    fn socket(&self) -> PathBuf {
        self.stage.attempt(&self.id, 1).join("socket/run.sock")
    }

    /// Runs a command with the environment of the run. Its process is not below the shim.
    fn adjutant(&self, args: &[&str]) -> AdjutantOutput {
        let mut command = self.stage.command(args);
        command.envs(self.variables.iter().cloned());
        output(&mut command)
    }

    /// Runs a command of the run, and returns its result and reason.
    fn ask(&self, args: &[&str]) -> (String, Value) {
        let ran = self.adjutant(&[args, &["--json"]].concat());
        let answer = document(&ran.out);
        (answer["result"].as_str().unwrap_or_else(|| panic!("{ran:?}")).to_owned(), {
            answer["reason"].clone()
        })
    }

    fn client(&self) -> SocketClient {
        SocketClient::connect(&self.socket())
    }

    /// Lets the agent end, and waits until the run is over.
    fn end(&self) {
        let (shim, _) = self.stage.run(&self.id, 1);
        fs::write(self.stage.home().join("end"), "").expect("written");
        let attempt = self.stage.attempt(&self.id, 1);
        wait_for("the run is over", || attempt.join("exit.json").exists());
        wait_for("the socket is gone", || !attempt.join("socket").exists());
        // A tick leaves runs alone whose shim has not exited yet.
        wait_for("the shim is gone", || !shim.is_alive());
    }

    fn progress(&self) -> Vec<String> {
        let body = self.stage.json(&["task", "show", &self.id])["body"].take();
        let body = body.as_str().unwrap_or_default();
        body.lines().filter(|line| line.contains("step ")).map(str::to_owned).collect()
    }
}

fn variables_of(stage: &DaemonProject, agent: &str) -> Vec<(String, String)> {
    let file = stage.home().join(format!("environment.{agent}"));
    let text = until("the agent runs", || fs::read_to_string(&file).ok());
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    let own = pairs.filter(|(name, _)| name.starts_with("ADJUTANT_"));
    own.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn output(command: &mut std::process::Command) -> AdjutantOutput {
    let output = command.output().expect("the command starts");
    let text = |bytes| String::from_utf8(bytes).expect("the command prints UTF-8");
    let code = output.status.code().expect("the command was not killed");
    AdjutantOutput { code, out: text(output.stdout), err: text(output.stderr) }
}

/// A peer that writes lines by hand.
struct SocketClient(BufReader<UnixStream>);

impl SocketClient {
    fn connect(socket: &Path) -> Self {
        let folder = socket.parent().expect("a folder");
        let stream = unix_socket::connect(folder, "run.sock").expect("the socket is there");
        Self(BufReader::new(stream))
    }

    fn send(&self, bytes: &[u8]) -> std::io::Result<()> {
        let mut stream = self.0.get_ref();
        stream.write_all(bytes)
    }

    fn ask(&mut self, request: &Value) -> Value {
        self.send(format!("{request}\n").as_bytes()).expect("it is sent");
        document(&self.line())
    }

    fn submit(&mut self, request: &Value) -> Value {
        self.ask(&json!({"submit": {"request": request}}))
    }

    /// Returns the next line; an empty text if the shim has closed the connection.
    fn line(&mut self) -> String {
        let mut line = String::new();
        // A connection that is closed with unread data ends with an error.
        let _ = self.0.read_line(&mut line);
        line
    }
}

fn message(id: &str, from: &str, token: Option<&str>, progress: &str) -> Value {
    let mut message = json!({
        "protocol": "aof", "version": 1, "type": "status.update", "taskId": id, "fromAgent": from,
        "toAgent": "dispatcher", "sentAt": "2026-02-09T21:10:00.000Z",
        "payload": {"taskId": id, "agentId": from, "progress": progress},
    });
    if let Some(token) = token {
        message["runToken"] = json!(token);
    }
    json!({"message": {"origin": "outside", "text": message.to_string()}})
}

fn operator_commands(id: &str) -> Vec<Value> {
    let by = json!({"operator": "human:alice"});
    [
        json!({"approve": {"id": id, "note": ""}}),
        json!({"cancel": {"id": id, "reason": "mine"}}),
        json!({"chore": "down"}),
    ]
    .map(|command| json!({"command": {"by": by, "command": command}}))
    .into()
}

/// Talks to an MCP server over its standard input and output.
struct McpClient {
    child: std::process::Child,
    answers: BufReader<std::process::ChildStdout>,
    next_id: u64,
}

impl McpClient {
    fn start(command: &mut std::process::Command) -> Self {
        use std::process::Stdio;

        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.spawn().expect("the server starts");
        let answers = BufReader::new(child.stdout.take().expect("an output"));
        let mut client = Self { child, answers, next_id: 1 };
        let who = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        client.call("initialize", &who);
        client.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn write(&mut self, value: &Value) {
        let input = self.child.stdin.as_mut().expect("an input");
        writeln!(input, "{value}").expect("written");
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        let id = self.next_id;
        self.next_id += 1;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("an answer");
        document(&line)
    }

    /// Calls a tool, and returns its text and whether it was refused.
    fn tool(&mut self, name: &str, arguments: &Value) -> (String, bool) {
        let answer = self.call("tools/call", &json!({"name": name, "arguments": arguments}));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        (text.to_owned(), result["isError"] == true)
    }

    fn resource(&mut self, uri: &str) -> String {
        let answer = self.call("resources/read", &json!({"uri": uri}));
        let text = answer["result"]["contents"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().expect("it ends").success());
    }
}

#[test]
fn run_socket_reports_messages_and_heartbeats_count_with_daemon() {
    let run = WaitingRun::start("");
    let _up = run.stage.up();
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(run.socket().parent().expect("a folder")), 0o700);
    assert_eq!(mode(&run.socket()), 0o600);
    let named = ("ADJUTANT_RUN_SOCKET".to_owned(), run.socket().display().to_string());
    assert!(run.variables.contains(&named), "{:?}", run.variables);
    assert_eq!(run.ask(&["report", "progress", "step 1"]), ("applied".into(), Value::Null));
    assert_eq!(run.ask(&["beat"]), ("noop".into(), Value::Null));
    let file = run.stage.home().join("message.json");
    let text = message(&run.id, "dev", None, "step 2");
    fs::write(&file, text["message"]["text"].as_str().expect("a text")).expect("written");
    let file = file.display().to_string();
    assert_eq!(run.ask(&["send", &file]), ("applied".into(), Value::Null));
    assert_eq!(run.progress().len(), 2);
    assert_eq!(run.ask(&["report", "needs-review"]), ("applied".into(), Value::Null));
    wait_for("the task waits for review", || run.stage.status(&run.id) == "review");
    run.end();
}

/// The order of the answers is that of the messages, although they share commits.
#[test]
fn run_socket_answers_many_messages_in_their_order() {
    let run = WaitingRun::start("");
    let _up = run.stage.up();
    let mut client = run.client();
    let count = 40;
    let mut lines = String::new();
    for number in 0..count {
        let name = if number % 2 == 0 { "dev" } else { "reviewer" };
        let request = message(&run.id, name, None, &format!("step {number}"));
        lines += &json!({"submit": {"request": request}}).to_string();
        lines.push('\n');
    }
    client.send(lines.as_bytes()).expect("it is sent");
    for number in 0..count {
        let answer = document(&client.line());
        let expected = if number % 2 == 0 { "applied" } else { "rejected" };
        assert_eq!(answer["answered"]["result"], expected, "{number}: {answer}");
    }
    assert_eq!(run.progress().len(), count / 2);
    run.end();
}

#[test]
fn run_socket_keeps_messages_without_daemon_and_next_daemon_takes_each_once() {
    let run = WaitingRun::start("");
    let kept = ("noop".to_owned(), json!("kept_for_later"));
    let heartbeat = run.stage.path(&format!("runs/{}/run_heartbeat.json", run.id));
    let beats = || {
        let text = fs::read_to_string(&heartbeat).expect("a heartbeat");
        document(&text)["beatCount"].as_u64().expect("a number")
    };
    let before = beats();
    for number in 1..=3 {
        assert_eq!(run.ask(&["report", "progress", &format!("step {number}")]), kept);
    }
    assert_eq!(run.ask(&["beat"]), kept);
    wait_for("the heartbeat is in its file", || beats() > before);
    assert_eq!(run.progress(), Vec::<String>::new());
    let mut client = run.client();
    let context = client.ask(&json!("taskContext"));
    assert!(context["text"].as_str().is_some_and(|text| text.contains("Do it")), "{context}");
    let events = run.stage.events().len();
    for command in operator_commands(&run.id) {
        let answer = client.submit(&command);
        assert_eq!(answer["answered"]["reason"], "operator_only", "{command}: {answer}");
    }
    let asked = json!({"number": 1, "text": "rm", "choices": []});
    let permission = json!({"permissionAsked":
        {"task": run.id, "by": "dev", "token": "1-x", "asked": asked}});
    let answer = client.submit(&permission);
    let failed = answer["failed"]["message"].as_str().unwrap_or_default();
    assert!(failed.starts_with("no daemon runs"), "{answer}");
    assert_eq!(run.stage.events().len(), events);
    assert_eq!(run.ask(&["report", "needs-review"]), kept);
    assert_eq!(run.stage.status(&run.id), "in-progress");
    run.end();
    run.stage.until_idle();
    assert_eq!(run.stage.status(&run.id), "review");
    assert_eq!(run.progress().len(), 3);
    assert_eq!(run.stage.events_of(&run.id, "task.completed").len(), 1);
    let refused: Vec<String> = refusals(&run).into_iter().map(|(detail, _)| detail).collect();
    let place = "(through the socket of the run)";
    let expected = ["approve", "task cancel", "down"].map(|name| format!("{name} {place}"));
    assert_eq!(refused, expected);
}

/// Returns the details and counts of the refusals in the event log that are the run's.
fn refusals(run: &WaitingRun) -> Vec<(String, u64)> {
    let events = run.stage.events();
    let own = events.iter().filter(|event| {
        event["type"] == "access.refused" && event["actor"] == "dev" && event["taskId"] == run.id
    });
    let payload = own.map(|event| &event["payload"]);
    let only = payload.filter(|payload| payload["reason"] == "operator_only");
    only.map(|payload| {
        let detail = payload["detail"].as_str().unwrap_or_default().to_owned();
        (detail, payload["count"].as_u64().unwrap_or(1))
    })
    .collect()
}

/// A hostile run cannot fill the event log with refusals, and none of them is lost.
#[test]
fn run_socket_sums_up_flood_of_refused_commands() {
    for has_daemon in [true, false] {
        let run = WaitingRun::start("");
        let up = has_daemon.then(|| run.stage.up());
        let mut client = run.client();
        let count = 400;
        let command = &operator_commands(&run.id)[0];
        for _ in 0..count {
            let answer = client.submit(command);
            assert_eq!(answer["answered"]["reason"], "operator_only", "{answer}");
        }
        drop(client);
        run.end();
        up.into_iter().for_each(RunningDaemon::end);
        run.stage.until_idle();
        let commands = run.stage.events_of(&run.id, "command.refused").len() as u64;
        let summed = refusals(&run);
        let all = commands + summed.iter().map(|(_, count)| count).sum::<u64>();
        assert_eq!(all, count, "{has_daemon}: {summed:?}");
        assert!(commands + (summed.len() as u64) < 30, "{has_daemon}: {commands}, {summed:?}");
    }
}

#[test]
fn run_socket_refuses_operator_commands_and_logs_them() {
    let run = WaitingRun::start("");
    let mut up = run.stage.up();
    let mut client = run.client();
    let commands = operator_commands(&run.id);
    for command in &commands {
        let answer = client.submit(command);
        assert_eq!(answer["answered"]["reason"], "operator_only", "{command}: {answer}");
    }
    let refused = |event: &&Value| {
        event["type"] == "command.refused" && event["payload"]["reason"] == "operator_only"
    };
    let events = run.stage.events();
    let refused: Vec<&Value> = events.iter().filter(refused).collect();
    assert_eq!(refused.len(), commands.len());
    assert!(refused.iter().all(|event| event["actor"] == "dev"), "{refused:?}");
    for request in [
        json!({"sessionEnd": null}),
        json!({"stories": {"by": "dev"}}),
        json!({"beat": {"task": run.id, "fence": 1}}),
    ] {
        let answer = client.submit(&request);
        assert!(answer["failed"].is_object(), "{request}: {answer}");
        client = run.client();
    }
    assert!(up.is_running());
    assert_eq!(run.stage.status(&run.id), "in-progress");
    run.end();
}

#[test]
fn run_socket_refuses_other_agents_and_tokens_of_other_runs() {
    let stage = DaemonProject::new("").with_command("dev", WAITS, "").with_command("qa", WAITS, "");
    let other = WaitingRun::start_in(stage, "qa");
    let run = WaitingRun::start_in(other.stage, "dev");
    let _up = run.stage.up();
    let token = other.variables.iter().find(|(name, _)| name == "ADJUTANT_RUN_TOKEN");
    let stolen = token.map(|(_, value)| value.as_str());
    let mut client = run.client();
    for (request, reason) in [
        (message(&run.id, "reviewer", None, "step"), "agentId_mismatch"),
        (message(&run.id, "dev", Some("1-affa43e082c8bbf32057d45e7feafca3"), "s"), "unknown_token"),
        (message(&run.id, "dev", stolen, "step"), "unknown_token"),
        (message(&other.id, "qa", stolen, "step"), "unknown_token"),
        (message(&other.id, "qa", None, "step"), "unknown_token"),
    ] {
        let answer = client.submit(&request);
        assert_eq!(answer["answered"]["result"], "rejected", "{request}: {answer}");
        let shown = answer["answered"]["reason"].as_str().unwrap_or_default();
        assert_eq!(shown, reason, "{request}: {answer}");
    }
    let beat = json!({"lifeSign": {"task": other.id, "by": "qa", "token": stolen}});
    assert_eq!(client.submit(&beat)["answered"]["reason"], "unknown_token");
    assert_eq!(run.progress(), Vec::<String>::new());
    run.end();
}

/// Checks and processes of other runs cannot speak through the socket, whatever their environment.
#[test]
fn run_socket_turns_away_other_runs_and_checks() {
    let forged = "python3 forge.py \"$(cat socket)\" > \"$1\" 2>&1\n";
    let evil = "sh forge.sh run.txt\nadjutant report done\n";
    let checks = "checks = [\"env > check.env; sh forge.sh check.txt\"]";
    let stage =
        DaemonProject::new("").with_command("dev", WAITS, "").with_command("evil", evil, checks);
    let run = WaitingRun::start_in(stage, "dev");
    let home = run.stage.home();
    fs::write(home.join("forge.sh"), forged).expect("written");
    fs::write(
        home.join("socket"),
        run.socket().parent().expect("a folder").to_str().expect("text"),
    )
    .expect("written");
    let request = json!({"submit": {"request": message(&run.id, "dev", None, "step 1")}});
    let forge = format!(
        "import os, socket, sys\nos.chdir(sys.argv[1])\ns = socket.socket(socket.AF_UNIX)\n\
         s.connect(\"run.sock\")\ntry:\n    s.sendall({request:?}.encode() + b\"\\n\")\n    \
         print(\"answer:\", s.recv(100))\nexcept OSError:\n    print(\"answer: b''\")\n",
        request = request.to_string()
    );
    fs::write(home.join("forge.py"), forge).expect("written");
    let _up = run.stage.up();
    let id = run.stage.add("evil");
    wait_for("the check has ended", || run.stage.status(&id) == "done");
    for name in ["run.txt", "check.txt"] {
        assert_eq!(
            fs::read_to_string(home.join(name)).expect("printed"),
            "answer: b''\n",
            "{name}"
        );
    }
    let environment = fs::read_to_string(home.join("check.env")).expect("printed");
    assert!(!environment.contains("ADJUTANT_RUN_SOCKET"), "{environment}");
    assert_eq!(run.progress(), Vec::<String>::new());
    assert_eq!(run.ask(&["report", "progress", "step 2"]).0, "applied");
    wait_for("both are in the event log", || {
        let events = run.stage.events();
        let logged = |who: &str| {
            let detail = format!("connect to the socket of the run of {} ({who})", run.id);
            events.iter().any(|event| {
                event["type"] == "access.refused"
                    && event["taskId"] == id
                    && event["payload"]["detail"] == detail
            })
        };
        logged("a process of a run") && logged("a process of a check")
    });
    run.end();
}

#[test]
fn run_socket_withstands_flood_stall_garbage_and_large_requests() {
    let run = WaitingRun::start("heartbeat_ttl = \"2s\"");
    let _up = run.stage.up();
    // More connections than the shim accepts, each with half a request.
    let stalled: Vec<SocketClient> = (0..100).map(|_| run.client()).collect();
    for client in &stalled {
        // The shim may have closed it already.
        let _ = client.send(b"{\"submit\":");
    }
    for garbage in [&b"\n"[..], b"{}\n", b"\xff\x00\n", b"[[[[[[[[\n", b"\"stop\"\n"] {
        let mut client = run.client();
        client.send(garbage).expect("it is sent");
        let answer = document(&client.line());
        assert!(answer["failed"].is_object(), "{garbage:?}: {answer}");
        assert_eq!(client.line(), "", "the connection is closed");
    }
    let large = vec![b'x'; 10 << 20];
    let mut client = run.client();
    let _ = client.send(&large);
    let mut rest = Vec::new();
    let _ = client.0.read_to_end(&mut rest);
    let text = "y".repeat(2 << 20);
    let answer = run.client().submit(&message(&run.id, "dev", None, &text));
    assert_eq!(answer["answered"]["reason"], "payload_too_large", "{answer}");
    let file = run.stage.home().join("mangled");
    let mut mangled = b"AOF/1 ".to_vec();
    let text = message(&run.id, "dev", None, "step 0?");
    mangled.extend(text["message"]["text"].as_str().expect("a text").bytes());
    let mangled: Vec<u8> =
        mangled.into_iter().map(|byte| if byte == b'?' { 0xff } else { byte }).collect();
    fs::write(&file, mangled).expect("written");
    assert_eq!(run.ask(&["send", &file.display().to_string()]).0, "rejected");
    // A peer that reads no answers.
    let deaf = run.client();
    let one = json!({"submit": {"request": message(&run.id, "reviewer", None, "step")}});
    deaf.send(format!("{one}\n").repeat(200).as_bytes()).expect("it is sent");
    assert_eq!(run.ask(&["report", "progress", "step 1"]).0, "applied");
    assert_eq!(run.progress().len(), 1);
    let heartbeat = run.stage.path(&format!("runs/{}/run_heartbeat.json", run.id));
    let beat = || fs::read_to_string(&heartbeat).unwrap_or_default();
    let before = beat();
    wait_for("the shim writes heartbeats", || beat() != before);
    run.end();
    drop((stalled, deaf));
}

/// Daemons are killed while one call follows the other, so that some die during a call.
#[test]
fn run_socket_messages_count_once_although_daemons_are_killed() {
    let run = WaitingRun::start("");
    let (applied, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let door = || unix_socket::connect(&run.stage.path(""), "journal/door").is_ok();
    let send_all = || {
        let mut sent = 0;
        while !is_over.load(Ordering::SeqCst) {
            let request = message(&run.id, "dev", None, &format!("step {sent}."));
            let answer = run.client().submit(&request)["answered"].take();
            sent += 1;
            if answer["result"] == "applied" {
                applied.fetch_add(1, Ordering::SeqCst);
            } else {
                assert_eq!(answer["reason"], "kept_for_later", "{answer}");
                wait_for("there is a daemon", || door() || is_over.load(Ordering::SeqCst));
            }
        }
        sent
    };
    let sent = std::thread::scope(|scope| {
        let calls = scope.spawn(send_all);
        for round in 1..=6 {
            let up = run.stage.up();
            let before = applied.load(Ordering::SeqCst);
            wait_for("messages are applied", || {
                applied.load(Ordering::SeqCst) >= before + round || calls.is_finished()
            });
            up.kill();
        }
        is_over.store(true, Ordering::SeqCst);
        calls.join().expect("all calls are answered")
    });
    run.end();
    run.stage.until_idle();
    let progress = run.progress();
    for number in 0..sent {
        let step = format!("step {number}.");
        let found = progress.iter().filter(|line| line.contains(&step)).count();
        assert_eq!(found, 1, "{step}: {progress:?}");
    }
    assert_eq!(progress.len(), sent);
}

#[test]
fn run_socket_keeps_message_if_daemon_does_not_answer() {
    let run = WaitingRun::start("");
    let up = run.stage.up();
    assert_eq!(run.ask(&["report", "progress", "step 1"]).0, "applied");
    up.send(Signal::STOP);
    let kept = ("noop".to_owned(), json!("kept_for_later"));
    assert_eq!(run.ask(&["report", "progress", "step 2"]), kept);
    up.send(Signal::CONT);
    wait_for("the message is taken", || run.progress().len() == 2);
    run.end();
}

/// Every tool of the MCP server, with its data folder hidden: the run gets a copy of its
/// environment that names no folder of the project but the one with the socket.
fn use_every_tool(run: &WaitingRun, mut command: std::process::Command, has_daemon: bool) {
    let mut mcp = McpClient::start(&mut command);
    let (order, _) = mcp.tool("task_context", &json!({}));
    assert!(order.contains("Do it") && order.contains("complete"), "{order}");
    assert_eq!(mcp.tool("next_task", &json!({})), (order, false));
    let recorded = ("Progress recorded.".to_owned(), false);
    assert_eq!(mcp.tool("report_progress", &json!({"progress": "step 1"})), recorded);
    assert_eq!(mcp.tool("aof_task_update", &json!({"progress": "step 2"})), recorded);
    let handoff = json!({"to": "dev", "objective": "The rest"});
    let (text, is_refused) = mcp.tool("handoff", &handoff);
    let expected = if has_daemon { "Delegated as TASK-" } else { "Your request is stored" };
    assert!(!is_refused && text.starts_with(expected), "{text}");
    let task = mcp.resource(&format!("adjutant://tasks/{}", run.id));
    assert!(task.contains("title: Do it"), "{task}");
    mcp.resource(&format!("adjutant://outputs/{}", run.id));
    let (text, is_refused) = mcp.tool("complete", &json!({"summary": "All of it"}));
    assert!(!is_refused && text.starts_with("Your report was accepted"), "{text}");
    for (tool, arguments) in [
        ("ask_human", json!({"question": "Why?"})),
        ("report_blocked", json!({"blockers": ["no key"]})),
        ("aof_task_complete", json!({"summary": "All of it"})),
    ] {
        // The work has been reported; the answer depends on the rules, not on the way.
        mcp.tool(tool, &arguments);
    }
    let answer = mcp.call("tools/call", &json!({"name": "approve", "arguments": {}}));
    assert!(answer["error"].is_object(), "{answer}");
    mcp.end();
}

fn hidden_mcp(run: &WaitingRun, wrapper: &[&str]) -> std::process::Command {
    let hidden = tempfile::tempdir_in(run.stage.home()).expect("a folder").keep();
    let mut command = match wrapper {
        [] => run.stage.command(["mcp"]),
        [program, arguments @ ..] => {
            let mut command = std::process::Command::new(program);
            let own = env!("CARGO_BIN_EXE_adjutant");
            command.args(arguments).args([own, "mcp"]).env_clear();
            command.env("PATH", std::env::var_os("PATH").expect("a path"));
            command
        }
    };
    command.envs(run.variables.iter().cloned());
    command.env("ADJUTANT_DATA", hidden.join("nowhere")).current_dir("/");
    command
}

#[test]
fn run_socket_serves_every_mcp_tool_with_hidden_data_folder() {
    for has_daemon in [true, false] {
        let run = WaitingRun::start("");
        let up = has_daemon.then(|| run.stage.up());
        use_every_tool(&run, hidden_mcp(&run, &[]), has_daemon);
        assert!(run.stage.attempt(&run.id, 1).join("mcp.started").exists());
        run.end();
        drop(up);
        run.stage.run_ok(["tick"]);
        let file = format!("tasks/{}/{}/outputs/summary.md", run.stage.status(&run.id), run.id);
        let summary = fs::read_to_string(run.stage.path(&file)).expect("a summary");
        assert_eq!(summary, "All of it\n");
        assert_eq!(run.progress().len(), 2, "daemon: {has_daemon}");
        assert_eq!(run.stage.events_of(&run.id, "task.completed").len(), 1);
        let created = run.stage.events().into_iter().filter(|event| {
            event["type"] == "task.created" && event["payload"].to_string().contains("The rest")
        });
        assert_eq!(created.count(), 1, "daemon: {has_daemon}");
    }
}

/// Another user can read nothing of the project, and gets only the socket.
#[test]
fn run_socket_serves_mcp_to_process_that_cannot_read_data_folder() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root can become another user", "run the test as root");
    }
    let run = WaitingRun::start("");
    let _up = run.stage.up();
    let open = tempfile::tempdir().expect("a folder");
    let everyone = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
    };
    everyone(open.path(), 0o755);
    let socket = open.path().join("run.sock");
    fs::hard_link(run.socket(), &socket).expect("a link");
    everyone(&socket, 0o777);
    everyone(&run.stage.path(""), 0o700);
    let wrapper = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let mut command = hidden_mcp(&run, &wrapper);
    command.env("ADJUTANT_DATA", run.stage.path("")).env("ADJUTANT_RUN_SOCKET", &socket);
    use_every_tool(&run, command, true);
    run.end();
}

/// The agent sees the socket and nothing else of the data folder, and its processes have other
/// numbers than outside.
#[test]
fn run_socket_works_where_sandbox_hides_data_folder_and_processes() {
    let script = r#"
mkdir shown
exec unshare -U -r -m -p -f sh -ec '
    mount --bind "$(dirname "$ADJUTANT_RUN_SOCKET")" shown
    mount -t tmpfs none "$ADJUTANT_DATA"
    export ADJUTANT_RUN_SOCKET=$PWD/shown/run.sock
    ls -A "$ADJUTANT_DATA"
    adjutant report progress "step 1" --json
    adjutant beat --json
    adjutant report needs-review --json
'
"#;
    for has_daemon in [true, false] {
        let stage = DaemonProject::new("").with_command("dev", script, "");
        let words = ["task", "add", "Do it", "--agent", "dev", "--status", "ready"];
        let id = stage.json(&words)["id"].as_str().expect("an id").to_owned();
        if has_daemon {
            stage.until_idle();
        } else {
            stage.run_ok(["tick"]);
            wait_for("the run is over", || stage.attempt(&id, 1).join("exit.json").exists());
            stage.run_ok(["tick"]);
        }
        let printed = fs::read_to_string(stage.attempt(&id, 1).join("output.log")).expect("a log");
        let results: Vec<Value> =
            printed.lines().map(|line| document(line)["result"].take()).collect();
        let expected = if has_daemon { ["applied", "noop", "applied"] } else { ["noop"; 3] };
        assert_eq!(results, expected, "{printed}");
        assert_eq!(stage.status(&id), "review", "{printed}");
    }
}

/// The path is longer than a socket's path may be.
#[test]
fn run_socket_works_in_folder_with_long_path() {
    let home = tempfile::tempdir().expect("a folder");
    let deep = home.path().join("a-folder-with-a-long-name".repeat(8));
    fs::create_dir(&deep).expect("a folder");
    let stage = DaemonProject::on(&deep, "").with_command("dev", WAITS, "");
    let run = WaitingRun::start_in(stage, "dev");
    assert!(run.socket().as_os_str().len() > 200);
    let _up = run.stage.up();
    assert_eq!(run.ask(&["report", "progress", "step 1"]).0, "applied");
    run.end();
}
