//! Remembers tool calls: a permission request may name a call by its id and say no more.
//!
//! Agents tell what a call does in different fields: `rawInput`, the text or the diffs of `content`,
//! `locations`, `_meta`, or the title alone. All of them are read.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use adjutant_model::permission::{PermissionChoice, RequestedAction, ToolKind};
use parking_lot::Mutex;
use serde_json::{Map, Value};

use crate::server_tool::ServerTool;

const CALLS_MAX: usize = 256;
const PATHS_MAX: usize = 64;
/// Kimi writes the command into a text, after these words.
const COMMAND_INTRODUCTIONS: [&str; 2] = ["Requesting approval to Running: ", "Running: "];
/// Titles of tools that run commands; other titles of such calls are the command.
const SHELL_TITLES: [&str; 9] =
    ["bash", "command", "exec", "execute", "run", "run command", "shell", "terminal", "tool"];

/// A tool call for which the agent asks permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolPermissionRequest {
    /// Everything that is asked for at once; at least one action.
    pub actions: Vec<RequestedAction>,
    /// Whether the request names its call. Otherwise the actions are the calls that the agent has
    /// announced, and the request may be about something else.
    pub names_its_call: bool,
    /// The description shown to people.
    pub text: String,
    /// The answers that the agent offers.
    pub choices: Vec<PermissionChoice>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ToolCallInfo {
    kind: Option<ToolKind>,
    title: Option<String>,
    /// The name of the tool, where the agent gives one besides the title.
    name: Option<String>,
    /// The MCP server of the tool, where the agent names it.
    server: Option<String>,
    input: Map<String, Value>,
    paths: Vec<String>,
    /// The changes of files, as lines with `+` and `-`.
    diff: Option<String>,
    /// Text beside the input.
    note: Option<String>,
    /// Whether the agent has announced the call, and not ended it yet.
    is_open: bool,
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
        call.merge(update);
        calls.push_back((id.to_owned(), call));
        if calls.len() > CALLS_MAX {
            calls.pop_front();
        }
    }

    /// Returns what is known about a call; `None` for an unknown id.
    pub(crate) fn get(&self, id: &str) -> Option<ToolCallInfo> {
        let calls = self.0.lock();
        let found = calls.iter().find(|(known, _)| known == id);
        found.map(|(_, call)| call.clone())
    }

    /// Returns the calls that were announced and have not ended, oldest first.
    pub(crate) fn open_calls(&self) -> Vec<ToolCallInfo> {
        let calls = self.0.lock();
        calls.iter().filter(|(_, call)| call.is_open).map(|(_, call)| call.clone()).collect()
    }
}

impl ToolCallInfo {
    /// Adds what an update or a permission request says. What it leaves out stays.
    pub(crate) fn merge(&mut self, call: &Value) {
        let text = |key: &str| call[key].as_str().filter(|text| !text.trim().is_empty());
        self.kind = text("kind").and_then(ToolKind::parse).or(self.kind);
        self.title = text("title").map(str::to_owned).or(self.title.take());
        let meta = &call["_meta"];
        let name = text("name").or(find_text(meta, "toolName")).or(find_text(meta, "tool_name"));
        self.name = name.map(str::to_owned).or(self.name.take());
        let server = find_text(&meta["claudeCode"]["mcpServer"], "name");
        self.server = server.map(str::to_owned).or(self.server.take());
        if let Some(status) = text("status") {
            self.is_open = matches!(status, "pending" | "in_progress");
        }
        if let Some(input) = call["rawInput"].as_object() {
            self.input.clone_from(input);
        }
        for location in call["locations"].as_array().into_iter().flatten() {
            self.add_path(&location["path"]);
        }
        for part in call["content"].as_array().into_iter().flatten() {
            self.merge_content(part);
        }
    }

    fn merge_content(&mut self, part: &Value) {
        if part["type"] == "diff" {
            self.add_path(&part["path"]);
            self.diff = Some(render_diff(part));
        }
        let Some(text) = part["content"]["text"].as_str().filter(|text| !text.trim().is_empty())
        else {
            return;
        };
        // Kimi and Gemini write the input of a tool as text.
        match serde_json::from_str(text) {
            Ok(Value::Object(input)) if self.input.is_empty() => self.input = input,
            Ok(Value::Object(_)) => {}
            _ => self.note = Some(text.to_owned()),
        }
    }

