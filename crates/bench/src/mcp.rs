//! Measures how long a tool of the MCP server takes beside a daemon.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bench_folder::BenchFolder;
use crate::commands::adjutant_program;
use crate::opening::{format_ms, median};
use crate::report::BenchReport;

/// An MCP server process and its pipes.
struct McpServerProcess {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    calls: u64,
}

impl McpServerProcess {
    /// Starts a server and waits for its answer to `initialize`.
    fn start(folder: &BenchFolder) -> Self {
        let mut command = Command::new(adjutant_program());
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

    fn send(&mut self, message: &Value) {
        writeln!(self.to, "{message}").expect("it listens");
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.calls += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.calls, "method": method, "params": params}));
        let mut line = String::new();
        self.from.read_line(&mut line).expect("an answer");
        let answer: Value = serde_json::from_str(&line).expect("JSON");
        answer["result"].clone()
    }

    /// Calls a tool and returns the duration.
    fn time_tool(&mut self, name: &str, arguments: &Value) -> Duration {
        let began = Instant::now();
        let message = self.call("tools/call", &json!({"name": name, "arguments": arguments}));
        let took = began.elapsed();
        assert!(message["content"].is_array() && message["isError"] != true, "{name}: {message}");
        took
    }

    fn stop(self) {
        let Self { mut child, to, from, .. } = self;
        drop((to, from));
        let _ = child.wait();
    }
}

/// Measures the server on a folder that a daemon works on.
pub(crate) fn measure(report: &mut BenchReport, folder: &BenchFolder, id: &str) {
    let tasks = folder.tasks;
    let mut server = McpServerProcess::start(folder);
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    for (name, arguments) in [
        ("show", json!({"id": id})),
        ("list", json!({"limit": 20})),
        ("create", json!({"title": "One made by a tool"})),
    ] {
        let took = median(31, || server.time_tool(name, &arguments));
        let what = format!("MCP server, {tasks} tasks: tool {name}");
        report.add_row(&what, format_ms(took), String::new(), String::new(), "< 100 ms");
    }
    server.stop();
}
