//! Answers the agent's permission requests, one at a time.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use adjutant_model::permission::{ChoiceKind, PermissionChoice};
use agent_client_protocol::v1::Responder;
use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, SelectedPermissionOutcome,
};

use crate::report_writer::ReportWriter;
use crate::tool_calls::{ToolCallCache, ToolCallInfo, ToolPermissionRequest};

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

/// What a request is read against.
#[derive(Debug, Clone)]
pub(crate) struct PermissionScope {
    /// The folder that the agent works in.
    pub(crate) workspace: PathBuf,
    /// The name of our MCP server.
    pub(crate) own_server: String,
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
        scope: PermissionScope,
        report_writer: Arc<ReportWriter>,
    ) -> Self {
        let (ask, questions) = channel();
        let stopped = StopFlag(stop_requested);
        std::thread::spawn(move || {
            answer_all(&questions, &*permissions, &stopped, &tools, &scope, &report_writer);
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
    scope: &PermissionScope,
    report_writer: &ReportWriter,
) {
    for (request, responder) in questions {
        let asked = parse_permission_request(&request, tools, scope);
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

/// Reads a permission request. Fields it leaves out come from the earlier updates of that tool call.
fn parse_permission_request(
    request: &RequestPermissionRequest,
    tools: &ToolCallCache,
    scope: &PermissionScope,
) -> ToolPermissionRequest {
    let known = tools.get(&request.tool_call.tool_call_id.0);
    let is_known = known.is_some();
    let mut call = known.unwrap_or_default();
    call.merge(&serde_json::to_value(&request.tool_call).unwrap_or_default());
    let action = |call: &ToolCallInfo| call.requested_action(&scope.workspace, &scope.own_server);
    let mut asked = vec![(action(&call), call)];
    // OpenHands asks with an id of its own about the calls that it has announced.
    let shows_nothing = asked.iter().all(|(action, _)| !action.is_seen);
    let announced = if is_known || !shows_nothing { vec![] } else { tools.open_calls() };
    let names_its_call = announced.is_empty();
    if !names_its_call {
        asked = announced.into_iter().map(|call| (action(&call), call)).collect();
    }
    let texts: Vec<String> = asked.iter().map(|(action, call)| call.describe(action)).collect();
    let text = texts.join("\n");
    let actions = asked.into_iter().map(|(action, _)| action).collect();
    let choices = request.options.iter().map(to_permission_choice).collect();
    ToolPermissionRequest { actions, names_its_call, text, choices }
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
