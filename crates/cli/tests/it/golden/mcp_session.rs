//! A client session with the server that `adjutant mcp` starts.

use serde_json::{Value, json};

use super::project::GoldenProject;
use crate::commands::support::LiveProcess;

pub(super) struct McpSession {
    server: LiveProcess,
    hello: Value,
    last: u64,
}

impl McpSession {
    /// Starts a server with these options and variables, and initializes the session.
    pub(super) fn start(
        project: &GoldenProject,
        options: &[&str],
        variables: &[(String, String)],
    ) -> Self {
        let mut command = project.command(&[&["mcp"], options].concat());
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        let mut session =
            Self { server: LiveProcess::start(&mut command), hello: Value::Null, last: 0 };
        let client = json!({"name": "test", "version": "1"});
        let hello =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        session.hello = session.ask("initialize", &hello);
        session.server.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        session
    }

    /// Returns the server's answer to `initialize`.
    pub(super) fn hello(&self) -> &Value {
        &self.hello
    }

    /// Sends a request, and returns its result or error.
    pub(super) fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params});
        self.server.write(&request.to_string());
        let mut answer = self.server.next();
        assert_eq!(answer["id"], self.last, "{answer}");
        if answer["error"].is_object() { answer["error"].take() } else { answer["result"].take() }
    }

    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    pub(super) fn finish(self) {
        assert_eq!(self.server.finish(), Some(0));
    }
}
