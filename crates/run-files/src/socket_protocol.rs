//! What is sent over the daemon's socket and over the socket of a run: one JSON object per line in
//! each direction, and one reply per request, in the same order.

use std::io::{self, BufRead, Read};
use std::time::Duration;

use adjutant_model::request::{EngineAnswer, EngineRequest};
use serde::{Deserialize, Serialize};

/// The path of the daemon's socket in the data folder.
pub const DAEMON_SOCKET: &str = "journal/door";

/// The variable with the path of a run's own socket.
pub const RUN_SOCKET_VARIABLE: &str = "ADJUTANT_RUN_SOCKET";

/// The longest line: a message of the largest size, with every byte escaped.
pub const LINE_BYTES_MAX: u64 = 8 << 20;

/// How long a daemon lets a shim wait for the answer to a message. The message is in the run's
/// outbox, so that the daemon applies it later in any case.
pub const ANSWER_PATIENCE: Duration = Duration::from_secs(20);

/// A request on the daemon's socket by the shim of a run: the answer to a message in its outbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunAnswerRequest {
    /// The number of the message in the outbox.
    pub answer_to: u64,
    pub attempt: u32,
}

/// A request on the socket of a run. It is that run's, even if it names another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RunSocketRequest {
    /// A message, a heartbeat or a permission request for the engine.
    Submit(Box<EngineRequest>),
    /// The work order, for a model with the tools of the MCP server.
    TaskContext,
    /// The text of the task's file.
    TaskFile,
    /// The end of the run's output.
    Output,
    /// Stores the summary of the work in the folder of the task.
    StoreSummary { text: String },
    /// The agent has started Adjutant's MCP server.
    McpStarted,
    /// The agent is not idle, although it prints nothing.
    Activity,
}

/// The reply to a request.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum IpcReply {
    Answered(Box<EngineAnswer>),
    /// A text that was asked for; empty if the request was only to be done.
    Text(String),
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

impl IpcReply {
    /// Makes the line that is sent.
    pub fn to_line(&self) -> io::Result<Vec<u8>> {
        to_line(self)
    }
}

/// Makes the line of a request or reply.
pub fn to_line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

/// A line that was read, without its end.
#[derive(Debug, PartialEq, Eq)]
pub enum SocketLine {
    Whole(Vec<u8>),
    /// The line has more than [`LINE_BYTES_MAX`] bytes; the rest of it was not read.
    TooLong,
    /// The other side has closed the connection.
    Closed,
}

/// Reads the next line.
pub fn read_line(from: &mut impl BufRead) -> io::Result<SocketLine> {
    let mut line = Vec::new();
    from.take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
    if line.pop_if(|last| *last == b'\n').is_some() {
        return Ok(SocketLine::Whole(line));
    }
    let is_full = line.len() as u64 == LINE_BYTES_MAX;
    Ok(if is_full { SocketLine::TooLong } else { SocketLine::Closed })
}
