//! Starts a run, once.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::clear::{clear, end_strays};
use super::find::{Life, life, names};
use super::run::folder;
use super::stop::Leave;
use super::{Run, Supervisor};
use crate::agent::{Launch, TOKEN_VARIABLE};
use crate::shim::Reply;
use crate::shim::files::{ORDER, is_full};
use crate::shim::spec::{Environment, Spec};

/// How long to wait for somebody else who is at it.
const PAUSE: Duration = Duration::from_millis(20);

/// What came of starting a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Started {
    /// The agent runs.
    Now,
    /// It was started before, and may be over by now.
    Before,
    /// Its agent cannot be started, for this reason; the run is over.
    NotStarted(String),
}

/// Why a run could not be started, and may be started again.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The folder of the run cannot be written.
    #[error("cannot make the folder of the run")]
    Folder(#[source] io::Error),
    /// There is no shim.
    #[error("cannot start the shim")]
    Shim(#[source] io::Error),
    /// The disk has no room for what a run writes.
    #[error("there is no room for what the run writes")]
    NoRoom,
    /// The shim did not say what came of it.
    #[error("the shim gave no answer")]
    Silent,
    /// An earlier run of the task cannot be ended.
    #[error("cannot end run {attempt} of the task")]
    Earlier {
        /// Its number.
        attempt: u32,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

impl StartError {
    /// Says whether the disk was full, which is no fault of the run.
    pub fn is_full(&self) -> bool {
        match self {
            Self::NoRoom => true,
            Self::Folder(error) | Self::Shim(error) | Self::Earlier { source: error, .. } => {
                is_full(error)
            }
            Self::Silent => false,
        }
    }
}

impl Supervisor {
    /// Starts a run, unless it was started before, by whomever. Whatever earlier runs of the task
    /// left is ended first. Returns when the agent runs; it goes on when this process ends.
    pub fn start(&self, run: &Run, launch: &Launch) -> Result<Started, StartError> {
        let folder = self.folder(run);
        folder.create().map_err(StartError::Folder)?;
        if folder.was_started() {
            return Ok(Started::Before);
        }
        self.end_earlier(run)?;
        folder.write(ORDER, launch.order.as_bytes()).map_err(StartError::Folder)?;
        for (name, text) in &launch.papers {
            folder.write(name, text.as_bytes()).map_err(StartError::Folder)?;
        }
        let spec = self.spec(run, launch);
        loop {
            match self.start_shim(&spec)? {
                Some(Reply::Started) => return Ok(Started::Now),
                Some(Reply::NotStarted(why)) => return Ok(Started::NotStarted(why)),
                Some(Reply::Known) | None if folder.was_started() => return Ok(Started::Before),
                Some(Reply::NoRoom) => return Err(StartError::NoRoom),
                // Another shim has the run and has not said so yet. It will, or it dies.
                Some(Reply::Known) => std::thread::sleep(PAUSE),
                None => return Err(StartError::Silent),
            }
        }
    }

    /// Starts a shim, and returns what it answers; none if it gives no answer.
    fn start_shim(&self, spec: &Spec) -> Result<Option<Reply>, StartError> {
        let mut shim = self.spawn(&spec.folder).map_err(StartError::Shim)?;
        let reply = ask(&mut shim, spec);
        // Should there be no room for a thread, whoever ends this process waits for it.
        let _ = wait_for(shim);
        Ok(reply.ok())
    }

    fn spawn(&self, folder: &Path) -> io::Result<Child> {
        let mut command = Command::new(&self.program);
        command.arg("shim").current_dir(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn()
    }

    fn spec(&self, run: &Run, launch: &Launch) -> Spec {
        let mut set = launch.environment.set.clone();
        set.extend(self.variables(run));
        Spec {
            task_id: run.task.to_string(),
            agent: run.agent.to_string(),
            attempt: run.attempt,
            fence: run.fence,
            folder: self.folder(run).path().to_owned(),
            command: launch.command.clone(),
            workspace: launch.workspace.clone(),
            environment: Environment { deny: launch.environment.deny.clone(), set },
            prompt: launch.prompt,
            lines: launch.lines,
            report: launch.report.clone(),
            limits: launch.limits,
            asks: launch.asks,
            reads: launch.reads.map(|kind| kind.as_str().to_owned()),
            session: launch.session.clone(),
            untried: launch.untried.clone(),
            confined: launch.confined.clone(),
        }
    }

    /// Returns what tells an agent which run it is.
    fn variables(&self, run: &Run) -> BTreeMap<String, String> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let variables = [
            ("ADJUTANT_DATA", text(&self.root)),
            ("ADJUTANT_TASK_ID", run.task.to_string()),
            ("ADJUTANT_AGENT", run.agent.to_string()),
            ("ADJUTANT_ATTEMPT", run.attempt.to_string()),
            (TOKEN_VARIABLE, self.token(run)),
            ("ADJUTANT_RUN_DIR", text(&run.runs(&self.root))),
        ];
        variables.map(|(name, value)| (name.to_owned(), value)).into()
    }

    /// Ends what earlier runs of the task left, so that two never work on one task.
    pub(crate) fn end_earlier(&self, run: &Run) -> Result<(), StartError> {
        let unread = |source| StartError::Earlier { attempt: 0, source };
        let attempts = run.runs(&self.root).join("attempts");
        for attempt in names(&attempts).map_err(unread)? {
            let earlier = self.unfinished(&run.task, &attempt).map_err(unread)?;
            if let Some((earlier, _)) = earlier.filter(|(found, _)| found.attempt < run.attempt) {
                let attempt = earlier.attempt;
                self.end(&earlier).map_err(|source| StartError::Earlier { attempt, source })?;
            }
        }
        let before = run.attempt.checked_sub(1).filter(|before| *before > 0);
        if before.is_some_and(|before| !folder(&self.root, &run.task, before).path().exists()) {
            end_strays(&self.root, &run.task);
        }
        Ok(())
    }

    /// Ends a run and waits until it is over.
    pub(super) fn end(&self, run: &Run) -> io::Result<()> {
        let folder = self.folder(run);
        loop {
            match life(&folder)? {
                Life::Alive => self.stop(run, "a newer run was given out", Leave::Now)?,
                Life::Gone => clear(&folder, run, &self.token(run))?,
                Life::Over | Life::Unknown => return Ok(()),
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// Waits for a shim to end, however long it takes, or its entry would stay in the table.
fn wait_for(mut shim: Child) -> io::Result<()> {
    let waiting = std::thread::Builder::new().name("wait for a shim".into()).stack_size(64 << 10);
    waiting.spawn(move || shim.wait()).map(drop)
}

fn ask(shim: &mut Child, spec: &Spec) -> io::Result<Reply> {
    if let Some(mut stdin) = shim.stdin.take() {
        stdin.write_all(&serde_json::to_vec(spec)?)?;
    }
    let mut reply = String::new();
    if let Some(mut stdout) = shim.stdout.take() {
        stdout.read_to_string(&mut reply)?;
    }
    Ok(serde_json::from_str(&reply)?)
}
