//! Runs as real processes: what the configuration says, and the supervisor that does it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use adjutant_core::schedule::RunKey;
use adjutant_core::work::Merged;
use adjutant_core::{Policy, Task, TaskId, World, resume};
use adjutant_store::file::{DATA_FOLDER, Folder};
use adjutant_store::steady;

use super::confined::{OWN, refuse_unconfined};
use super::in_one_line;
use super::jobs::{Jobs, Product, What};
use super::orders::{Given, limits};
use super::work::Job;
use crate::agent::{Here, Launch, Resume, Versions, has_stream};
use crate::clock::{Clock, SystemClock};
use crate::config::{Agent, Config, Kind, Sandbox};
use crate::crew::{Hands, Looked, Unstarted, Wanted, told};
use crate::dialect::Forms;
use crate::eyes::{self, Need};
use crate::fleet::Member;
use crate::order::By;
use crate::service::Client;
use crate::shim;
use crate::shim::files::is_full;
use crate::side_by_side::side_by_side;
use crate::supervisor::{Leave, Life, Run, Started, Supervisor};
use crate::testrun::run::Terms;
use crate::workspace;
use crate::worktree::{PORTS, Ready, Refused, Saved, Yard};

/// Starts agents as the configuration says.
pub(super) struct Processes {
    pub(super) folder: Folder,
    pub(super) config: Config,
    policy: Policy,
    /// The program that has the commands `shim` and `script-agent`.
    pub(super) program: PathBuf,
    pub(super) supervisor: Supervisor,
    client: Client,
    jobs: Jobs,
    versions: Versions,
    /// Until when runs may go on that begin now, where somebody else says so.
    granted: Option<Arc<Member>>,
    /// When it was first heard of runs that were to be started lately.
    heard: Mutex<BTreeMap<RunKey, Duration>>,
}

/// How long it is remembered when it was heard of a run. One that waits for longer is heard of anew.
const HEARD: Duration = Duration::from_hours(1);

impl Processes {
    /// Has everything that is needed to start agents and to look after their work.
    pub(super) fn new(
        folder: Folder,
        config: Config,
        program: PathBuf,
        supervisor: Supervisor,
        client: Client,
        jobs: Jobs,
    ) -> Self {
        let policy = config.policy();
        Self {
            folder,
            config,
            policy,
            program,
            supervisor,
            client,
            jobs,
            versions: Versions::default(),
            granted: None,
            heard: Mutex::default(),
        }
    }

    /// Starts only what it is granted the time for, from now on.
    pub(super) fn granted_by(mut self, member: Option<Arc<Member>>) -> Self {
        self.granted = member;
        self
    }

    /// Begins nothing that may have been given to another node of the same name: one that was frozen
    /// does not know of that before it has asked.
    fn expect_name(&self, run: &Run) -> Result<(), Unstarted> {
        let Some(member) = &self.granted else { return Ok(()) };
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.retain(|_, at| steady().saturating_sub(*at) < HEARD);
        let at = *heard.entry((run.task.clone(), run.fence)).or_insert_with(steady);
        if member.had_its_name_after(at) { Ok(()) } else { Err(Unstarted::NotYet) }
    }

    /// Writes down until when a run may go on, before it begins.
    fn lease(&self, run: &Run) -> Result<(), Unstarted> {
        let Some(member) = &self.granted else { return Ok(()) };
        let granted = member.granted().filter(|granted| steady() < granted.until);
        let until = granted.ok_or(Unstarted::NotYet)?.until;
        let attempt = self.supervisor.folder(run);
        let written = attempt.create().and_then(|()| shim::lease::extend(attempt.path(), until));
        written.map_err(|error| error.to_string().into())
    }

    /// Gathers what is to be known about the work on a task.
    fn job(&self, task: &Task) -> Option<Job> {
        let limit = self.config.project.check_timeout.0;
        let deny = self.config.secret_variables();
        let terms = Terms { limit, halt: self.jobs.halt(), deny, ..Terms::default() };
        let places = (self.folder.root(), &*self.folder.workspace());
        Job::of(task, places, &self.config, &self.policy, terms)
    }

