//! The supervisor: starts shims, finds those that run, hears from them and ends what is left.
//!
//! It knows runs by what is on disk and in the table of processes, and so needs to have started
//! none of them: a daemon that comes after another finds every run the other had. What a message
//! or an exit means is not known here.

mod call;
mod clear;
mod find;
mod follow;
mod run;
mod start;
mod stop;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use adjutant_core::TaskId;
use adjutant_core::account::Told;
use adjutant_core::dialect::DocumentKind;

pub use crate::shim::files::Exit;
pub use find::{Life, life};
pub use run::Run;
pub(crate) use run::was_here;
pub use start::{StartError, Started};
pub use stop::Leave;

use crate::shim::door::Wish;
use crate::shim::files::Folder;
use crate::shim::outbox;
use crate::token::Secret;

/// How many events may wait. A message has at most 1 MiB, so that this bounds the memory.
const EVENTS_MAX: usize = 8;

/// Starts runs and looks after them.
pub struct Supervisor {
    root: PathBuf,
    program: PathBuf,
    secret: Secret,
    tell: SyncSender<Event>,
    followed: Followed,
}

type Followed = Arc<Mutex<BTreeSet<Run>>>;

/// Something that a run did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The run.
    pub run: Run,
    /// What it did.
    pub what: What,
}

/// What a run did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Its agent printed a message. It comes again after a restart unless [`Supervisor::take`] was
    /// called for it.
    Line {
        /// Its number in the run, counted up from 1.
        seq: u64,
        /// The message as it was printed or left.
        text: String,
        /// What kind of document it is meant to be, if it was left as one.
        kind: Option<DocumentKind>,
        /// What is wrong with it that its text does not show.
        flaw: Option<String>,
    },
    /// It is over, nothing of it is left, and every message came before.
    Exited {
        /// How it ended.
        exit: Exit,
        /// The last lines it printed, or what its agent said.
        tail: String,
        /// What its agent told of itself.
        told: Box<Told>,
    },
}

impl Supervisor {
    /// Makes a supervisor of a data folder. `program` is the one that has the command `shim`.
    pub fn new(root: &Path, program: PathBuf, secret: Secret) -> (Self, Receiver<Event>) {
        let (tell, events) = sync_channel(EVENTS_MAX);
        let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        (Self { root, program, secret, tell, followed: Followed::default() }, events)
    }

    /// Returns the folder of a run, where its log and its exit are.
    pub fn folder(&self, run: &Run) -> Folder {
        run.folder(&self.root)
    }

    /// Hears from a run from now on: first the messages that were not taken, then what comes, at
    /// last its end, be it long past. Says whether there is such a run. A second call is the same
    /// as one.
    pub fn adopt(&self, run: &Run) -> io::Result<bool> {
        if !self.folder(run).was_started() {
            return Ok(false);
        }
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        if followed.insert(run.clone()) {
            follow::spawn(self, run.clone())?;
        }
        Ok(true)
    }

    /// Notes that a message was taken, so that it does not come again. What it did must be
    /// durable by then.
    pub fn take(&self, task: &TaskId, attempt: u32, seq: u64) -> io::Result<()> {
        outbox::take(&run::folder(&self.root, task, attempt), seq)
    }

    /// Puts what was answered to a question of a run where the run looks for it.
    pub fn tell(
        &self,
        task: &TaskId,
        attempt: u32,
        number: u32,
        choice: Option<&str>,
    ) -> io::Result<()> {
        run::folder(&self.root, task, attempt).write_answer(number, choice)
    }

    /// Ends whatever works on a task and is not found as a run: somebody took its folder away. Looks
    /// at every process there is: not for every start.
    pub fn end_strays(&self, task: &TaskId) {
        clear::end_strays(&self.root, task);
    }

    fn token(&self, run: &Run) -> String {
        self.secret.token(&run.task, run.fence)
    }
}

/// Notes that an agent gave a sign of life elsewhere than in its output. `folder` is that of its
/// run.
pub fn touch(folder: &Folder) -> io::Result<()> {
    call::call(folder, &Wish::Touch)
}

/// Notes that the agent of a run has started our MCP server.
pub fn served(folder: &Folder) -> io::Result<()> {
    call::call(folder, &Wish::Served)
}

/// Has a message of a run kept by whoever looks after it, until somebody is there who takes it. It
/// is on the disk when this returns.
pub fn say(folder: &Folder, token: &str, text: &str) -> io::Result<()> {
    call::call(folder, &Wish::Say { token: token.to_owned(), text: text.to_owned() })
}
