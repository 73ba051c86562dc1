//! What is known of the tools the agent called: a question names a call, and may say no more.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use adjutant_core::permit::ToolKind;
use serde_json::Value;

use crate::desk::command;

/// How many calls are remembered.
const CALLS_MAX: usize = 256;

/// What is known of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) kind: Option<ToolKind>,
    pub(crate) title: Option<String>,
    pub(crate) command: Option<String>,
}

/// The last calls, by their ids.
#[derive(Clone, Default)]
pub(crate) struct Tools(Arc<Mutex<VecDeque<(String, Call)>>>);

impl Tools {
    /// Takes in what an update tells of a call.
    pub(crate) fn hear(&self, update: &Value) {
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        let Some(id) = update["toolCallId"].as_str() else { return };
        if !matches!(kind, "tool_call" | "tool_call_update") {
            return;
        }
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = calls.iter().position(|(known, _)| known == id);
        let mut call = known.and_then(|at| calls.remove(at)).unwrap_or_default().1;
        let text = |key: &str| update[key].as_str().filter(|text| !text.is_empty());
        call.kind = text("kind").and_then(ToolKind::parse).or(call.kind);
        call.title = text("title").map(str::to_owned).or(call.title);
        call.command = update.get("rawInput").and_then(command).or(call.command);
        calls.push_back((id.to_owned(), call));
        if calls.len() > CALLS_MAX {
            calls.pop_front();
        }
    }

    /// Returns what is known of a call.
    pub(crate) fn get(&self, id: &str) -> Call {
        let calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = calls.iter().find(|(known, _)| known == id);
        found.map(|(_, call)| call.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_told_later_adds_to_what_was_told_before() {
        let tools = Tools::default();
        let update = |kind: &str, rest: Value| {
            let mut update = rest;
            update["sessionUpdate"] = kind.into();
            update["toolCallId"] = "1".into();
            tools.hear(&update);
        };
        update("tool_call", json!({"kind": "execute", "title": "Terminal"}));
        update("tool_call_update", json!({"rawInput": {"command": "make"}, "title": ""}));
        update("agent_message_chunk", json!({"title": "x"}));
        let expected = Call {
            kind: Some(ToolKind::Execute),
            title: Some("Terminal".into()),
            command: Some("make".into()),
        };
        assert_eq!(tools.get("1"), expected);
        assert_eq!(tools.get("2"), Call::default());
    }

    #[test]
    fn only_the_last_calls_are_remembered() {
        let tools = Tools::default();
        for number in 0..=CALLS_MAX {
            let id = number.to_string();
            tools.hear(&json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": "x"}));
        }
        assert_eq!(tools.get("0"), Call::default());
        assert_eq!(tools.get("1").title.as_deref(), Some("x"));
    }
}