    /// Returns the work tree of a run when it is ready.
    fn worktree(&self, run: &Run, task: &Task) -> Result<Ready, Unstarted> {
        let gone = || Unstarted::Never("its lease is gone".to_owned());
        let job = self.job(task).ok_or_else(gone)?;
        let attempt = run.attempt;
        let ended = self.supervisor.end_earlier(run);
        ended.map_err(|error| Unstarted::Never(in_one_line(&error)))?;
        let work = move || Product::Ready(job.prepare(attempt));
        match self.jobs.ask(&run.task, What::Prepare(attempt), work) {
            Some(Product::Ready(Ok(ready))) => {
                let saved = ready.saved.clone().filter(|saved| saved.new);
                let told = saved.map(|saved| told(&run.task, saved));
                // Should this be lost, the reference is there all the same.
                let _ = self.client.ask_all(told.into_iter().collect());
                Ok(ready)
            }
            Some(Product::Ready(Err(Refused(why)))) => Err(Unstarted::NoWorkspace(why)),
            Some(_) | None => Err(Unstarted::NotYet),
        }
    }

    /// Says how to start a run in the folder it works in, which is made ready first.
    fn prepared(&self, wanted: &Wanted, agent: &Agent) -> Result<Launch, Unstarted> {
        let Wanted { run, task, .. } = wanted;
        let ready = agent.has_worktree().then(|| self.worktree(run, task)).transpose()?;
        let workspace = ready.as_ref().map(|ready| ready.workspace.clone());
        let workspace = workspace.or_else(|| agent.workspace.clone());
        let agent = &Agent { workspace, ..agent.clone() };
        let mut launch = self.launch(wanted, agent)?;
        launch.environment.deny.extend(self.config.secret_variables());
        if let Some(ready) = &ready {
            launch.environment.set.extend(self.tells(run, ready)?);
        }
        match agent.sandbox {
            Sandbox::None => Ok(launch),
            Sandbox::Landlock => self.confined(run, agent, ready.as_ref(), launch),
        }
    }

    /// Returns what tells a run where it works.
    fn tells(&self, run: &Run, ready: &Ready) -> Result<Vec<(String, String)>, Unstarted> {
        let yard = Yard::new(self.folder.root(), &self.folder.workspace(), None);
        let name = format!("{}/{}", run.task, run.attempt);
        let port = yard.port(&name, |whose| self.lives(whose));
        let port = port.map_err(|Refused(why)| Unstarted::NoWorkspace(why))?;
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let told = [
            ("TMPDIR", text(&ready.temporary)),
            ("ADJUTANT_WORKSPACE", text(&ready.workspace)),
            ("ADJUTANT_BRANCH", ready.branch.clone()),
            ("ADJUTANT_BASE", ready.base.clone()),
            ("ADJUTANT_PORT", port.to_string()),
            ("ADJUTANT_PORTS", PORTS.to_string()),
        ];
        Ok(told.map(|(name, value)| (name.to_owned(), value)).into())
    }

    /// Says whether a run may still need its ports: it was not seen to end, and none came after it.
    fn lives(&self, name: &str) -> bool {
        let Some((task, attempt)) = name.split_once('/') else { return false };
        let attempts = self.folder.root().join("runs").join(task).join("attempts");
        let next = attempt.parse().map_or(0, |attempt: u32| attempt.saturating_add(1));
        let over = shim::files::Folder::at(&attempts.join(attempt)).has_ended();
        !over && !attempts.join(next.to_string()).exists()
    }
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
        // What was started before is not prepared for again: somebody works there, and the step of
        // a story that it was told may be over by now.
        if self.supervisor.folder(run).was_started() {
            return Ok(());
        }
        self.expect_name(run)?;
        refuse_unconfined(agent, task)?;
        let launch = match task.story() {
            Some(position) => self.step(wanted, &position.story, agent)?,
            None => self.prepared(wanted, agent)?,
        };
        match self.note(run, task, &launch) {
            Ok(()) => {}
            Err(error) if is_full(&error) => return Err(Unstarted::NoRoom),
            Err(error) => return Err(error.to_string().into()),
        }
        self.lease(run)?;
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

    fn tell(
        &self,
        task: &TaskId,
        attempt: u32,
        number: u32,
        choice: Option<&str>,
    ) -> io::Result<()> {
        self.supervisor.tell(task, attempt, number, choice)
    }

    fn let_go_on(&self, run: &Run, until: Duration) {
        let attempt = self.supervisor.folder(run);
        if attempt.path().join(shim::lease::FILE).exists() {
            // One that cannot be told is told the next time, or ends.
            let _ = shim::lease::extend(attempt.path(), until);
        }
    }

