//! The daemon's reply to a request over its socket.

use serde::{Deserialize, Serialize};

use crate::engine::EngineAnswer;

/// The reply to a request, one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum IpcReply {
    Answered(Box<EngineAnswer>),
    Failed {
        message: String,
        causes: Vec<String>,
    },
    /// The leader of the fleet could not be reached, or did not answer.
    Alone {
        message: String,
        causes: Vec<String>,
    },
}
