//! Everything that can happen to the world, with what a decision needs to know from outside.

use std::collections::{BTreeMap, BTreeSet};

use crate::account;
use crate::answer::{Problem, Reason};
use crate::aof::Incoming;
use crate::command::{Caller, Command};
use crate::completion::RunResult;
use crate::constraints::WorkspaceFacts;
use crate::event::EventId;
use crate::evidence::Evidence;
use crate::id::TaskId;
use crate::name::{Actor, AgentId};
use crate::node::NodeId;
use crate::notice;
use crate::permit::Choice;
use crate::pipeline::Position;
use crate::run::{Exit, RunFacts};
use crate::task::Task;
use crate::time::Time;
use crate::work::Merged;

/// Something that happened outside and asks for a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A text came in that may be a message.
    Message {
        /// What it turned out to be.
        incoming: Incoming,
        /// What was found on disk about it.
        facts: Facts,
    },
    /// A session ended: results that were left behind are applied.
    SessionEnd {
        /// What was found for each task in progress that has something.
        found: Vec<(TaskId, Found)>,
    },
    /// An operator asks for something.
    Command {
        /// Who asks.
        by: Caller,
        /// What for.
        command: Command,
    },
    /// A person or another program changed a task's file.
    File(FileChange),
    /// Time has passed, or something changed: work is given out, and what is over is cleared up.
    Tick {
        /// What was found out about the runs there are.
        facts: TickFacts,
    },
    /// A run has ended.
    RunExited {
        /// Its task.
        task: TaskId,
        /// Its fence.
        fence: u64,
        /// How it ended.
        exit: Exit,
        /// The last lines of what it printed.
        tail: String,
        /// The result it left.
        found: Option<Found>,
        /// What its agent told of itself.
        told: Box<account::Told>,
        /// What was seen of it in its workspace; none if nobody looked.
        workspace: Option<WorkspaceFacts>,
        /// A number from outside that nobody can foresee.
        jitter: u64,
    },
    /// A run of ours is seen to live.
    Beat {
        /// Its task.
        task: TaskId,
        /// Its fence.
        fence: u64,
    },
    /// Somebody elsewhere gives a sign of life of a run, and shows a token for it.
    LifeSign {
        /// The task.
        task: TaskId,
        /// Who it says it is.
        by: Actor,
        /// What its token is worth.
        token: Token,
    },
    /// A run wants to be allowed something that its settings leave to a person, and waits.
    PermissionAsked {
        /// Its task.
        task: TaskId,
        /// Who it says it is.
        by: Actor,
        /// What its token is worth.
        token: Token,
        /// What it asks.
        asked: Asked,
    },
    /// Somebody was not let in, or asked for more than they may.
    Refused(Refused),
    /// A request that carried a key was done.
    Kept(Kept),
    /// A node of a fleet took over, and says so before it decides anything.
    TookOver {
        /// The node.
        node: NodeId,
    },
    /// Somebody was told something, or could not be.
    Notified(Notified),
    /// Somebody looked at a project's files, and this is where a story stands.
    Story {
        /// Who looked, or caused it.
        by: Actor,
        /// What the files say.
        facts: Box<StoryFacts>,
    },
    /// What a run said was looked into.
    WorkChecked {
        /// Its task.
        task: TaskId,
        /// Its fence.
        fence: u64,
        /// What was found out.
        evidence: Box<Evidence>,
        /// A number from outside that nobody can foresee.
        jitter: u64,
    },
    /// Something came of a merge.
    WorkMerged {
        /// The task whose work it is.
        task: TaskId,
        /// What came of it.
        merged: Box<Merged>,
    },
    /// What lay uncommitted in the workspace of a task was put where it can be brought back from.
    WorkSaved {
        /// The task.
        task: TaskId,
        /// Where it is.
        reference: String,
        /// The commit it is.
        commit: String,
    },
    /// A folder that others wrote was opened for the first time.
    Adopted {
        /// How many tasks were in it.
        tasks: u64,
    },
}

