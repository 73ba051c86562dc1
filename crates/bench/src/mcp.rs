//! The MCP server beside a daemon: how long a tool takes.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::commands::adjutant;
use crate::folder::Sized;
use crate::opening::{median, ms};
use crate::report::Report;

/// A server, spoken to over its pipes.
struct Server {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    calls: u64,
}

impl Server {
    /// Starts one, and waits until it has said hello.
    fn start(folder: &Sized) -> Self {
        let mut command = Command::new(adjutant());
        command.arg("--data").arg(folder.root()).arg("mcp");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a server");
        let to = child.stdin.take().expect("a pipe");
        let from = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut server = Self { child, to, from, calls: 0 };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"}});
        assert!(server.call("initialize", &hello)["serverInfo"].is_object(), "it says hello");
        server
    }

    fn say(&mut self, said: &Value) {
        writeln!(self.to, "{said}").expect("it listens");
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.calls += 1;
        self.say(&json!({"jsonrpc": "2.0", "id": self.calls, "method": method, "params": params}));
        let mut line = String::new();
        self.from.read_line(&mut line).expect("an answer");
        let answer: Value = serde_json::from_str(&line).expect("JSON");
        answer["result"].clone()
    }

    /// Calls a tool, and returns how long that took.
    fn tool(&mut self, name: &str, arguments: &Value) -> Duration {
        let began = Instant::now();
        let said = self.call("tools/call", &json!({"name": name, "arguments": arguments}));
        let took = began.elapsed();
        assert!(said["content"].is_array() && said["isError"] != true, "{name}: {said}");
        took
    }

    fn end(self) {
        let Self { mut child, to, from, .. } = self;
        drop((to, from));
        let _ = child.wait();
    }
}

/// Measures it on a folder that a daemon works on.
pub(crate) fn measure(report: &mut Report, folder: &Sized, id: &str) {
    let tasks = folder.tasks;
    let mut server = Server::start(folder);
    server.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    for (name, arguments) in [
        ("show", json!({"id": id})),
        ("list", json!({"limit": 20})),
        ("create", json!({"title": "One made by a tool"})),
    ] {
        let took = median(31, || server.tool(name, &arguments));
        let what = format!("MCP server, {tasks} tasks: tool {name}");
        report.add(&what, ms(took), String::new(), String::new(), "< 100 ms");
    }
    server.end();
}
