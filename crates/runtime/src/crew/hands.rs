//! What a crew can do to runs, whatever they are made of.

use std::io;
use std::time::Duration;

use adjutant_core::account::Budget;
use adjutant_core::evidence::Evidence;
use adjutant_core::work::Merged;
use adjutant_core::{Task, TaskId};

use crate::supervisor::{Leave, Life, Run};
use crate::worktree::Saved;

/// A run to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The run.
    pub run: Run,
    /// Its task.
    pub task: Task,
    /// The task that is a part of.
    pub parent: Option<Task>,
    /// How much the run may use.
    pub budget: Budget,
}

/// Starts runs, stops them and listens to them. What a run says comes by another way, as
/// [`Event`](crate::supervisor::Event)s to be given to [`Crew::hear`](super::Crew::hear).
pub trait Hands {
    /// Finds every run that was started and is not over, whoever started it.
    fn find(&self) -> Vec<Run>;

    /// Finds every run of a task that was started and is not over.
    fn find_of(&self, task: &TaskId) -> Vec<Run> {
        self.find().into_iter().filter(|run| run.task == *task).collect()
    }

    /// Says what is known of a run.
    fn life(&self, run: &Run) -> io::Result<Life>;

    /// Starts the run of a task, unless it was started before, or says why that cannot be.
    fn start(&self, wanted: &Wanted) -> Result<(), Unstarted>;

    /// Starts runs, side by side where that can be, and says of each in turn what came of it.
    fn start_all(&self, runs: &[Wanted]) -> Vec<Result<(), Unstarted>> {
        runs.iter().map(|wanted| self.start(wanted)).collect()
    }

    /// Has a run stopped. One that was never started never will be.
    fn stop(&self, run: &Run, reason: &str, leave: Leave) -> io::Result<()>;

    /// Has runs stopped, side by side where that can be, and says of each in turn what came of it.
    fn stop_all(&self, runs: &[&Run], reason: &str) -> Vec<io::Result<()>> {
        runs.iter().map(|run| self.stop(run, reason, Leave::Now)).collect()
    }

    /// Ends whatever works on a task and is not found as a run: somebody took its folder away.
    fn end_strays(&self, task: &TaskId);

    /// Hears from a run from now on: the messages that were not taken, then its end. Says whether
    /// there is such a run.
    fn adopt(&self, run: &Run) -> io::Result<bool>;

    /// Notes that everything a run said up to a message was taken, so that it does not come again.
    fn take(&self, task: &TaskId, attempt: u32, seq: u64) -> io::Result<()>;

    /// Tells a run what was answered to its question of this number: the choice, or that it is
    /// refused. Told twice, it is told once.
    fn tell(
        &self,
        task: &TaskId,
        attempt: u32,
        number: u32,
        choice: Option<&str>,
    ) -> io::Result<()>;

    /// Lets a run of a fleet go on until then.
    fn let_go_on(&self, _run: &Run, _until: Duration) {}

    /// Looks into what a run said that is over; none while that is under way. Asked again, it goes
    /// on, or is done again.
    fn look_into(&self, _task: &Task) -> Option<Looked> {
        let flaw = Some("nobody here can look into it".to_owned());
        let evidence = Evidence { flaw, ..Evidence::default() };
        Some(Looked { evidence, saved: None })
    }

    /// Merges the work on a task; none while that is under way. What was merged is not merged again.
    fn merge(&self, _task: &Task) -> Option<Merged> {
        Some(Merged::Waits { reason: "nobody here can merge it".to_owned() })
    }

    /// Returns the tasks that have a work tree which may be taken away when they are over.
    fn trees(&self) -> Vec<TaskId> {
        vec![]
    }

    /// Has the work tree of a task that is over taken away. Returns what lay in it uncommitted and
    /// was saved just now.
    fn tidy(&self, _task: &Task) -> Option<Saved> {
        None
    }

    /// Forgets what came of something nobody asks for any more.
    fn sweep(&self) {}

    /// Says whether something waits for a person and is tried again now and then.
    fn is_waiting(&self) -> bool {
        false
    }

    /// Says whether anything is under way that is no run.
    fn is_busy(&self) -> bool {
        false
    }
}

/// What was found when somebody looked into what a run said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// What was found out.
    pub evidence: Evidence,
    /// What lay uncommitted, could not be brought onto its branch, and was saved.
    pub saved: Option<Saved>,
}

/// Why a run was not started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unstarted {
    /// The disk is full. Nothing was started, and may be later.
    NoRoom,
    /// Its place to work in is being made. It is started when that is there.
    NotYet,
    /// There is no place for it to work in, for this reason.
    NoWorkspace(String),
    /// Its agent cannot be used, for this reason, which is no fault of the task.
    Unusable(String),
    /// For this reason, which is the run's own.
    Never(String),
}

impl From<String> for Unstarted {
    fn from(why: String) -> Self {
        Self::Never(why)
    }
}