/// What a run wants to be allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The number of the question in the run, from 1.
    pub number: u32,
    /// What it wants to do.
    pub text: String,
    /// What may be answered.
    pub choices: Vec<Choice>,
}

/// Somebody who was not let in, or asked for more than they may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Who it was, as far as that can be told.
    pub by: Actor,
    /// The task they wanted to do with.
    pub task: Option<TaskId>,
    /// Why.
    pub reason: Reason,
    /// What was asked for.
    pub detail: String,
    /// How often.
    pub count: u64,
}

/// A request that carried a key, and was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// What the key was made into.
    pub key: String,
    /// What the request was made into.
    pub request: String,
    /// The task it was about.
    pub about: Option<TaskId>,
    /// The events it caused.
    pub events: Vec<EventId>,
}

/// What came of telling somebody something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notified {
    /// The name of the rule.
    pub rule: String,
    /// What kind of target it has.
    pub target: String,
    /// What it was about.
    pub kind: notice::Kind,
    /// The event it told of.
    pub about: EventId,
    /// The task.
    pub task: Option<TaskId>,
    /// How often it was tried.
    pub tries: u32,
    /// What came of it.
    pub told: Told,
}

/// Whether somebody was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// They were.
    Sent,
    /// They were not and will not be, for this reason.
    GivenUp(String),
}

/// What a project's files say about a story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoryFacts {
    /// Where it stands.
    pub position: Position,
    /// What it is called, where its scenarios say so.
    pub title: Option<String>,
    /// The agent that is to do its steps, if one is named.
    pub agent: Option<AgentId>,
    /// When a person last began it, took it up again or set it to go by itself.
    pub taken_up_at: Option<Time>,
}

/// What a tick needs to know from outside.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TickFacts {
    /// What was found out about the runs that [`to_look_at`](crate::schedule::to_look_at) names. A
    /// run that is missing here was not looked at, and is left alone.
    pub runs: BTreeMap<TaskId, RunFacts>,
    /// The nodes of a fleet of which nothing is heard: they are given nothing.
    pub away: BTreeSet<NodeId>,
    /// A number from outside that nobody can foresee.
    pub jitter: u64,
}

/// What was found on disk about a message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// The file that `summaryRef` names.
    pub summary: Presence,
    /// `outputs/handoff.md`.
    pub handoff: Presence,
    /// Where in the message a path stands that leads outside by a link.
    pub escapes: Vec<String>,
    /// What the run token in the message is worth.
    pub token: Token,
    /// What was seen of the run in its workspace; none if nobody looked.
    pub workspace: Option<WorkspaceFacts>,
    /// The file a run left it in, to be kept if it is refused.
    pub left: Option<Left>,
    /// How many messages came from the same run before, as far as anybody counted.
    pub earlier: u64,
}

/// A file that a run left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// What it is called.
    pub file: String,
    /// What it says.
    pub text: String,
}

/// Whether a file is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Presence {
    /// It is there, or nobody asked.
    #[default]
    Present,
    /// It is not there.
    Missing,
}

/// What a run token is worth.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Token {
    /// The message has none.
    #[default]
    None,
    /// It was never given out.
    Unknown,
    /// It was given to this run.
    Run {
        /// The task of the run.
        task: TaskId,
        /// The fence of the run.
        fence: u64,
    },
}

/// A result that somebody left for a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// One in order.
    Result(Box<RunResult>),
    /// One that does not fit its schema, with everything that is wrong.
    Invalid(Vec<Problem>),
}

/// What a person or another program did to a task's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileChange {
    /// A file is there that was not known, or has changed, or lies elsewhere. Its folder decides
    /// its status.
    Seen(Box<Task>),
    /// The file is gone.
    Gone(TaskId),
    /// The file is there and cannot be read.
    Unreadable(TaskId),
}
