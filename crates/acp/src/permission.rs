//! Answers the agent's permission requests, one at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use adjutant_model::permission::{ChoiceKind, PermissionChoice, ToolKind};
use agent_client_protocol::v1::Responder;
use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, SelectedPermissionOutcome, ToolKind as WireKind,
};

use crate::report_writer::ReportWriter;
use crate::tool_calls::{ToolCallCache, ToolPermissionRequest, extract_command};

/// Set once an answer is no longer needed: the agent is being stopped, or its turn is over.
#[derive(Debug, Clone)]
pub struct StopFlag(Arc<AtomicBool>);

/// Decides what the agent may do.
pub trait PermissionHandler: Send + Sync {
    /// Returns the id of the chosen answer, or `None` if no choice was made. May block for as long
    /// as it needs, but must check `stopped` regularly.
    fn answer(&self, asked: &ToolPermissionRequest, stopped: &StopFlag) -> Option<String>;
}

impl StopFlag {
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

type PendingPermission = (RequestPermissionRequest, Responder<RequestPermissionResponse>);

/// Queues the agent's permission requests; a thread of its own answers
/// them with a [`PermissionHandler`].
#[derive(Clone)]
pub(crate) struct PermissionQueue(Sender<PendingPermission>);

impl PermissionQueue {
    /// Starts the answering thread. Once `stop_requested` is set, every request is answered as cancelled.
    pub(crate) fn start(
        permissions: Arc<dyn PermissionHandler>,
        stop_requested: Arc<AtomicBool>,
        tools: ToolCallCache,
        report_writer: Arc<ReportWriter>,
    ) -> Self {
        let (ask, questions) = channel();
        let stopped = StopFlag(stop_requested);
        std::thread::spawn(move || {
            answer_all(&questions, &*permissions, &stopped, &tools, &report_writer);
        });
        Self(ask)
    }

    /// Queues a request. If the answering thread is gone, answers it as cancelled at once.
    pub(crate) fn enqueue(
        &self,
        request: RequestPermissionRequest,
        responder: Responder<RequestPermissionResponse>,
    ) -> Result<(), agent_client_protocol::Error> {
        match self.0.send((request, responder)) {
            Ok(()) => Ok(()),
            Err(unsent) => unsent.0.1.respond(to_permission_response(None)),
        }
    }
}

fn answer_all(
    questions: &Receiver<PendingPermission>,
    permissions: &dyn PermissionHandler,
    stopped: &StopFlag,
    tools: &ToolCallCache,
    report_writer: &ReportWriter,
) {
    for (request, responder) in questions {
        let asked = parse_permission_request(&request, tools);
        let chosen = if stopped.is_set() { None } else { permissions.answer(&asked, stopped) };
        // A stop during the decision cancels it: no new tool call may start.
        let chosen = chosen.filter(|_| !stopped.is_set());
        let choice = asked.choices.iter().find(|choice| Some(&choice.id) == chosen.as_ref());
        report_writer.write_permission(&asked, choice);
        let _ = responder.respond(to_permission_response(choice));
    }
}

fn to_permission_response(choice: Option<&PermissionChoice>) -> RequestPermissionResponse {
    let selected = |choice: &PermissionChoice| {
        RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(choice.id.clone()))
    };
    RequestPermissionResponse::new(choice.map_or(RequestPermissionOutcome::Cancelled, selected))
}

/// Reads a permission request. Fields it leaves out come from the earlier update of that tool call.
fn parse_permission_request(
    request: &RequestPermissionRequest,
    tools: &ToolCallCache,
) -> ToolPermissionRequest {
    let call = tools.get(&request.tool_call.tool_call_id.0);
    let fields = &request.tool_call.fields;
    let tool = fields.kind.map(to_tool_kind).or(call.kind).unwrap_or(ToolKind::Other);
    let title = fields.title.clone().or(call.title).unwrap_or_default();
    let command = fields.raw_input.as_ref().and_then(extract_command).or(call.command);
    let name = [title.trim(), fields.name.as_deref().unwrap_or_default(), "something"]
        .into_iter()
        .find(|name| !name.is_empty())
        .unwrap_or_default()
        .to_owned();
    let text = match &command {
        Some(command) if !name.contains(command.as_str()) => format!("{tool}: {name}: {command}"),
        _ => format!("{tool}: {name}"),
    };
    let choices = request.options.iter().map(to_permission_choice).collect();
    ToolPermissionRequest { tool, title: command.unwrap_or(name), text, choices }
}

fn to_permission_choice(option: &PermissionOption) -> PermissionChoice {
    let kind = match option.kind {
        PermissionOptionKind::AllowOnce => ChoiceKind::AllowOnce,
        PermissionOptionKind::AllowAlways => ChoiceKind::AllowAlways,
        PermissionOptionKind::RejectAlways => ChoiceKind::RejectAlways,
        // An option of an unknown kind must not allow anything.
        _ => ChoiceKind::RejectOnce,
    };
    PermissionChoice { id: option.option_id.0.to_string(), name: option.name.clone(), kind }
}

pub(crate) fn to_tool_kind(kind: WireKind) -> ToolKind {
    match kind {
        WireKind::Read => ToolKind::Read,
        WireKind::Edit => ToolKind::Edit,
        WireKind::Delete => ToolKind::Delete,
        WireKind::Move => ToolKind::Move,
        WireKind::Search => ToolKind::Search,
        WireKind::Execute => ToolKind::Execute,
        WireKind::Think => ToolKind::Think,
        WireKind::Fetch => ToolKind::Fetch,
        WireKind::SwitchMode => ToolKind::SwitchMode,
        _ => ToolKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tool_command_in_shell_wrapper_is_unwrapped() {
        let of = |input: serde_json::Value| extract_command(&input);
        assert_eq!(of(json!({"command": "make"})).as_deref(), Some("make"));
        assert_eq!(of(json!({"command": ["bash", "-lc", "make x"]})).as_deref(), Some("make x"));
        assert_eq!(of(json!({"command": ["rm", "-r", "x"]})).as_deref(), Some("rm -r x"));
        assert_eq!(of(json!({"command": " "})), None);
        assert_eq!(of(json!({"path": "x"})), None);
    }
}
