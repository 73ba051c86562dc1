//! The state of a run as seen from outside: its liveness, its heartbeat, its place and its exit.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::actor::AgentId;
use crate::encoding::lenient;
use crate::node_id::NodeId;
use crate::run_nonce::RunNonce;
use crate::text_value::serde_as_text;
use crate::time::Time;

/// How a process ended: `code:N`, `signal:N`, `timed_out`, `idle`, `over_budget`, `stopped`, `lost`,
/// or `not_started:` and `no_workspace:` with a reason.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "String", extend("pattern" = EXIT_PATTERN)))]
pub enum RunExit {
    /// The exit code of a process that ended by itself.
    Code(i32),
    /// The signal that ended the process.
    Signal(i32),
    /// Stopped because the run exceeded its time limit.
    TimedOut,
    /// Stopped because the run printed and reported nothing for too long.
    Idle,
    /// Stopped because the run used up its budget.
    OverBudget,
    /// Stopped on request.
    Stopped,
    /// The process is gone, and its exit was not observed.
    Lost,
    /// The process could not be started, for this reason.
    NotStarted(String),
    /// The run has no workspace, for this reason, and was not started. The task is not at fault.
    NoWorkspace(String),
}

/// Whether the process of a run is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunLiveness {
    /// A live process that Adjutant started.
    Alive,
    /// A process that Adjutant started and that has ended.
    Gone,
    /// A process that Adjutant did not start or cannot inspect: only its heartbeat counts.
    #[default]
    NotOurs,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(into = "PlaceFields", from = "PlaceFields")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RunPlace {
    /// A process that this machine starts and supervises.
    #[default]
    Here,
    /// A process that this fleet node starts and supervises.
    Node(NodeId),
    /// A process that Adjutant did not start, of an agent that fetched the task:
    /// only its heartbeat counts.
    Elsewhere,
}

/// The last heartbeat that a run left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunHeartbeat {
    pub expires_at: Time,
}

// The fields of a `RunPlace` among other fields; none are set for a run here.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct PlaceFields {
    /// The node of a fleet that starts and supervises the run; absent on one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    node: Option<NodeId>,
    /// `true` if the agent fetched the task and works elsewhere: only its heartbeat counts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    elsewhere: bool,
}

impl From<RunPlace> for PlaceFields {
    fn from(place: RunPlace) -> Self {
        match place {
            RunPlace::Here => Self::default(),
            RunPlace::Node(node) => Self { node: Some(node), elsewhere: false },
            RunPlace::Elsewhere => Self { node: None, elsewhere: true },
        }
    }
}

impl From<PlaceFields> for RunPlace {
    fn from(fields: PlaceFields) -> Self {
        match fields {
            PlaceFields { elsewhere: true, .. } => Self::Elsewhere,
            PlaceFields { node: Some(node), .. } => Self::Node(node),
            PlaceFields { .. } => Self::Here,
        }
    }
}

/// A run of a task, by its agent and numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunRef {
    pub agent: AgentId,
    /// The attempt number of the run.
    pub attempt: u32,
    /// The fence of its lease.
    pub fence: u64,
    /// The random part of its token; absent if an earlier version started the run.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::deserialize"
    )]
    pub nonce: Option<RunNonce>,
}

impl RunRef {
    /// Returns whether this is the run with this fence and nonce.
    pub fn is_of(&self, fence: u64, nonce: Option<RunNonce>) -> bool {
        (self.fence, self.nonce) == (fence, nonce)
    }
}

#[cfg(feature = "schema")]
const EXIT_PATTERN: &str = "^(code:-?[0-9]+|signal:-?[0-9]+|timed_out|idle|over_budget|stopped|lost\
    |not_started:.*|no_workspace:.*)$";

impl RunHeartbeat {
    pub fn is_stale(self, now: Time) -> bool {
        self.expires_at <= now
    }
}

impl RunExit {
    /// Parses an exit as the event log writes it.
    pub fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| text.parse().ok();
        Some(match text {
            "timed_out" => Self::TimedOut,
            "idle" => Self::Idle,
            "over_budget" => Self::OverBudget,
            "stopped" => Self::Stopped,
            "lost" => Self::Lost,
            _ => match text.split_once(':')? {
                ("code", code) => Self::Code(number(code)?),
                ("signal", signal) => Self::Signal(number(signal)?),
                ("not_started", reason) => Self::NotStarted(reason.to_owned()),
                ("no_workspace", reason) => Self::NoWorkspace(reason.to_owned()),
                _ => return None,
            },
        })
    }

    /// Describes the exit for people.
    pub fn in_words(&self) -> String {
        match self {
            Self::Code(0) => "exited without a report".to_owned(),
            Self::Code(code) => format!("exit code {code}"),
            Self::Signal(signal) => format!("killed by signal {signal}"),
            Self::TimedOut => "timed out and was stopped".to_owned(),
            Self::Idle => "printed nothing for too long and was stopped".to_owned(),
            Self::OverBudget => "exceeded its budget and was stopped".to_owned(),
            Self::Stopped => "was stopped".to_owned(),
            Self::Lost => "disappeared; its exit status is unknown".to_owned(),
            Self::NotStarted(reason) => format!("could not be started: {reason}"),
            Self::NoWorkspace(reason) => format!("could not get a workspace: {reason}"),
        }
    }
}

serde_as_text!(RunExit, |text: &str| RunExit::parse(text)
    .ok_or("must be the exit of a run, such as code:0"));

impl fmt::Display for RunExit {
    /// Writes the exit as the event log has it: `code:1`, `signal:9`, `timed_out`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "code:{code}"),
            Self::Signal(signal) => write!(f, "signal:{signal}"),
            Self::TimedOut => f.write_str("timed_out"),
            Self::Idle => f.write_str("idle"),
            Self::OverBudget => f.write_str("over_budget"),
            Self::Stopped => f.write_str("stopped"),
            Self::Lost => f.write_str("lost"),
            Self::NotStarted(reason) => write!(f, "not_started:{reason}"),
            Self::NoWorkspace(reason) => write!(f, "no_workspace:{reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_exit_round_trips_through_event_log() {
        let exits = [
            RunExit::Code(-1),
            RunExit::Signal(9),
            RunExit::TimedOut,
            RunExit::Idle,
            RunExit::OverBudget,
            RunExit::Stopped,
            RunExit::Lost,
            RunExit::NotStarted("no such file: a".to_owned()),
            RunExit::NoWorkspace("no git: b".to_owned()),
        ];
        for exit in exits {
            assert_eq!(RunExit::parse(&exit.to_string()), Some(exit));
        }
        for bad in ["", "code", "code:x", "gone"] {
            assert_eq!(RunExit::parse(bad), None, "{bad}");
        }
    }
}
