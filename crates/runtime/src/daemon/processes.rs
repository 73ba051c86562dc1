//! Runs as real processes: what the configuration says, and the supervisor that does it.

use std::io;
use std::path::PathBuf;

use adjutant_core::{Task, TaskId};
use adjutant_store::file::Folder;

use super::in_one_line;
use super::orders::{Given, limits};
use crate::agent::{Here, Launch, has_stream};
use crate::clock::{Clock, SystemClock};
use crate::config::{Agent, Config};
use crate::crew::{Hands, Unstarted, Wanted};
use crate::dialect::Forms;
use crate::eyes::{self, Need};
use crate::order::By;
use crate::shim::files::is_full;
use crate::side_by_side::side_by_side;
use crate::supervisor::{Leave, Life, Run, Started, Supervisor};
use crate::workspace;

/// Starts agents as the configuration says.
pub(super) struct Processes {
    pub(super) folder: Folder,
    pub(super) config: Config,
    /// The program that has the commands `shim` and `script-agent`.
    pub(super) program: PathBuf,
    pub(super) supervisor: Supervisor,
}

impl Hands for Processes {
    fn find(&self) -> Vec<Run> {
        let found = self.supervisor.find().unwrap_or_default();
        found.into_iter().map(|(run, _)| run).collect()
    }

    fn find_of(&self, task: &TaskId) -> Vec<Run> {
        let found = self.supervisor.find_of(task).unwrap_or_default();
        found.into_iter().map(|(run, _)| run).collect()
    }

    fn life(&self, run: &Run) -> io::Result<Life> {
        self.supervisor.life(run)
    }

    fn start(&self, wanted: &Wanted) -> Result<(), Unstarted> {
        let Wanted { run, task, .. } = wanted;
        let agent = self.config.agents.get(run.agent.as_str());
        let agent = agent.ok_or_else(|| format!("there is no agent {} any more", run.agent))?;
        let launch = match task.story() {
            // What it was told is told; its step may be over by now.
            Some(_) if self.supervisor.folder(run).was_started() => return Ok(()),
            Some(position) => self.step(wanted, &position.story, agent)?,
            None => self.launch(wanted, agent)?,
        };
        match self.note(run, task, &launch) {
            Ok(()) => {}
            Err(error) if is_full(&error) => return Err(Unstarted::NoRoom),
            Err(error) => return Err(error.to_string().into()),
        }
        match self.supervisor.start(run, &launch) {
            Ok(Started::Now | Started::Before | Started::NotStarted(_)) => Ok(()),
            Err(error) if error.is_full() => Err(Unstarted::NoRoom),
            Err(error) => Err(in_one_line(&error).into()),
        }
    }

    /// What a start waits for is a process that begins and a disk, which do well with several.
    fn start_all(&self, runs: &[Wanted]) -> Vec<Result<(), Unstarted>> {
        side_by_side(runs, |wanted| self.start(wanted))
    }

    fn stop(&self, run: &Run, reason: &str, leave: Leave) -> io::Result<()> {
        self.supervisor.stop(run, reason, leave)
    }

    fn stop_all(&self, runs: &[&Run], reason: &str) -> Vec<io::Result<()>> {
        side_by_side(runs, |run| self.supervisor.stop(run, reason, Leave::Now))
    }

    fn end_strays(&self, task: &TaskId) {
        self.supervisor.end_strays(task);
    }

    fn adopt(&self, run: &Run) -> io::Result<bool> {
        self.supervisor.adopt(run)
    }

    fn take(&self, task: &TaskId, attempt: u32, seq: u64) -> io::Result<()> {
        self.supervisor.take(task, attempt, seq)
    }
}

impl Processes {
    /// Says how to start a run, with its order in the dialect of its agent.
    fn launch(&self, wanted: &Wanted, agent: &Agent) -> Result<Launch, String> {
        let Wanted { run, task, parent, budget } = wanted;
        let (folder, now) = (&self.folder, SystemClock.now());
        let attempt = self.supervisor.folder(run);
        let dialect = agent.dialect.of_core();
        let limits = limits(folder, task).map_err(|error| error.to_string())?;
        let resume = session(task, run);
        let by = how(agent, resume);
        let parent = parent.as_ref();
        let given = Given { folder, run, task, parent, attempt: attempt.path(), now, by };
        let written = given.write(dialect).map_err(|error| error.to_string())?;
        let here = Here {
            home: &self.folder.workspace(),
            program: &self.program,
            attempt: attempt.path(),
            name: &format!("adjutant-{}-{}", run.task, run.attempt),
            resume,
            budget: *budget,
        };
        let launch = Launch::of(agent, &self.config.scheduler, &here, written.text)
            .map_err(|error| error.to_string())?
            .within(limits);
        Ok(match Forms::of(dialect) {
            Some(forms) => launch.with_forms(forms, attempt.path(), written.document),
            None => launch,
        })
    }

    /// Notes what is in the workspace before the run begins, if that will be asked for. Of a run
    /// that was started before it was noted then.
    fn note(&self, run: &Run, task: &Task, launch: &Launch) -> io::Result<()> {
        let attempt = self.supervisor.folder(run);
        let need = eyes::need(task);
        if need == Need::Nothing || attempt.was_started() {
            return Ok(());
        }
        attempt.create()?;
        match need {
            Need::Everything => {
                workspace::note(attempt.path(), &launch.workspace, self.folder.root())
            }
            Need::Outputs | Need::Nothing => {
                workspace::note_place(attempt.path(), &launch.workspace, self.folder.root())
            }
        }
    }
}

/// Returns the conversation a run can go on with: that of the attempt before, if it was the same
/// agent's and came to nothing.
fn session<'t>(task: &'t Task, run: &Run) -> Option<&'t str> {
    let session = task.trials.account()?.session.as_ref()?;
    (session.agent == run.agent).then_some(&*session.id)
}

/// Returns how an agent is told to report.
fn how(agent: &Agent, resume: Option<&str>) -> By {
    match has_stream(agent.kind) {
        true if resume.is_some() => By::GoOn,
        true => By::Tools,
        false => By::Lines,
    }
}
