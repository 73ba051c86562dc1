//! Answers what the agent wants to be allowed, one question after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use adjutant_core::permit::{Choice, ChoiceKind, ToolKind};
use agent_client_protocol::v1::Responder;
use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, SelectedPermissionOutcome, ToolKind as WireKind,
};

use crate::tell::Teller;
use crate::tools::Tools;

/// Something the agent wants to be allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// What the tool does.
    pub tool: ToolKind,
    /// The command it runs, else what the agent calls it.
    pub title: String,
    /// What people are to be told about it.
    pub text: String,
    /// What may be answered.
    pub choices: Vec<Choice>,
}

/// Says whether nobody waits for an answer any more.
#[derive(Debug, Clone)]
pub struct Stopped(Arc<AtomicBool>);

/// Whoever says what the agent may do.
pub trait Desk: Send + Sync {
    /// Returns the choice; none if nobody made one. May take as long as it wants, and looks now and
    /// then whether anybody waits for it.
    fn answer(&self, wish: &Wish, stopped: &Stopped) -> Option<String>;
}

impl Stopped {
    /// Says whether nobody waits any more.
    pub fn get(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

type Request = (RequestPermissionRequest, Responder<RequestPermissionResponse>);

/// Takes the questions of the agent; whoever answers them does so in a thread of its own.
#[derive(Clone)]
pub(crate) struct Clerk(Sender<Request>);

impl Clerk {
    /// Begins to answer. After `wanted` is set, every question is answered as cancelled.
    pub(crate) fn begin(
        desk: Arc<dyn Desk>,
        wanted: Arc<AtomicBool>,
        tools: Tools,
        teller: Arc<Teller>,
    ) -> Self {
        let (ask, questions) = channel();
        let stopped = Stopped(wanted);
        std::thread::spawn(move || answer_all(&questions, &*desk, &stopped, &tools, &teller));
        Self(ask)
    }

    /// Puts a question in line. One that cannot be is answered at once.
    pub(crate) fn ask(
        &self,
        request: RequestPermissionRequest,
        responder: Responder<RequestPermissionResponse>,
    ) -> Result<(), agent_client_protocol::Error> {
        match self.0.send((request, responder)) {
            Ok(()) => Ok(()),
            Err(unsent) => unsent.0.1.respond(outcome(None)),
        }
    }
}

fn answer_all(
    questions: &Receiver<Request>,
    desk: &dyn Desk,
    stopped: &Stopped,
    tools: &Tools,
    teller: &Teller,
) {
    for (request, responder) in questions {
        let wish = wish(&request, tools);
        let chosen = if stopped.get() { None } else { desk.answer(&wish, stopped) };
        // What was decided while somebody wanted it stopped is not begun.
        let chosen = chosen.filter(|_| !stopped.get());
        let choice = wish.choices.iter().find(|choice| Some(&choice.id) == chosen.as_ref());
        teller.permission(&wish, choice);
        let _ = responder.respond(outcome(choice));
    }
}

fn outcome(choice: Option<&Choice>) -> RequestPermissionResponse {
    let selected = |choice: &Choice| {
        RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(choice.id.clone()))
    };
    RequestPermissionResponse::new(choice.map_or(RequestPermissionOutcome::Cancelled, selected))
}

/// Reads what the agent asks. What it leaves out may have been told with the call of the tool.
fn wish(request: &RequestPermissionRequest, tools: &Tools) -> Wish {
    let call = tools.get(&request.tool_call.tool_call_id.0);
    let fields = &request.tool_call.fields;
    let tool = fields.kind.map(kind).or(call.kind).unwrap_or(ToolKind::Other);
    let title = fields.title.clone().or(call.title).unwrap_or_default();
    let command = fields.raw_input.as_ref().and_then(command).or(call.command);
    let name = [title.trim(), fields.name.as_deref().unwrap_or_default(), "something"]
        .into_iter()
        .find(|name| !name.is_empty())
        .unwrap_or_default()
        .to_owned();
    let text = match &command {
        Some(command) if !name.contains(command.as_str()) => format!("{tool}: {name}: {command}"),
        _ => format!("{tool}: {name}"),
    };
    let choices = request.options.iter().map(choice).collect();
    Wish { tool, title: command.unwrap_or(name), text, choices }
}

/// Returns the command in what a tool is called with.
pub(crate) fn command(input: &serde_json::Value) -> Option<String> {
    match input.get("command").or_else(|| input.get("cmd"))? {
        serde_json::Value::String(command) => Some(command.clone()),
        serde_json::Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(serde_json::Value::as_str).collect();
            // What a shell is told is the command.
            match words[..] {
                [shell, "-c" | "-lc", command] if shell.ends_with("sh") => Some(command.to_owned()),
                _ => Some(words.join(" ")),
            }
        }
        _ => None,
    }
    .filter(|command| !command.trim().is_empty())
}

fn choice(option: &PermissionOption) -> Choice {
    let kind = match option.kind {
        PermissionOptionKind::AllowOnce => ChoiceKind::AllowOnce,
        PermissionOptionKind::AllowAlways => ChoiceKind::AllowAlways,
        PermissionOptionKind::RejectAlways => ChoiceKind::RejectAlways,
        // What nobody knows yet allows nothing.
        _ => ChoiceKind::RejectOnce,
    };
    Choice { id: option.option_id.0.to_string(), name: option.name.clone(), kind }
}

/// Returns what a tool does, as the protocol has it.
pub(crate) fn kind(kind: WireKind) -> ToolKind {
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
    use super::*;
    use serde_json::json;

    #[test]
    fn the_command_is_what_a_shell_is_told() {
        let of = |input: serde_json::Value| command(&input);
        assert_eq!(of(json!({"command": "make"})).as_deref(), Some("make"));
        assert_eq!(of(json!({"command": ["bash", "-lc", "make x"]})).as_deref(), Some("make x"));
        assert_eq!(of(json!({"command": ["rm", "-r", "x"]})).as_deref(), Some("rm -r x"));
        assert_eq!(of(json!({"command": " "})), None);
        assert_eq!(of(json!({"path": "x"})), None);
    }
}
