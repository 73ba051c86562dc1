//! The request of one node to another, usually to the leader, and the reply.

use std::collections::BTreeSet;

use adjutant_core::schedule::RunKey;
use adjutant_model::NodeId;
use adjutant_store::replicated_file::ReplicatedFile;
use adjutant_store::{EffectId, StoreVersion};
use serde::{Deserialize, Serialize};

use super::{EngineAnswer, EngineRequest};

/// What a node asks.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeRequest {
    /// Unique; the same when the request is sent again.
    pub id: String,
    /// The node that asks.
    pub node: NodeId,
    /// How much of the record the node has seen, if it asks again: whether it was done is in what
    /// it has seen, or it was not done before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_version: Option<StoreVersion>,
    /// What agents of the node left, as far as it changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ReplicatedFile>,
    pub requests: Vec<EngineRequest>,
    /// What was owed to the outside and is done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settled: Vec<EffectId>,
    /// The runs it has, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<BTreeSet<RunKey>>,
    pub target: RequestTarget,
}

/// Who is to see to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RequestTarget {
    /// The leader of the fleet.
    Leader,
    /// The node that receives it, because it has the files; that node asks the leader in turn.
    Receiver,
}

/// What a node is answered.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NodeReply {
    /// The requests are done and committed up to `version`.
    Done {
        version: StoreVersion,
        /// One answer per request.
        answers: Vec<EngineAnswer>,
        /// The runs that are assigned to the node.
        runs: BTreeSet<RunKey>,
    },
    /// The receiver is not the leader. Nothing was done.
    NotLeader,
    /// A retry is accepted only from a node that has seen commits up to this version.
    SenderBehind(StoreVersion),
    /// The requests failed, or may have been done.
    Failed(String),
}

impl NodeRequest {
    /// Returns whether the request is that of a node, and not made for another one.
    pub fn is_of(&self, node: &NodeId) -> bool {
        let name = self.id.split('/').next();
        self.node == *node && name == Some(node.as_str())
    }

    /// Returns whether this only ensures that the earlier request of the same id is never done.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty() && self.files.is_empty() && self.settled.is_empty()
    }

    pub fn encode(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes)
    }
}

impl NodeReply {
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes)
    }
}

/// Writes answers as a commit carries them.
pub fn answers_to_text(answers: &[EngineAnswer]) -> String {
    serde_json::to_string(answers).unwrap_or_default()
}

/// Reads answers as a commit carries them.
pub fn answers_from_text(text: &str) -> Result<Vec<EngineAnswer>, serde_json::Error> {
    serde_json::from_str(text)
}

/// One node's part of a group commit.
pub struct NodeRequestRef<'a> {
    pub id: &'a str,
    /// The node that asks, which signed the request.
    pub node: &'a NodeId,
    pub requests: &'a [EngineRequest],
    /// Pending effects that the node has performed.
    pub settled: &'a [EffectId],
}

impl<'a> NodeRequestRef<'a> {
    pub fn from_request(question: &'a NodeRequest) -> Self {
        let NodeRequest { id, node, requests, settled, .. } = question;
        Self { id, node, requests, settled }
    }
}