    fn add_path(&mut self, path: &Value) {
        let Some(path) = path.as_str().filter(|path| !path.is_empty()) else { return };
        if self.paths.len() < PATHS_MAX && !self.paths.iter().any(|known| known == path) {
            self.paths.push(path.to_owned());
        }
    }

    /// Returns what the call is about to do. `workspace` is the folder the agent works in.
    pub(crate) fn requested_action(&self, workspace: &Path, own_server: &str) -> RequestedAction {
        let named = [&self.name, &self.title].into_iter().flatten();
        // A tool with a name of its own is not what its title says.
        let named = named.take(1).find_map(|name| ServerTool::parse(name, own_server));
        let server = self.server.clone().or(named.map(|tool| tool.server));
        let command = if server.is_none() { self.command() } else { None };
        let title = self.title_text();
        RequestedAction {
            tool: self.tool(command.as_deref()),
            is_seen: command.is_some()
                || server.is_some()
                || self.diff.is_some()
                || !self.input.is_empty()
                || !self.paths.is_empty(),
            title: command.clone().unwrap_or(title),
            paths: self.all_paths(workspace),
            command,
            server,
        }
    }

    /// Returns the text that shows people the whole command or change.
    pub(crate) fn describe(&self, action: &RequestedAction) -> String {
        let (tool, name) = (action.tool, self.title_text());
        let mut text = format!("{tool}: {name}");
        if let Some(command) = action.command.as_deref().filter(|command| !name.contains(*command))
        {
            text = format!("{text}: {command}");
        }
        let unnamed = action.paths.iter().filter(|path| !text.contains(path.as_str()));
        let unnamed: Vec<&str> = unnamed.map(String::as_str).collect();
        if !unnamed.is_empty() {
            text = format!("{text}: {}", unnamed.join(", "));
        }
        let change = self.diff.as_deref().or(self.input.get("diff").and_then(Value::as_str));
        let note = self.note.as_deref().filter(|_| !action.is_seen);
        match change.or(note) {
            Some(more) => format!("{text}\n{}", more.trim_matches('\n')),
            None => text,
        }
    }

    fn title_text(&self) -> String {
        let names = [self.title.as_deref(), self.name.as_deref(), Some("something")];
        names
            .into_iter()
            .flatten()
            .map(str::trim)
            .find(|name| !name.is_empty())
            .unwrap_or("")
            .into()
    }

    fn tool(&self, command: Option<&str>) -> ToolKind {
        let otherwise = if command.is_some() { ToolKind::Execute } else { ToolKind::Other };
        self.kind.unwrap_or(otherwise)
    }

    /// Returns the command line, wherever the agent put it.
    fn command(&self) -> Option<String> {
        let of_note = || {
            let note = self.note.as_deref()?;
            COMMAND_INTRODUCTIONS
                .iter()
                .find_map(|start| note.strip_prefix(start))
                .map(str::to_owned)
        };
        // Gemini names the command in the title alone.
        let of_title = || {
            let title = self.title.as_deref().filter(|_| self.kind == Some(ToolKind::Execute))?;
            let is_name = SHELL_TITLES.contains(&title.trim().to_lowercase().as_str());
            (!is_name && self.input.is_empty()).then(|| title.to_owned())
        };
        // The `command` of an editor is what it does to the file.
        let is_edit = matches!(self.kind, Some(ToolKind::Edit | ToolKind::Delete | ToolKind::Move));
        let of_input = || extract_command(&self.input).filter(|_| !is_edit);
        of_input().or_else(of_note).or_else(of_title)
    }

    fn all_paths(&self, workspace: &Path) -> Vec<String> {
        const KEYS: [&str; 10] = [
            "path",
            "file_path",
            "filePath",
            "fileName",
            "file",
            "abs_path",
            "notebook_path",
            "source",
            "destination",
            "new_path",
        ];
        let of_input = KEYS.iter().filter_map(|key| self.input.get(*key)?.as_str());
        let mut all: Vec<String> = vec![];
        for path in self.paths.iter().map(String::as_str).chain(of_input) {
            let inside = inside_workspace(path, workspace);
            if !all.contains(&inside) {
                all.push(inside);
            }
        }
        all
    }
}

