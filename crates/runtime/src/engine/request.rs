//! What the outside asks the engine for, and what it gets.

use std::collections::BTreeMap;

use adjutant_core::account::Told;
use adjutant_core::command::Caller;
use adjutant_core::constraints::WorkspaceFacts;
use adjutant_core::dialect::DocumentKind;
use adjutant_core::evidence::Evidence;
use adjutant_core::input::StoryFacts;
use adjutant_core::input::{Asked, Notified, Refused};
use adjutant_core::run::{Exit, Life};
use adjutant_core::work::Merged;
use adjutant_core::{Actor, Answer, Command, EventId, Recorded, TaskId};
use adjutant_store::{EffectId, Owed};

/// Something the outside asks for.
#[derive(Debug, Clone)]
pub enum Request {
    /// A text that may be a message.
    Message(Vec<u8>),
    /// A message that a run printed: it speaks for that run, and for no other. That it was taken is
    /// owed together with what it did, so that it does nothing twice.
    Line {
        /// The task of the run.
        task: TaskId,
        /// The number of the run.
        attempt: u32,
        /// Its fence.
        fence: u64,
        /// The number of the message in the run.
        seq: u64,
        /// What it printed or left.
        text: String,
        /// What kind of document it is meant to be, if it was left as one.
        kind: Option<DocumentKind>,
        /// What is wrong with it that its text does not show.
        flaw: Option<String>,
    },
    /// A text from inside a run that shows its token: whatever it says of its sender, it speaks for
    /// that run only.
    Inside {
        /// The task of the run.
        task: TaskId,
        /// The token it shows.
        token: String,
        /// What it sends.
        raw: Vec<u8>,
    },
    /// A text that came by a door that a run opened with its token: whatever it says of its sender,
    /// it speaks for that run only.
    FromRun {
        /// The task of the run.
        task: TaskId,
        /// The token it showed.
        token: String,
        /// What it sends.
        raw: Vec<u8>,
    },
    /// A request, with what was seen in the workspace of the run it comes from.
    Seen {
        /// What was seen.
        workspace: WorkspaceFacts,
        /// The request.
        of: Box<Request>,
    },
    /// A session has ended: of one task, or of all.
    SessionEnd(Option<TaskId>),
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
        /// What its agent told of itself.
        told: Box<Told>,
    },
    /// A run of ours is seen to live.
    Beat {
        /// Its task.
        task: TaskId,
        /// Its fence.
        fence: u64,
    },
    /// Somebody elsewhere gives a sign of life of a run.
    LifeSign {
        /// The task.
        task: TaskId,
        /// Who it says it is.
        by: Actor,
        /// What it shows to prove that it is the run's.
        token: String,
    },
    /// A run wants to be allowed something that its settings leave to a person.
    PermissionAsked {
        /// Its task.
        task: TaskId,
        /// Who it says it is.
        by: Actor,
        /// What it shows to prove that it is the run's.
        token: String,
        /// What it asks.
        asked: Asked,
    },
    /// Work is to be given out, and what is over cleared up.
    Tick {
        /// What is known of the runs there are; of one that is not listed, its heartbeat alone
        /// counts.
        lives: BTreeMap<TaskId, Life>,
    },
    /// A request that carries a key: that it was done is committed with it, so that it is known
    /// not to be done again.
    Keyed {
        /// What the key was made into.
        key: String,
        /// What the request was made into.
        digest: String,
        /// The request.
        of: Box<Request>,
    },
    /// Somebody was not let in, or asked for more than they may.
    Refused(Refused),
    /// Somebody was told what was owed to them, or is not told any more. That it is not owed any
    /// more is committed with it.
    Notified {
        /// What was owed.
        done: EffectId,
        /// What came of it.
        notified: Box<Notified>,
    },
    /// Somebody did something to stories: tasks are to follow what the project's files say.
    Stories {
        /// Who did it.
        by: Actor,
        /// The task that was spoken of, if a person spoke of one.
        told: Option<TaskId>,
        /// What the files say; added by [`desk`](crate::story::desk).
        facts: Vec<StoryFacts>,
    },
    /// What a run said was looked into.
    WorkChecked {
        /// Its task.
        task: TaskId,
        /// Its fence.
        fence: u64,
        /// What was found out.
        evidence: Box<Evidence>,
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
    /// A wish of an operator.
    Command {
        /// Who wishes.
        by: Caller,
        /// What.
        command: Command,
    },
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The answer.
    pub answer: Answer,
    /// The events it caused.
    pub events: Vec<Recorded>,
    /// What it owes to the outside.
    pub owed: Vec<Owed>,
}

impl Answered {
    /// Returns the numbers of the events.
    pub fn event_ids(&self) -> impl Iterator<Item = EventId> {
        self.events.iter().map(|event| event.id)
    }
}
