//! The runs a daemon looks after: starts, stops and hears them, as the engine owes it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use adjutant_core::effect::Stop;
use adjutant_core::run::{Exit, Life};
use adjutant_core::schedule::to_look_at;
use adjutant_core::{AgentId, Effect, Task, TaskId, World};
use adjutant_store::file::Folder;

use super::DaemonError;
use super::orders;
use crate::agent::Launch;
use crate::config::Config;
use crate::engine::Request;
use crate::service::{Client, Unanswered};
use crate::supervisor::{self, Event, Leave, Run, Started, Supervisor, What};
use crate::tick::Ticked;

/// Everybody who works.
pub(super) struct Crew {
    folder: Folder,
    config: Config,
    program: PathBuf,
    supervisor: Supervisor,
    client: Client,
    /// The runs that were started or found here, and whose end has not been taken in.
    here: BTreeMap<(TaskId, u64), Run>,
    /// Since when each of them was seen.
    since: BTreeMap<(TaskId, u64), Instant>,
}

impl Crew {
    pub(super) fn new(
        folder: Folder,
        config: Config,
        program: PathBuf,
        supervisor: Supervisor,
        client: Client,
    ) -> Self {
        let (here, since) = (BTreeMap::new(), BTreeMap::new());
        Self { folder, config, program, supervisor, client, here, since }
    }

    /// Says whether no run is left.
    pub(super) fn is_empty(&self) -> bool {
        self.here.is_empty()
    }

    /// Returns the configuration.
    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    /// Finds every run an earlier daemon left, alive or not, and hears from it from now on. A run
    /// that ended while nobody listened tells so now.
    pub(super) fn adopt_all(&mut self) -> Result<(), DaemonError> {
        let known = self.client.view(runs)?;
        let found = self.supervisor.find().unwrap_or_default();
        for run in known.into_iter().chain(found.into_iter().map(|(run, _)| run)) {
            self.adopt(run);
        }
        Ok(())
    }

    /// Hears from a run, if there is such a run here.
    fn adopt(&mut self, run: Run) {
        if matches!(self.supervisor.adopt(&run), Ok(true)) {
            let key = (run.task.clone(), run.fence);
            self.since.entry(key.clone()).or_insert_with(Instant::now);
            self.here.insert(key, run);
        }
    }

    /// Returns how many of the runs here are over and have yet to say so.
    pub(super) fn count_ended(&self) -> usize {
        let over = |run: &&Run| !matches!(self.supervisor.life(run), Ok(supervisor::Life::Alive));
        self.here.values().filter(over).count()
    }

    /// Does what the engine owes to the outside.
    pub(super) fn do_owed(&mut self) -> Result<(), DaemonError> {
        let owed = self.client.owed()?;
        let mut done = Vec::new();
        for one in owed {
            match one.effect {
                Effect::StartRun { task, agent, attempt, fence } => {
                    self.start(Run { task, attempt, fence, agent })?;
                }
                Effect::StopRun { task, fence, reason } => self.stop(&task, fence, reason),
                Effect::Notify { .. } => {}
            }
            done.push(one.id);
        }
        if !done.is_empty() {
            self.client.settle(done)?;
        }
        Ok(())
    }

    /// Starts a run that was given out, unless it is not wanted any more.
    fn start(&mut self, run: Run) -> Result<(), DaemonError> {
        let (id, fence) = (run.task.clone(), run.fence);
        let task = self.client.view(move |world| world.task(&id).cloned())?;
        let is_wanted = |task: &Task| task.lease().is_some_and(|lease| lease.fence == fence);
        let Some(task) = task.filter(is_wanted) else { return Ok(()) };
        match self.launch(&run, &task) {
            Ok(()) => self.adopt(run),
            Err(why) => {
                // Should anything of it have begun all the same, it ends before this is told.
                let _ = self.supervisor.stop(&run, &why, Leave::Now);
                self.tell_exit(&run, Exit::NotStarted(why), String::new())?;
            }
        }
        Ok(())
    }

    fn launch(&self, run: &Run, task: &Task) -> Result<(), String> {
        let agent = self.config.agents.get(run.agent.as_str());
        let agent = agent.ok_or_else(|| format!("there is no agent {} any more", run.agent))?;
        let order = orders::order(&self.folder, task, run).map_err(|error| error.to_string())?;
        let home = &self.folder.workspace();
        let launch = Launch::of(agent, &self.config.scheduler, home, &self.program, order)
            .map_err(|error| error.to_string())?;
        match self.supervisor.start(run, &launch) {
            Ok(Started::Now | Started::Before | Started::NotStarted(_)) => Ok(()),
            Err(error) => Err(in_one_line(&error)),
        }
    }

