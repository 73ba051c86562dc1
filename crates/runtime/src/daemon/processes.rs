//! Runs as real processes: what the configuration says, and the supervisor that does it.

use std::io;
use std::path::PathBuf;

use adjutant_core::{Task, TaskId};
use adjutant_store::file::Folder;

use super::{in_one_line, orders};
use crate::agent::Launch;
use crate::config::Config;
use crate::crew::{Hands, Unstarted};
use crate::side_by_side::side_by_side;
use crate::supervisor::{Leave, Life, Run, Started, Supervisor};

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

    fn start(&self, run: &Run, task: &Task) -> Result<(), Unstarted> {
        let agent = self.config.agents.get(run.agent.as_str());
        let agent = agent.ok_or_else(|| format!("there is no agent {} any more", run.agent))?;
        let (order, limits) =
            orders::order(&self.folder, task, run).map_err(|error| error.to_string())?;
        let home = &self.folder.workspace();
        let launch = Launch::of(agent, &self.config.scheduler, home, &self.program, order)
            .map_err(|error| error.to_string())?
            .within(limits);
        match self.supervisor.start(run, &launch) {
            Ok(Started::Now | Started::Before | Started::NotStarted(_)) => Ok(()),
            Err(error) if error.is_full() => Err(Unstarted::NoRoom),
            Err(error) => Err(in_one_line(&error).into()),
        }
    }

    /// What a start waits for is a process that begins and a disk, which do well with several.
    fn start_all(&self, runs: &[(Run, Task)]) -> Vec<Result<(), Unstarted>> {
        side_by_side(runs, |(run, task)| self.start(run, task))
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
