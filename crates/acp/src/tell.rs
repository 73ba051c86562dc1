//! Tells what happens, as lines of JSON.

use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use adjutant_core::permit::Choice;
use serde_json::{Value, json};

use crate::Trouble;
use crate::desk::Wish;

/// How much of a message is kept back, so that it is one line and not one for each word.
const MESSAGE_BYTES_MAX: usize = 4 << 10;
/// How long that may take.
const MESSAGE_PATIENCE: Duration = Duration::from_secs(1);

/// Tells what happens.
pub(crate) struct Teller(Mutex<State>);

struct State {
    out: Box<dyn Write + Send>,
    /// What the agent is saying, of which kind, and since when.
    saying: Option<(&'static str, String, Instant)>,
}

impl Teller {
    pub(crate) fn new(out: Box<dyn Write + Send>) -> Self {
        Self(Mutex::new(State { out, saying: None }))
    }

    /// Tells who the agent says it is.
    pub(crate) fn agent(&self, name: Option<&str>, version: Option<&str>) {
        self.line(&json!({"type": "agent", "name": name, "version": version}));
    }

    /// Tells by what its session can be gone on with.
    pub(crate) fn session(&self, id: &str, can_go_on: bool) {
        self.line(&json!({"type": "session", "id": id, "canGoOn": can_go_on}));
    }

    /// Tells that the session before could not be gone on with, and why.
    pub(crate) fn anew(&self, why: &str) {
        self.line(&json!({"type": "anew", "message": why}));
    }

    /// Tells that the agent starts no MCP server, in its words, and is told where ours is.
    pub(crate) fn by_http(&self, why: &str) {
        self.line(&json!({"type": "mcp", "transport": "http", "message": why}));
    }

    /// Tells an update as the agent sent it. What it says in pieces is put together.
    pub(crate) fn update(&self, update: &Value) {
        let kind = match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => "message",
            Some("agent_thought_chunk") => "thought",
            _ => return self.line(&json!({"type": "update", "update": update})),
        };
        let Some(text) = update["content"]["text"].as_str() else {
            return self.line(&json!({"type": "update", "update": update}));
        };
        self.state(|state| state.say(kind, text));
    }

    /// Tells what was answered to a question.
    pub(crate) fn permission(&self, wish: &Wish, choice: Option<&Choice>) {
        let answer = match choice {
            Some(choice) if choice.kind.allows() => "allowed",
            Some(_) => "denied",
            None => "cancelled",
        };
        let choice = choice.map(|choice| &choice.id);
        self.line(&json!({
            "type": "permission", "tool": wish.tool.as_str(), "text": wish.text,
            "answer": answer, "choice": choice,
        }));
    }

    /// Tells what the turn used, as far as the agent says.
    pub(crate) fn usage(&self, usage: &Value) {
        self.line(&json!({"type": "usage", "usage": usage}));
    }

    /// Tells that the turn is over, and why.
    pub(crate) fn end(&self, reason: &str) {
        self.line(&json!({"type": "end", "stopReason": reason}));
    }

    /// Tells what went wrong.
    pub(crate) fn trouble(&self, trouble: &Trouble) {
        let kind = match trouble {
            Trouble::SignIn(_) => "sign_in",
            Trouble::Stopped => "stopped",
            _ => "error",
        };
        self.line(&json!({"type": "error", "kind": kind, "message": trouble.to_string()}));
    }

    /// Passes on what the agent printed that is no message.
    pub(crate) fn noise(&self, line: &str) {
        self.state(|state| {
            state.flush();
            let _ = writeln!(state.out, "{line}");
        });
    }

    /// Passes on a line of the agent's log. One that looks like ours is told from them.
    pub(crate) fn log(&self, line: &str) {
        if line.trim_start().starts_with('{') {
            return self.line(&json!({"type": "log", "text": line}));
        }
        self.noise(line);
    }

    fn line(&self, line: &Value) {
        self.state(|state| {
            state.flush();
            let _ = writeln!(state.out, "{line}").and_then(|()| state.out.flush());
        });
    }

    fn state(&self, then: impl FnOnce(&mut State)) {
        then(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl State {
    fn say(&mut self, kind: &'static str, text: &str) {
        if self.saying.as_ref().is_some_and(|(before, _, _)| *before != kind) {
            self.flush();
        }
        let (_, said, since) = self.saying.get_or_insert((kind, String::new(), Instant::now()));
        said.push_str(text);
        if said.len() >= MESSAGE_BYTES_MAX || since.elapsed() >= MESSAGE_PATIENCE {
            self.flush();
        }
    }

    /// Writes what the agent was saying. That nobody reads it is no reason to stop it.
    fn flush(&mut self) {
        if let Some((kind, text, _)) = self.saying.take() {
            let line = json!({"type": kind, "text": text});
            let _ = writeln!(self.out, "{line}").and_then(|()| self.out.flush());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[derive(Clone, Default)]
    struct Sheet(Arc<Mutex<Vec<u8>>>);

    impl Write for Sheet {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_is_said_in_pieces_is_told_as_one() {
        let sheet = Sheet::default();
        let teller = Teller::new(Box::new(sheet.clone()));
        let piece = |kind: &str, text: &str| {
            let content = json!({"type": "text", "text": text});
            teller.update(&json!({"sessionUpdate": kind, "content": content}));
        };
        piece("agent_thought_chunk", "Hm.");
        piece("agent_message_chunk", "It is");
        piece("agent_message_chunk", " done.\n");
        piece("agent_message_chunk", &"x".repeat(MESSAGE_BYTES_MAX));
        teller.end("end_turn");
        let text = sheet.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let lines: Vec<Value> = text
            .split(|byte| *byte == b'\n')
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect();
        let long = format!("It is done.\n{}", "x".repeat(MESSAGE_BYTES_MAX));
        let expected = [
            json!({"type": "thought", "text": "Hm."}),
            json!({"type": "message", "text": long}),
            json!({"type": "end", "stopReason": "end_turn"}),
        ];
        assert_eq!(lines, expected);
    }
}
