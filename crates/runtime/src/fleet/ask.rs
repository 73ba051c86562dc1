//! What a node asks of the one that decides, and what it is answered.

use std::collections::BTreeSet;

use adjutant_core::path::RelPath;
use adjutant_core::schedule::RunKey;
use adjutant_core::{EventId, NodeId};
use adjutant_store::file::{Carried, Content, Home};
use adjutant_store::{EffectId, Version};
use serde::{Deserialize, Serialize};

use super::wire::{RequestWire, id};
use crate::door::wire::{AnsweredWire, BadRequest};
use crate::engine::{Answered, Request};

/// What a node asks.
#[derive(Debug)]
pub(crate) struct Question {
    /// What it is asked under.
    pub(crate) id: String,
    /// Who asks.
    pub(crate) node: NodeId,
    /// How much of the record the node has seen, if it asks again: whether it was done is in what
    /// it has seen, or it was not done before that.
    pub(crate) again: Option<Version>,
    /// What agents of the node left, as far as it changed.
    pub(crate) files: Vec<Carried>,
    /// What it asks for.
    pub(crate) requests: Vec<Request>,
    /// What was owed to the outside and is done.
    pub(crate) settled: Vec<EffectId>,
    /// The runs it has, where it says so.
    pub(crate) runs: Option<BTreeSet<RunKey>>,
    /// Who is to see to it.
    pub(crate) to: To,
}

/// Who is to see to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum To {
    /// Whoever decides.
    Decider,
    /// The node that is asked, by the files it has; it asks whoever decides in turn.
    Itself,
}

/// What a node is answered.
#[derive(Debug)]
pub(crate) enum Reply {
    /// It is done, and in the record up to this version.
    Done {
        /// The version.
        version: Version,
        /// What came of each request.
        answers: Vec<Answered>,
        /// The runs that are the node's.
        runs: BTreeSet<RunKey>,
    },
    /// This node does not decide. Nothing was done.
    NotDeciding,
    /// Whoever asks again must have seen the record up to here first.
    Behind(Version),
    /// It could not be done, or may have been.
    Failed(String),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct QuestionWire {
    id: String,
    node: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    again: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    files: Vec<FileWire>,
    requests: Vec<RequestWire>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    settled: Vec<(u64, u32)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    runs: Option<Vec<(String, u64)>>,
    #[serde(default)]
    itself: bool,
}

#[derive(Serialize, Deserialize)]
struct FileWire {
    task: String,
    run: bool,
    path: String,
    text: Content<'static>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum ReplyWire {
    Done { version: u64, answers: Vec<AnsweredWire>, runs: Vec<(String, u64)> },
    NotDeciding,
    Behind(u64),
    Failed(String),
}

impl Question {
    /// Says whether it only closes what was asked under its name before.
    pub(crate) fn asks_for_nothing(&self) -> bool {
        self.requests.is_empty() && self.files.is_empty() && self.settled.is_empty()
    }

    pub(crate) fn encode(&self) -> Result<Vec<u8>, BadRequest> {
        let requests = self.requests.iter().map(RequestWire::try_from).collect::<Result<_, _>>()?;
        let wire = QuestionWire {
            id: self.id.clone(),
            node: self.node.to_string(),
            again: self.again.map(|version| version.0),
            files: self.files.iter().map(FileWire::from).collect(),
            requests,
            settled: self.settled.iter().map(|id| (id.event.0, id.place)).collect(),
            runs: self.runs.as_ref().map(keys),
            itself: self.to == To::Itself,
        };
        serde_json::to_vec(&wire).map_err(|_| BadRequest("question"))
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, BadRequest> {
        let wire: QuestionWire =
            serde_json::from_slice(bytes).map_err(|_| BadRequest("question"))?;
        let effect = |(event, place)| EffectId { event: EventId(event), place };
        Ok(Self {
            id: wire.id,
            node: NodeId::parse(&wire.node).map_err(|_| BadRequest("node"))?,
            again: wire.again.map(Version),
            files: wire.files.into_iter().map(Carried::try_from).collect::<Result<_, _>>()?,
            requests: wire.requests.into_iter().map(Request::try_from).collect::<Result<_, _>>()?,
            settled: wire.settled.into_iter().map(effect).collect(),
            runs: wire.runs.map(runs).transpose()?,
            to: if wire.itself { To::Itself } else { To::Decider },
        })
    }
}

impl Reply {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let wire = match self {
            Self::Done { version, answers, runs } => ReplyWire::Done {
                version: version.0,
                answers: answers.iter().map(AnsweredWire::from).collect(),
                runs: keys(runs),
            },
            Self::NotDeciding => ReplyWire::NotDeciding,
            Self::Behind(version) => ReplyWire::Behind(version.0),
            Self::Failed(why) => ReplyWire::Failed(why.clone()),
        };
        serde_json::to_vec(&wire).unwrap_or_default()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, BadRequest> {
        let wire: ReplyWire = serde_json::from_slice(bytes).map_err(|_| BadRequest("reply"))?;
        Ok(match wire {
            ReplyWire::Done { version, answers, runs: held } => Self::Done {
                version: Version(version),
                answers: answers.into_iter().map(Answered::try_from).collect::<Result<_, _>>()?,
                runs: runs(held)?,
            },
            ReplyWire::NotDeciding => Self::NotDeciding,
            ReplyWire::Behind(version) => Self::Behind(Version(version)),
            ReplyWire::Failed(why) => Self::Failed(why),
        })
    }
}

/// Writes answers down as a commit carries them.
pub(crate) fn answers_to_text(answers: &[Answered]) -> String {
    let wires: Vec<AnsweredWire> = answers.iter().map(AnsweredWire::from).collect();
    serde_json::to_string(&wires).unwrap_or_default()
}

/// Reads answers as a commit carries them.
pub(crate) fn answers_from_text(text: &str) -> Result<Vec<Answered>, BadRequest> {
    let wires: Vec<AnsweredWire> = serde_json::from_str(text).map_err(|_| BadRequest("answers"))?;
    wires.into_iter().map(Answered::try_from).collect()
}

fn keys(runs: &BTreeSet<RunKey>) -> Vec<(String, u64)> {
    runs.iter().map(|(task, fence)| (task.to_string(), *fence)).collect()
}

fn runs(keys: Vec<(String, u64)>) -> Result<BTreeSet<RunKey>, BadRequest> {
    keys.into_iter().map(|(task, fence)| Ok((id(&task)?, fence))).collect()
}

impl From<&Carried> for FileWire {
    fn from(file: &Carried) -> Self {
        Self {
            task: file.task.to_string(),
            run: file.home == Home::Run,
            path: file.path.to_string(),
            text: file.content.clone().into(),
        }
    }
}

impl TryFrom<FileWire> for Carried {
    type Error = BadRequest;

    fn try_from(wire: FileWire) -> Result<Self, BadRequest> {
        Ok(Self {
            task: id(&wire.task)?,
            home: if wire.run { Home::Run } else { Home::Task },
            path: RelPath::parse(&wire.path).map_err(|_| BadRequest("path"))?,
            content: wire.text.into_bytes(),
        })
    }
}
