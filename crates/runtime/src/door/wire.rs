//! What goes through the door, line by line.

use adjutant_core::input::Asked;
use adjutant_core::permit::{Choice, ChoiceKind};
use adjutant_core::{Actor, Answer, Problem, Reason, Status, TaskId, Verdict};
use adjutant_store::record::{decode, encode};
use serde::{Deserialize, Serialize};

use super::command::{CallerWire, CommandWire};
use crate::engine::{Answered, Request};

/// What of a line cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BadRequest(pub(crate) &'static str);

/// A request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum RequestWire {
    Message(String),
    /// A message that is no text.
    Bytes(Vec<u8>),
    Inside {
        task_id: String,
        token: String,
        text: String,
    },
    SessionEnd(Option<String>),
    Stories {
        by: String,
    },
    LifeSign {
        task_id: String,
        by: String,
        token: String,
    },
    PermissionAsked {
        task_id: String,
        by: String,
        token: String,
        number: u32,
        text: String,
        /// Id, name and kind of each.
        choices: Vec<(String, String, String)>,
    },
    Command {
        by: CallerWire,
        command: CommandWire,
    },
}

/// What came of a request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ReplyWire {
    Answered(Box<AnsweredWire>),
    Failed {
        message: String,
        causes: Vec<String>,
    },
    /// Whoever decides in a fleet could not be reached, or did not answer.
    Alone {
        message: String,
        causes: Vec<String>,
    },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AnsweredWire {
    result: String,
    reason: Option<String>,
    task_id: Option<String>,
    status: Option<String>,
    problems: Vec<(String, String)>,
    /// Lines of the record.
    events: Vec<String>,
}

impl TryFrom<&Request> for RequestWire {
    type Error = BadRequest;

    fn try_from(request: &Request) -> Result<Self, BadRequest> {
        Ok(match request {
            Request::Message(raw) => match std::str::from_utf8(raw) {
                Ok(text) => Self::Message(text.to_owned()),
                Err(_) => Self::Bytes(raw.clone()),
            },
            Request::Inside { task, token, raw } => Self::Inside {
                task_id: task.to_string(),
                token: token.clone(),
                text: String::from_utf8_lossy(raw).into_owned(),
            },
            Request::SessionEnd(task) => Self::SessionEnd(task.as_ref().map(ToString::to_string)),
            Request::Command { by, command } => {
                Self::Command { by: by.into(), command: command.into() }
            }
            Request::LifeSign { task, by, token } => Self::LifeSign {
                task_id: task.to_string(),
                by: by.to_string(),
                token: token.clone(),
            },
            Request::PermissionAsked { task, by, token, asked } => Self::PermissionAsked {
                task_id: task.to_string(),
                by: by.to_string(),
                token: token.clone(),
                number: asked.number,
                text: asked.text.clone(),
                choices: asked.choices.iter().map(from_choice).collect(),
            },
            // What the files say is read by whoever is asked.
            Request::Stories { by, .. } => Self::Stories { by: by.to_string() },
            // Runs, their work and time are the daemon's own business.
            Request::Line { .. }
            | Request::Beat { .. }
            | Request::Seen { .. }
            | Request::Keyed { .. }
            | Request::FromRun { .. }
            | Request::Refused(_)
            | Request::Notified { .. }
            | Request::RunExited { .. }
            | Request::WorkChecked { .. }
            | Request::WorkMerged { .. }
            | Request::WorkSaved { .. }
            | Request::Tick { .. } => {
                return Err(BadRequest("request"));
            }
        })
    }
}

impl TryFrom<RequestWire> for Request {
    type Error = BadRequest;

    fn try_from(wire: RequestWire) -> Result<Self, BadRequest> {
        Ok(match wire {
            RequestWire::Message(text) => Self::Message(text.into_bytes()),
            RequestWire::Bytes(raw) => Self::Message(raw),
            RequestWire::Inside { task_id, token, text } => {
                let task = TaskId::parse(&task_id).map_err(|_| BadRequest("taskId"))?;
                Self::Inside { task, token, raw: text.into_bytes() }
            }
            RequestWire::SessionEnd(None) => Self::SessionEnd(None),
            RequestWire::SessionEnd(Some(id)) => {
                Self::SessionEnd(Some(TaskId::parse(&id).map_err(|_| BadRequest("sessionEnd"))?))
            }
            RequestWire::Stories { by } => {
                let by = Actor::parse(&by).ok_or(BadRequest("by"))?;
                Self::Stories { by, told: None, facts: vec![] }
            }
            RequestWire::LifeSign { task_id, by, token } => {
                let task = TaskId::parse(&task_id).map_err(|_| BadRequest("taskId"))?;
                Self::LifeSign { task, by: Actor::parse(&by).ok_or(BadRequest("by"))?, token }
            }
            RequestWire::PermissionAsked { task_id, by, token, number, text, choices } => {
                let task = TaskId::parse(&task_id).map_err(|_| BadRequest("taskId"))?;
                let by = Actor::parse(&by).ok_or(BadRequest("by"))?;
                let choices = choices.into_iter().map(to_choice).collect::<Result<_, _>>()?;
                Self::PermissionAsked { task, by, token, asked: Asked { number, text, choices } }
            }
            RequestWire::Command { by, command } => {
                Self::Command { by: by.try_into()?, command: command.try_into()? }
            }
        })
    }
}

fn from_choice(choice: &Choice) -> (String, String, String) {
    (choice.id.clone(), choice.name.clone(), choice.kind.to_string())
}

fn to_choice((id, name, kind): (String, String, String)) -> Result<Choice, BadRequest> {
    let kind = ChoiceKind::parse(&kind).ok_or(BadRequest("choices"))?;
    Ok(Choice { id, name, kind })
}

impl From<&Answered> for AnsweredWire {
    fn from(answered: &Answered) -> Self {
        let Answer { verdict, reason, task, status, problems } = &answered.answer;
        let pair = |problem: &Problem| (problem.path.clone(), problem.message.clone());
        Self {
            result: verdict.to_string(),
            reason: reason.map(|reason| reason.to_string()),
            task_id: task.as_ref().map(ToString::to_string),
            status: status.map(|status| status.to_string()),
            problems: problems.iter().map(pair).collect(),
            events: answered.events.iter().map(|event| encode(event, None)).collect(),
        }
    }
}

impl TryFrom<AnsweredWire> for Answered {
    type Error = BadRequest;

    fn try_from(wire: AnsweredWire) -> Result<Self, BadRequest> {
        let reason = |text: String| Reason::parse(&text).ok_or(BadRequest("reason"));
        let task = |text: String| TaskId::parse(&text).map_err(|_| BadRequest("taskId"));
        let status = |text: String| Status::parse(&text).ok_or(BadRequest("status"));
        let event = |line: &String| decode(line).map_err(|_| BadRequest("events"));
        let answer = Answer {
            verdict: Verdict::parse(&wire.result).ok_or(BadRequest("result"))?,
            reason: wire.reason.map(reason).transpose()?,
            task: wire.task_id.map(task).transpose()?,
            status: wire.status.map(status).transpose()?,
            problems: wire.problems.into_iter().map(|(at, what)| Problem::new(at, what)).collect(),
        };
        let events = wire.events.iter().map(event).collect::<Result<_, _>>()?;
        Ok(Self { answer, events, owed: vec![] })
    }
}
