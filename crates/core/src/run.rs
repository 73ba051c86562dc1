//! What is seen of a run from outside: whether it lives, when it last beat, how it ended.

use std::fmt;

use crate::input::Found;
use crate::node::NodeId;
use crate::time::Time;

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It was stopped because it took too long.
    TimedOut,
    /// It was stopped because it said nothing for too long.
    Idle,
    /// It was stopped because it had used up what it may use.
    OverBudget,
    /// It was stopped because somebody asked for that.
    Stopped,
    /// It is gone, and nobody saw how.
    Lost,
    /// It never began, for this reason.
    NotStarted(String),
    /// It never began, because there is no place for it to work in, for this reason. That is no
    /// fault of the task.
    NoWorkspace(String),
}

/// Whether the process of a run is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Life {
    /// A process of ours, and it lives.
    Alive,
    /// A process of ours, and it is gone.
    Gone,
    /// Not ours, or nobody can tell: the heartbeat alone counts.
    #[default]
    NotOurs,
}

/// Where a run takes place.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Place {
    /// As a process that is started here and looked after.
    #[default]
    Here,
    /// As a process that this node of a fleet starts and looks after.
    Node(NodeId),
    /// Wherever the agent is that asked for work: its heartbeat alone counts.
    Elsewhere,
}

/// The last sign of life a run left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heartbeat {
    /// Until when it counts.
    pub expires_at: Time,
}

/// What was found out about the run of a task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunFacts {
    /// Its last sign of life; none if there is no file.
    pub heartbeat: Option<Heartbeat>,
    /// The result it left.
    pub found: Option<Found>,
    /// Whether its process is there.
    pub life: Life,
}

impl Heartbeat {
    /// Says whether it no longer counts.
    pub fn is_stale(self, now: Time) -> bool {
        self.expires_at <= now
    }
}

impl Exit {
    /// Reads an exit as the record writes it.
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

    /// Says what happened, in words for people.
    pub fn in_words(&self) -> String {
        match self {
            Self::Code(0) => "exited without a report".to_owned(),
            Self::Code(code) => format!("exit code {code}"),
            Self::Signal(signal) => format!("killed by signal {signal}"),
            Self::TimedOut => "took too long and was stopped".to_owned(),
            Self::Idle => "said nothing for too long and was stopped".to_owned(),
            Self::OverBudget => "spent its budget and was stopped".to_owned(),
            Self::Stopped => "was stopped".to_owned(),
            Self::Lost => "is gone, and nobody saw how it ended".to_owned(),
            Self::NotStarted(reason) => format!("could not be started: {reason}"),
            Self::NoWorkspace(reason) => format!("has no workspace: {reason}"),
        }
    }
}

impl fmt::Display for Exit {
    /// Writes the exit as the record has it: `code:1`, `signal:9`, `timed_out`.
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
    fn every_exit_reads_back_from_the_record() {
        let exits = [
            Exit::Code(-1),
            Exit::Signal(9),
            Exit::TimedOut,
            Exit::Idle,
            Exit::OverBudget,
            Exit::Stopped,
            Exit::Lost,
            Exit::NotStarted("no such file: a".to_owned()),
            Exit::NoWorkspace("no git: b".to_owned()),
        ];
        for exit in exits {
            assert_eq!(Exit::parse(&exit.to_string()), Some(exit));
        }
        for bad in ["", "code", "code:x", "gone"] {
            assert_eq!(Exit::parse(bad), None, "{bad}");
        }
    }
}
