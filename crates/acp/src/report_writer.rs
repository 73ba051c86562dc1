//! Reports events of the conversation as lines of JSON.

use std::io::Write;
use std::time::{Duration, Instant};

use adjutant_model::permission::{PermissionChoice, ToolKind};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::AcpError;
use crate::tool_calls::ToolPermissionRequest;

/// How much text of a message is buffered, so that it becomes one line and not one per word.
const MESSAGE_BYTES_MAX: usize = 4 << 10;
/// How long message text is buffered at most.
const MESSAGE_DELAY_MAX: Duration = Duration::from_secs(1);

pub(crate) struct ReportWriter(Mutex<WriterState>);

struct WriterState {
    out: Box<dyn Write + Send>,
    /// The buffered text of the agent: its kind, the text, and when buffering began.
    buffered: Option<(&'static str, String, Instant)>,
}

impl ReportWriter {
    pub(crate) fn new(out: Box<dyn Write + Send>) -> Self {
        Self(Mutex::new(WriterState { out, buffered: None }))
    }

    /// Reports the agent's own name and version.
    pub(crate) fn write_agent(&self, name: Option<&str>, version: Option<&str>) {
        self.write_line(&json!({"type": "agent", "name": name, "version": version}));
    }

    /// Reports the session id, and whether the agent can resume the session later.
    pub(crate) fn write_session(&self, id: &str, can_go_on: bool) {
        self.write_line(&json!({"type": "session", "id": id, "canGoOn": can_go_on}));
    }

    /// Reports that the earlier session could not be resumed.
    pub(crate) fn write_session_lost(&self, why: &str) {
        self.write_line(&json!({"type": "anew", "message": why}));
    }

    /// Reports that the agent refused to start our MCP server and got its HTTP endpoint instead.
    pub(crate) fn write_http_fallback(&self, why: &str) {
        self.write_line(&json!({"type": "mcp", "transport": "http", "message": why}));
    }

    /// Reports an update as the agent sent it. Text that arrives in chunks is joined first.
    pub(crate) fn write_update(&self, update: &Value) {
        let kind = match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => "message",
            Some("agent_thought_chunk") => "thought",
            _ => return self.write_line(&json!({"type": "update", "update": update})),
        };
        let Some(text) = update["content"]["text"].as_str() else {
            return self.write_line(&json!({"type": "update", "update": update}));
        };
        self.with_state(|state| state.buffer_text(kind, text));
    }

    /// Reports the answer to a permission request.
    pub(crate) fn write_permission(
        &self,
        request: &ToolPermissionRequest,
        choice: Option<&PermissionChoice>,
    ) {
        let answer = match choice {
            Some(choice) if choice.kind.allows() => "allowed",
            Some(_) => "denied",
            None => "cancelled",
        };
        let choice = choice.map(|choice| &choice.id);
        let tool = request.actions.first().map_or(ToolKind::Other, |action| action.tool);
        self.write_line(&json!({
            "type": "permission", "tool": tool.as_str(), "text": request.text,
            "answer": answer, "choice": choice,
        }));
    }

    /// Reports the token usage of the turn, if the agent sent it.
    pub(crate) fn write_usage(&self, usage: &Value) {
        self.write_line(&json!({"type": "usage", "usage": usage}));
    }

    pub(crate) fn write_end(&self, reason: &str) {
        self.write_line(&json!({"type": "end", "stopReason": reason}));
    }

    pub(crate) fn write_error(&self, trouble: &AcpError) {
        let kind = match trouble {
            AcpError::SignInRequired(_) => "sign_in",
            AcpError::Stopped => "stopped",
            _ => "error",
        };
        self.write_line(&json!({"type": "error", "kind": kind, "message": trouble.to_string()}));
    }

    /// Forwards output of the agent that is not a protocol message.
    pub(crate) fn write_raw(&self, line: &str) {
        self.with_state(|state| {
            state.flush();
            let _ = writeln!(state.out, "{line}");
        });
    }

    /// Forwards a line of the agent's log. A line that starts like our JSON is wrapped, so that a
    /// reader cannot mistake it for one of ours.
    pub(crate) fn write_log(&self, line: &str) {
        if line.trim_start().starts_with('{') {
            return self.write_line(&json!({"type": "log", "text": line}));
        }
        self.write_raw(line);
    }

    fn write_line(&self, line: &Value) {
        self.with_state(|state| {
            state.flush();
            let _ = writeln!(state.out, "{line}").and_then(|()| state.out.flush());
        });
    }

    fn with_state(&self, then: impl FnOnce(&mut WriterState)) {
        then(&mut self.0.lock());
    }
}

impl WriterState {
    fn buffer_text(&mut self, kind: &'static str, text: &str) {
        if self.buffered.as_ref().is_some_and(|(before, _, _)| *before != kind) {
            self.flush();
        }
        let (_, text_so_far, since) =
            self.buffered.get_or_insert((kind, String::new(), Instant::now()));
        text_so_far.push_str(text);
        if text_so_far.len() >= MESSAGE_BYTES_MAX || since.elapsed() >= MESSAGE_DELAY_MAX {
            self.flush();
        }
    }

    /// Writes the buffered text. Write errors are ignored: a missing reader must not
    /// stop the agent.
    fn flush(&mut self) {
        if let Some((kind, text, _)) = self.buffered.take() {
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
    struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

    impl Write for SharedBuffer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn message_chunks_are_reported_as_one_line() {
        let sheet = SharedBuffer::default();
        let report_writer = ReportWriter::new(Box::new(sheet.clone()));
        let piece = |kind: &str, text: &str| {
            let content = json!({"type": "text", "text": text});
            report_writer.write_update(&json!({"sessionUpdate": kind, "content": content}));
        };
        piece("agent_thought_chunk", "Hm.");
        piece("agent_message_chunk", "It is");
        piece("agent_message_chunk", " done.\n");
        piece("agent_message_chunk", &"x".repeat(MESSAGE_BYTES_MAX));
        report_writer.write_end("end_turn");
        let text = sheet.0.lock().clone();
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