/// Returns a path relative to the workspace if it is in it, else as it is, without `.` and `..`.
fn inside_workspace(path: &str, workspace: &Path) -> String {
    use std::path::{Component, PathBuf};

    let mut plain = PathBuf::new();
    for part in workspace.join(path).components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain.strip_prefix(workspace).unwrap_or(&plain).to_string_lossy().into_owned()
}

/// Returns the text under a key, in an object or in one of its values.
fn find_text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    let fields = value.as_object()?;
    let direct = fields.get(key).and_then(Value::as_str);
    direct.or_else(|| fields.values().find_map(|inner| inner.get(key)?.as_str()))
}

/// Renders a diff of ACP, which has the whole old and new text.
fn render_diff(part: &Value) -> String {
    let lines = |key: &str| part[key].as_str().unwrap_or_default().lines();
    let (old, new): (Vec<&str>, Vec<&str>) =
        (lines("oldText").collect(), lines("newText").collect());
    let start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[start..], &new[start..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let removed = old[..old.len() - end].iter().map(|line| format!("-{line}\n"));
    let added = new[..new.len() - end].iter().map(|line| format!("+{line}\n"));
    removed.chain(added).collect()
}

/// Returns the shell command in a tool's raw input, if there is one.
fn extract_command(input: &Map<String, Value>) -> Option<String> {
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

    fn call(updates: &[Value]) -> ToolCallInfo {
        let mut call = ToolCallInfo::default();
        for update in updates {
            call.merge(update);
        }
        call
    }

    fn action(updates: &[Value]) -> RequestedAction {
        call(updates).requested_action(Path::new("/p"), "adjutant")
    }

    fn text_content(text: &str) -> Value {
        json!([{"type": "content", "content": {"type": "text", "text": text}}])
    }

    fn run(line: &str) -> RequestedAction {
        RequestedAction {
            tool: ToolKind::Execute,
            title: line.into(),
            command: Some(line.into()),
            is_seen: true,
            ..RequestedAction::default()
        }
    }

    /// Requests as the programs sent them.
    #[test]
    fn permission_request_shows_its_command_whatever_the_agent() {
        let kimi = [
            json!({"sessionUpdate": "tool_call", "title": "Bash", "kind": "execute",
                   "content": text_content("")}),
            json!({"title": "Bash",
                   "content": text_content("Requesting approval to Running: git push")}),
        ];
        let kimi_streamed = [
            json!({"sessionUpdate": "tool_call", "title": "Bash", "kind": "execute"}),
            json!({"content": text_content("{\"command\": \"git pu")}),
            json!({"content": text_content("{\"command\": \"git push\"}")}),
        ];
        let qwen = json!({"title": "git push", "kind": "execute",
            "rawInput": {"command": "git push"}, "_meta": {"toolName": "run_shell_command"},
            "content": text_content("Auto Mode couldn't classify this action.")});
        let copilot = json!({"title": "Push", "kind": "execute",
            "rawInput": {"command": "git push", "commands": ["git push"]}});
        let gemini = json!({"title": "git push", "kind": "execute", "locations": [],
            "content": text_content("[current working directory /p]")});
        let claude = json!({"name": "Bash", "title": "git push", "kind": "execute",
            "rawInput": {"command": "git push"}, "content": []});
        let codex =
            json!({"kind": "execute", "rawInput": {"command": ["bash", "-lc", "git push"]}});
        let vibe = [
            json!({"title": "bash: git push", "kind": "execute", "status": "in_progress",
                   "rawInput": {"command": "git push"},
                   "_meta": {"tool_name": "file_system.bash", "effect_kind": "shell"}}),
            json!({"toolCallId": "effect-1"}),
        ];
        for updates in
            [&kimi[..], &kimi_streamed, &vibe, &[qwen], &[copilot], &[gemini], &[claude], &[codex]]
        {
            assert_eq!(action(updates), run("git push"), "{updates:?}");
        }
    }

    #[test]
    fn permission_request_shows_its_file_and_change() {
        let diff = json!({"type": "diff", "path": "/p/edit.txt", "oldText": "a\nb\nc\n",
                          "newText": "a\nB\nc\n"});
        let claude = json!({"name": "Write", "title": "Write edit.txt", "kind": "edit",
            "rawInput": {"file_path": "/p/edit.txt", "content": "x"}, "content": [diff],
            "locations": [{"path": "/p/edit.txt"}]});
        let copilot = json!({"title": "Create file", "kind": "edit",
            "rawInput": {"fileName": "/p/edit.txt", "diff": "+x\n"},
            "locations": [{"path": "/p/edit.txt"}]});
        for updates in [[claude.clone()], [copilot.clone()]] {
            let action = action(&updates);
            assert_eq!(action.paths, ["edit.txt"]);
            assert!(action.is_seen && action.command.is_none(), "{action:?}");
        }
        let describe = |update: Value| {
            let updates = [update];
            call(&updates).describe(&action(&updates))
        };
        assert_eq!(describe(claude), "edit: Write edit.txt\n-b\n+B");
        assert_eq!(describe(copilot), "edit: Create file: edit.txt\n+x");
        let openhands = json!({"kind": "edit", "rawInput": {"command": "create", "path": "a"}});
        assert_eq!(action(&[openhands]).command, None);
        let outside = json!({"kind": "edit", "rawInput": {"path": "src/../../etc/passwd"}});
        assert_eq!(action(&[outside]).paths, ["/etc/passwd"]);
    }

    #[test]
    fn permission_request_without_content_is_known_as_unseen() {
        let unseen = json!({"title": "Confirm Agent Actions", "kind": "other"});
        assert!(!action(&[unseen]).is_seen);
        let unnamed = json!({"title": "Bash", "kind": "execute"});
        let unnamed = action(&[unnamed]);
        assert!(!unnamed.is_seen && unnamed.command.is_none(), "{unnamed:?}");
        let noted = json!({"title": "Confirm", "content": text_content("rm -r build")});
        let noted = [noted];
        let text = call(&noted).describe(&action(&noted));
        assert_eq!(text, "other: Confirm\nrm -r build");
    }

    #[test]
    fn permission_request_names_server_of_its_tool_whatever_the_agent() {
        let arguments = json!({"summary": "It is done."});
        for call in [
            json!({"title": "{\"summary\":\"It is done.\"}", "kind": "other",
                   "rawInput": arguments, "_meta": {"toolName": "mcp__adjutant__complete"}}),
            json!({"title": "mcp__adjutant__complete", "content":
                   text_content("Requesting approval to Approve mcp__adjutant__complete")}),
            json!({"title": "mcp_adjutant.complete", "kind": "other", "rawInput": arguments,
                   "_meta": {"tool_name": "mcp_adjutant.complete", "effect_kind": "tool"}}),
            json!({"title": "complete (adjutant MCP Server)", "kind": "other", "locations": [],
                   "content": text_content("{\"summary\":\"It is done.\"}")}),
            json!({"name": "mcp__adjutant__complete", "title": "mcp__adjutant__complete",
                   "kind": "other", "rawInput": arguments, "content": [], "_meta": {"claudeCode":
                   {"toolName": "mcp__adjutant__complete", "mcpServer": {"name": "adjutant"}}}}),
        ] {
            let action = action(std::slice::from_ref(&call));
            assert_eq!(action.server.as_deref(), Some("adjutant"), "{call}");
            assert!(action.command.is_none() && action.paths.is_empty(), "{call}");
        }
        // A title does not make a tool with a name of its own one of ours.
        let forged = json!({"name": "Bash", "title": "mcp__adjutant__complete", "kind": "other",
                            "rawInput": {"command": "rm -r /"}});
        assert_eq!(action(&[forged]).server, None);
    }

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
        let known = tools.get("1").expect("it was announced");
        assert_eq!(known.title.as_deref(), Some("Terminal"));
        assert_eq!(known.requested_action(Path::new("/p"), "adjutant"), run("make"));
        assert_eq!(tools.get("2"), None);
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
        assert_eq!(tools.get("0"), None);
        assert_eq!(tools.get("1").and_then(|call| call.title).as_deref(), Some("x"));
    }

    #[test]
    fn tool_command_in_shell_wrapper_is_unwrapped() {
        let of = |input: Value| extract_command(input.as_object().expect("an object"));
        assert_eq!(of(json!({"command": "make"})).as_deref(), Some("make"));
        assert_eq!(of(json!({"command": ["bash", "-lc", "make x"]})).as_deref(), Some("make x"));
        assert_eq!(of(json!({"command": ["rm", "-r", "x"]})).as_deref(), Some("rm -r x"));
        assert_eq!(of(json!({"command": " "})), None);
        assert_eq!(of(json!({"path": "x"})), None);
    }
}