    fn look_into(&self, task: &Task) -> Option<Looked> {
        let fence = task.trials.claim()?.fence;
        let job = self.job(task)?;
        let work = move || Product::Looked(job.look_into());
        match self.jobs.ask(&task.id, What::LookInto(fence), work)? {
            Product::Looked(looked) => Some(looked),
            Product::Ready(_) | Product::Merged(_) | Product::Tidied(_) => None,
        }
    }

    fn merge(&self, task: &Task) -> Option<Merged> {
        let (job, how) = (self.job(task)?, self.policy.merge_of(task));
        let (client, id) = (self.client.clone(), task.id.clone());
        let wanted = move || {
            let id = id.clone();
            let look = move |world: &World| {
                world.task(&id).is_some_and(|task| task.trials.merging().is_some())
            };
            client.view(look).unwrap_or(false)
        };
        let work = move || Product::Merged(job.merge(how, &wanted));
        match self.jobs.ask(&task.id, What::Merge, work)? {
            Product::Merged(merged) => {
                if matches!(merged, Merged::Waits { .. }) {
                    self.jobs.put_off(&task.id, What::Merge);
                }
                Some(merged)
            }
            Product::Ready(_) | Product::Looked(_) | Product::Tidied(_) => None,
        }
    }

    fn trees(&self) -> Vec<TaskId> {
        Yard::new(self.folder.root(), &self.folder.workspace(), None).tasks()
    }

    fn tidy(&self, task: &Task) -> Option<Saved> {
        let job = self.job(task)?;
        let (client, id) = (self.client.clone(), task.id.clone());
        // It is told by whoever did it: once the work tree is gone, nobody asks what came of it.
        let work = move || {
            let tidied = job.tidy();
            if let Ok(Some(saved)) = tidied.clone()
                && saved.new
            {
                let _ = client.ask_all(vec![told(&id, saved)]);
            }
            Product::Tidied(tidied.map(|_| None))
        };
        match self.jobs.ask(&task.id, What::Tidy, work)? {
            Product::Tidied(Ok(saved)) => saved.filter(|saved| saved.new),
            Product::Tidied(Err(_)) => {
                self.jobs.give_up(&task.id, What::Tidy);
                None
            }
            Product::Ready(_) | Product::Looked(_) | Product::Merged(_) => None,
        }
    }

    fn sweep(&self) {
        self.jobs.sweep();
    }

    fn is_waiting(&self) -> bool {
        self.jobs.is_waiting()
    }

    fn is_busy(&self) -> bool {
        self.jobs.is_busy()
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
        let resume = resume::goes_on(task, &run.agent);
        let by = how(agent, resume);
        let parent = parent.as_ref();
        let report = match agent.sandbox {
            Sandbox::None => attempt.path().to_owned(),
            Sandbox::Landlock => attempt.join(OWN),
        };
        let (attempt_at, report) = (attempt.path(), &*report);
        let policy = &self.policy;
        let given =
            Given { folder, policy, run, task, parent, attempt: attempt_at, report, now, by };
        let written = given.write(dialect).map_err(|error| error.to_string())?;
        let anew = match resume {
            Some(_) => given.anew().write(dialect).map_err(|error| error.to_string())?.text,
            None => String::new(),
        };
        let here = Here {
            home: &self.folder.workspace(),
            program: &self.program,
            attempt: attempt.path(),
            name: &format!("adjutant-{}-{}", run.task, run.attempt),
            resume: resume.map(|session| Resume { session, anew: &anew }),
            budget: *budget,
        };
        let mut launch =
            Launch::of(agent, &self.config.scheduler, &here, written.text).within(limits);
        let program = launch.command.first();
        launch.untried = program.and_then(|first| self.versions.warning(agent.kind, first));
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
        // A work tree lies in the data folder, and all of it counts but the data folder within it.
        let root = self.folder.root();
        let is_inside = launch.workspace.starts_with(root);
        let data = if is_inside { launch.workspace.join(DATA_FOLDER) } else { root.to_owned() };
        match need {
            Need::Everything => workspace::note(attempt.path(), &launch.workspace, &data),
            Need::Outputs | Need::Nothing => {
                workspace::note_place(attempt.path(), &launch.workspace, &data)
            }
        }
    }
}

/// Returns how an agent is told to report.
fn how(agent: &Agent, resume: Option<&str>) -> By {
    match has_stream(agent.kind) {
        _ if agent.kind == Kind::Webhook => By::Http,
        true if resume.is_some() => By::GoOn,
        true => By::Tools,
        false => By::Lines,
    }
}
