//! Whoever keeps the record, as a way in asks for it. Which store that is, is not known here.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use adjutant_core::evidence::Evidence;
use adjutant_core::pipeline::{Reason, Step, StoryId};
use adjutant_core::{AgentId, TaskId, Time, World};
use adjutant_runtime::story::Drive;
use adjutant_runtime::{Answered, Request};
use serde_json::Value;
use thiserror::Error;

use crate::mcp::Bound;

/// A task without its body, as commands show it, already written down.
#[derive(Debug, Clone)]
pub struct Row {
    /// Which.
    pub id: TaskId,
    /// What there is to show, in JSON.
    pub json: Arc<str>,
}

/// Whoever keeps the record. Every call may take as long as a disk takes.
pub trait Office: Send + Sync + 'static {
    /// Asks for something that may change the world, and answers when that is durable.
    fn ask(&self, request: Request) -> Result<Answered, Trouble>;

    /// Asks for several things in one commit, and answers when that is durable.
    fn ask_all(&self, requests: Vec<Request>) -> Result<Vec<Answered>, Trouble>;

    /// Says whether whoever keeps the record answers.
    fn ready(&self) -> Result<(), Trouble>;

    /// Looks at the world as it is committed. Whoever commits may wait for the end of the look.
    fn look(&self, look: &mut dyn FnMut(&World)) -> Result<(), Trouble>;

    /// Returns the task a text stands for: by its own id, or by one that others know it by.
    fn known(&self, text: &str) -> Result<TaskId, Trouble>;

    /// Returns an answer as every channel gives it.
    fn answer(&self, answered: &Answered) -> Value;

    /// Returns a task with its body, as its file has it.
    fn show(&self, id: &TaskId) -> Result<Value, Trouble>;

    /// Returns a task without its body, as commands show it.
    fn row(&self, id: &TaskId) -> Result<Value, Trouble>;

    /// Returns the file of a task, as it is.
    fn document(&self, id: &TaskId) -> Result<String, Trouble>;

    /// Returns the tasks that are wanted, without their bodies.
    fn list(&self, wanted: &Wanted) -> Result<Value, Trouble>;

    /// Returns a task with its body if that takes no longer than a look at its file from outside,
    /// for who must not wait for a disk.
    fn show_at_once(&self, text: &str) -> Option<(TaskId, Value)>;

    /// Returns the tasks that are wanted if that takes no longer than a look at their files from
    /// outside.
    fn list_at_once(&self, wanted: &Wanted) -> Option<Vec<Row>>;

    /// Returns what holds a task back.
    fn why(&self, id: &TaskId) -> Result<Value, Trouble>;

    /// Returns everything that waits for a person.
    fn inbox(&self) -> Result<Value, Trouble>;

    /// Returns so much of what waits for a person, from a place on, and how much waits in all.
    fn inbox_part(&self, from: usize, most: usize) -> Result<(Vec<Value>, usize), Trouble>;

    /// Returns whether a daemon runs, what runs, and how many tasks stand where.
    fn status(&self) -> Result<Value, Trouble>;

    /// Returns who is configured and who is found on the machine.
    fn agents(&self) -> Result<Value, Trouble>;

    /// Says what happened by an event of the record, which others may have written.
    fn in_words(&self, event: &Value) -> String;

    /// Returns where every story of the project stands.
    fn stories(&self) -> Result<Value, Trouble>;

    /// Returns where a story stands.
    fn story(&self, id: &str) -> Result<Value, Trouble>;

    /// Returns where a story stands, with what an executor of its present step is told.
    fn story_prompt(&self, id: &str) -> Result<Value, Trouble>;

    /// Does something to a story in its files, and returns where it stands then. Under the same
    /// mark it is done once.
    fn tell_story(
        &self,
        story: &StoryId,
        deed: &StoryDeed,
        mark: Option<String>,
    ) -> Result<Value, Trouble>;

    /// Returns the runs of a task that were started here, the first one first.
    fn runs(&self, id: &TaskId) -> Result<Value, Trouble>;

    /// Returns what was found out about the work of the last run of a task that was looked into,
    /// and how it differs from what it started from, if it is on a branch of its own.
    fn evidence(&self, id: &TaskId) -> (Option<Evidence>, Option<String>);

    /// Finds what a run of a task prints: of this attempt, or of the last one.
    fn log(&self, id: &TaskId, attempt: Option<u32>) -> Result<Printed, Trouble>;

    /// Returns the folder of the record.
    fn root(&self) -> &Path;

    /// Returns the run a token was given to; `hint` is the task it is likely to be of.
    fn run_of(&self, token: &str, hint: Option<&TaskId>) -> Result<Option<Bound>, Trouble>;

    /// Writes the work order of a task for an agent.
    fn order(&self, id: &TaskId, agent: &AgentId, attempt: u32) -> Result<String, Trouble>;

    /// Returns the end of what the last run of a task printed.
    fn output(&self, id: &TaskId) -> Result<String, Trouble>;

    /// Keeps what an agent says about its work where its report refers to.
    fn keep_summary(&self, id: &TaskId, text: &str) -> Result<(), Trouble>;

    /// Returns what proves that a message comes from the run under this fence.
    fn token(&self, id: &TaskId, fence: u64) -> Result<String, Trouble>;

    /// Returns what time it is.
    fn now(&self) -> Time;
}