    fn stop(&mut self, task: &TaskId, fence: u64, reason: Stop) {
        let leave = if reason == Stop::Reported { Leave::First } else { Leave::Now };
        let Some(run) = self.find(task, fence) else { return };
        // A shim that cannot be reached is gone, and what it left is ended when that is noticed.
        let _ = self.supervisor.stop(&run, reason.as_str(), leave);
        self.adopt(run);
    }

    /// Finds a run: among those here, else among all there are.
    fn find(&self, task: &TaskId, fence: u64) -> Option<Run> {
        let here = self.here.get(&(task.clone(), fence)).cloned();
        here.or_else(|| {
            let found = self.supervisor.find().unwrap_or_default();
            found
                .into_iter()
                .map(|(run, _)| run)
                .find(|run| run.task == *task && run.fence == fence)
        })
    }

    /// Has every run stopped.
    pub(super) fn stop_all(&mut self) -> Result<(), DaemonError> {
        for run in self.here.values() {
            let stopped = self.supervisor.stop(run, "the daemon was stopped", Leave::Now);
            stopped.map_err(|source| DaemonError::Io { attempt: "stop a run", source })?;
        }
        Ok(())
    }

    /// Does one tick.
    pub(super) fn tick(&mut self) -> Result<Ticked, DaemonError> {
        let runs = self.client.view(runs)?;
        for run in &runs {
            // One that began or ended elsewhere meanwhile: by `adjutant tick`, say.
            if !self.here.contains_key(&(run.task.clone(), run.fence)) {
                self.adopt(run.clone());
            }
        }
        let is_here = |run: &Run| self.here.contains_key(&(run.task.clone(), run.fence));
        // A run here counts as alive until its end is taken in: what it said must come first.
        let life = |run: &Run| if is_here(run) { Life::Alive } else { Life::NotOurs };
        let lives = runs.iter().map(|run| (run.task.clone(), life(run))).collect();
        Ok(self.client.tick(lives)?)
    }

    /// Renews the leases of the runs there are.
    pub(super) fn beat(&self) -> Result<(), DaemonError> {
        for run in self.here.values() {
            self.client.ask(Request::Beat { task: run.task.clone(), fence: run.fence })?;
        }
        Ok(())
    }

    /// Takes in what a run did.
    pub(super) fn hear(&mut self, event: &Event) -> Result<(), Unanswered> {
        let run = &event.run;
        match &event.what {
            What::Line { seq, text } => {
                let (task, fence, text) = (run.task.clone(), run.fence, text.clone());
                self.client.ask(Request::Line { task, fence, text })?;
                // Should this be lost, it comes again, and says nothing new.
                let _ = self.supervisor.take(run, *seq);
                Ok(())
            }
            What::Exited { exit, tail } => self.tell_exit(run, exit.into(), tail.clone()),
        }
    }

    fn tell_exit(&mut self, run: &Run, exit: Exit, tail: String) -> Result<(), Unanswered> {
        let (task, fence) = (run.task.clone(), run.fence);
        self.client.ask(Request::RunExited { task, fence, exit, tail })?;
        let key = (run.task.clone(), run.fence);
        self.here.remove(&key);
        self.since.remove(&key);
        Ok(())
    }

    /// Returns the runs there are, each with since when it was seen here.
    pub(super) fn here(&self) -> impl Iterator<Item = (&Run, Instant)> {
        self.here
            .iter()
            .map(|(key, run)| (run, self.since.get(key).copied()))
            .map(|(run, since)| (run, since.unwrap_or_else(Instant::now)))
    }
}

/// Returns the runs the world knows of: those with a lease, and those nobody has seen end.
fn runs(world: &World) -> Vec<Run> {
    let run = |id: TaskId| {
        let task = world.task(&id)?;
        let leased =
            |lease: &adjutant_core::task::Lease| (lease.agent.clone(), lease.attempt, lease.fence);
        let open = task.trials.open.as_ref();
        let open = open.map(|run| (run.agent.clone(), run.attempt, run.fence));
        let (agent, attempt, fence): (AgentId, u32, u64) = task.lease().map(leased).or(open)?;
        Some(Run { task: id, attempt, fence, agent })
    };
    to_look_at(world).into_iter().filter_map(run).collect()
}

impl From<&supervisor::Exit> for Exit {
    fn from(exit: &supervisor::Exit) -> Self {
        match exit {
            supervisor::Exit::Code(code) => Self::Code(*code),
            supervisor::Exit::Signal(signal) => Self::Signal(*signal),
            supervisor::Exit::TimedOut => Self::TimedOut,
            supervisor::Exit::Idle => Self::Idle,
            supervisor::Exit::Stopped(_) => Self::Stopped,
            supervisor::Exit::Lost => Self::Lost,
            supervisor::Exit::NotStarted(why) => Self::NotStarted(why.clone()),
        }
    }
}

fn in_one_line(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}
