//! Remembers tool calls: a permission request may name a call by its id and say no more.

use std::collections::VecDeque;
use std::sync::Arc;

use adjutant_model::permission::{PermissionChoice, ToolKind};
use parking_lot::Mutex;
use serde_json::Value;

const CALLS_MAX: usize = 256;

/// A tool call for which the agent asks permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolPermissionRequest {
    pub tool: ToolKind,
    /// The command the tool runs; without one, the tool's title, its name or "something".
    pub title: String,
    /// The description shown to people.
    pub text: String,
    /// The answers that the agent offers.
    pub choices: Vec<PermissionChoice>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ToolCallInfo {
    pub(crate) kind: Option<ToolKind>,
    pub(crate) title: Option<String>,
    pub(crate) command: Option<String>,
}

/// The most recent calls, by id.
#[derive(Clone, Default)]
pub(crate) struct ToolCallCache(Arc<Mutex<VecDeque<(String, ToolCallInfo)>>>);

impl ToolCallCache {
    /// Merges a session update into the call that it names.
    pub(crate) fn record_update(&self, update: &Value) {
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        let Some(id) = update["toolCallId"].as_str() else { return };
        if !matches!(kind, "tool_call" | "tool_call_update") {
            return;
        }
        let mut calls = self.0.lock();
        let known = calls.iter().position(|(known, _)| known == id);
        let mut call = known.and_then(|at| calls.remove(at)).unwrap_or_default().1;
        let text = |key: &str| update[key].as_str().filter(|text| !text.is_empty());
        call.kind = text("kind").and_then(ToolKind::parse).or(call.kind);
        call.title = text("title").map(str::to_owned).or(call.title);
        call.command = update.get("rawInput").and_then(extract_command).or(call.command);
        calls.push_back((id.to_owned(), call));
        if calls.len() > CALLS_MAX {
            calls.pop_front();
        }
    }

    /// Returns what is known about a call; empty for an unknown id.
    pub(crate) fn get(&self, id: &str) -> ToolCallInfo {
        let calls = self.0.lock();
        let found = calls.iter().find(|(known, _)| known == id);
        found.map(|(_, call)| call.clone()).unwrap_or_default()
    }
}

/// Returns the shell command in a tool's raw input, if there is one.
pub(crate) fn extract_command(input: &Value) -> Option<String> {
    match input.get("command").or_else(|| input.get("cmd"))? {
        Value::String(command) => Some(command.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            // For `sh -c COMMAND`, the command is what the shell runs.
            match words[..] {
                [shell, "-c" | "-lc", command] if shell.ends_with("sh") => Some(command.to_owned()),
                _ => Some(words.join(" ")),
            }
        }
        _ => None,
    }
    .filter(|command| !command.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tool_call_update_adds_to_earlier_fields() {
        let tools = ToolCallCache::default();
        let update = |kind: &str, rest: Value| {
            let mut update = rest;
            update["sessionUpdate"] = kind.into();
            update["toolCallId"] = "1".into();
            tools.record_update(&update);
        };
        update("tool_call", json!({"kind": "execute", "title": "Terminal"}));
        update("tool_call_update", json!({"rawInput": {"command": "make"}, "title": ""}));
        update("agent_message_chunk", json!({"title": "x"}));
        let expected = ToolCallInfo {
            kind: Some(ToolKind::Execute),
            title: Some("Terminal".into()),
            command: Some("make".into()),
        };
        assert_eq!(tools.get("1"), expected);
        assert_eq!(tools.get("2"), ToolCallInfo::default());
    }

    #[test]
    fn tool_calls_beyond_limit_are_forgotten() {
        let tools = ToolCallCache::default();
        for number in 0..=CALLS_MAX {
            let id = number.to_string();
            tools.record_update(
                &json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": "x"}),
            );
        }
        assert_eq!(tools.get("0"), ToolCallInfo::default());
        assert_eq!(tools.get("1").title.as_deref(), Some("x"));
    }
}