/// What a person does to a story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoryDeed {
    /// Begins it.
    Start {
        /// The stories that must be done before it goes on.
        blocked_by: Vec<StoryId>,
        /// Whether agents do its steps.
        auto: bool,
        /// Whether it begins anew, be it running or done.
        force: bool,
    },
    /// Goes on: starts the next executor, or says what is waited for.
    Next {
        /// What there is to say to the next executor.
        note: Option<String>,
    },
    /// Says yes.
    Approve {
        /// What there is to say to the next executor.
        note: Option<String>,
    },
    /// Says no.
    Reject {
        /// The reason it is routed by, if it is one of those.
        reason: Option<Reason>,
        /// What there is to say to the next executor.
        note: Option<String>,
    },
    /// Puts it back to a step.
    Rollback {
        /// The step.
        step: Step,
        /// What there is to say to the next executor.
        note: Option<String>,
    },
    /// Takes it up again when it was done.
    Reopen {
        /// Where it goes on.
        step: Step,
        /// What there is to say to the next executor.
        note: Option<String>,
    },
    /// Has agents do its steps, or has them started by hand.
    Drive(Drive),
    /// Takes in what an executor left.
    Hook,
    /// Says that the executor broke.
    Broke {
        /// How, in words.
        error: String,
    },
}

/// Which tasks are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Only those with one of these statuses, if there are any here.
    pub statuses: Vec<String>,
    /// Only those this agent works on, or that are for it.
    pub agent: Option<String>,
    /// Only those whose id, title or foreign id has this in it.
    pub text: Option<String>,
    /// Only the first so many.
    pub limit: Option<usize>,
    /// In which order.
    pub order: Order,
    /// Only those that come after this one; for the orders by id.
    pub after: Option<TaskId>,
}

/// In which order tasks are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// By status, then by urgency, then by id: for people.
    #[default]
    Urgency,
    /// By id, which never changes: for whoever goes through them page by page.
    Id,
    /// By id, the last one first.
    IdDown,
}

/// What a run prints.
#[derive(Clone)]
pub struct Printed {
    /// The number of the run.
    pub attempt: u32,
    /// Where that is.
    pub place: LogPlace,
    /// Whether it is over, so that nothing is added.
    pub is_over: bool,
}

/// Where it is that a run prints to.
#[derive(Clone)]
pub enum LogPlace {
    /// The folder of the run on this machine.
    Here(PathBuf),
    /// Another machine.
    Elsewhere(Arc<dyn Elsewhere>),
}

/// What a run prints on another machine.
pub trait Elsewhere: Send + Sync {
    /// Returns all that has come here so far, and whether nothing will be added.
    fn read(&self) -> io::Result<(Arc<Vec<u8>>, bool)>;
}

/// What kind of trouble it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A rule said no.
    Refused,
    /// What was asked for makes no sense.
    Usage,
    /// Something broke.
    Broken,
}

/// Why something could not be had.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
#[error("{message}")]
pub struct Trouble {
    /// Whose fault it is, so to speak.
    pub kind: Kind,
    /// The word for it that programs rely on.
    pub code: String,
    /// What was tried.
    pub message: String,
    /// Why not.
    pub causes: Vec<String>,
    /// What to do.
    pub hint: Option<String>,
}
