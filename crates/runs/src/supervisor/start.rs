//! Starts a run, at most once.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use adjutant_process::process_table::{self, SessionLeader};
use adjutant_run_files::attempt_files::{AttemptFolder, ORDER, is_disk_full};
use adjutant_run_files::run_ref::attempt_folder;
use adjutant_run_files::shim_spec::{AgentEnvironment, ShimSpec};
use adjutant_run_files::socket_protocol::RUN_SOCKET_VARIABLE;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::find_runs::{LocalRunState, local_run_state, sorted_names};
use super::shim_cleanup::{clean_up_run, end_strays};
use super::stop::StopMode;
use super::{RunRef, RunSupervisor};
use crate::agent::{AgentLaunch, TOKEN_VARIABLE};
use crate::shim::ShimReply;

/// How long to wait for another process that starts or ends the same run.
const PAUSE: Duration = Duration::from_millis(20);

/// How long a shim that has recorded its start may take to say whether the agent runs. The agent may
/// have stopped it before it could answer.
const REPLY_PATIENCE: Duration = Duration::from_secs(5);

/// How often a shim is started again that ended without an answer.
const SILENT_RETRIES: u32 = 2;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartResult {
    Running,
    /// The run was started before, and may have ended by now.
    AlreadyStarted,
    /// The agent could not be started; the run has ended.
    NotStarted(String),
}

/// Why a run could not be started. A retry may succeed.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot create the folder of the run")]
    Folder(#[source] io::Error),
    #[error("cannot start the shim")]
    Shim(#[source] io::Error),
    #[error("no disk space is left for the output of the run")]
    NoRoom,
    /// The shim did not say whether the agent was started.
    #[error("the shim did not answer")]
    Silent,
    #[error("cannot end run {attempt} of the task")]
    Earlier {
        attempt: u32,
        #[source]
        source: io::Error,
    },
}

impl StartError {
    /// Returns whether the disk was full, which is no fault of the run.
    pub fn is_full(&self) -> bool {
        match self {
            Self::NoRoom => true,
            Self::Folder(error) | Self::Shim(error) | Self::Earlier { source: error, .. } => {
                is_disk_full(error)
            }
            Self::Silent => false,
        }
    }
}

impl RunSupervisor {
    /// Starts a run, unless any process has started it before. Ends what earlier runs of the task
    /// left first. Returns when the agent runs; the run continues when this process ends.
    pub fn start(&self, run: &RunRef, launch: &AgentLaunch) -> Result<StartResult, StartError> {
        let folder = self.folder(run);
        folder.create().map_err(StartError::Folder)?;
        if folder.was_started() {
            return Ok(StartResult::AlreadyStarted);
        }
        self.end_earlier(run)?;
        folder.write(ORDER, launch.order.as_bytes()).map_err(StartError::Folder)?;
        for (name, text) in &launch.files {
            folder.write(name, text.as_bytes()).map_err(StartError::Folder)?;
        }
        let spec = self.spec(run, launch);
        let mut silent = 0;
        loop {
            match self.start_shim(&spec)? {
                Some(ShimReply::Started) => return Ok(StartResult::Running),
                Some(ShimReply::NotStarted(why)) => return Ok(StartResult::NotStarted(why)),
                Some(ShimReply::Known) | None if folder.was_started() => {
                    return Ok(StartResult::AlreadyStarted);
                }
                Some(ShimReply::NoRoom) => return Err(StartError::NoRoom),
                // Another shim has the lock and has not recorded the start yet. It will,
                // or it dies.
                Some(ShimReply::Known) => std::thread::sleep(PAUSE),
                // It was killed before it recorded anything, so nothing was started.
                None if silent < SILENT_RETRIES => silent += 1,
                None => return Err(StartError::Silent),
            }
        }
    }

    /// Starts a shim, and returns its answer; `None` if it gives none.
    fn start_shim(&self, spec: &ShimSpec) -> Result<Option<ShimReply>, StartError> {
        let (mut shim, leader) = self.spawn(&spec.folder).map_err(StartError::Shim)?;
        let reply = send_spec(&mut shim, spec);
        // If no thread can be started, init reaps the shim after this process has ended.
        let _ = reap_in_background(shim, leader);
        Ok(reply.ok())
    }

    fn spawn(&self, folder: &Path) -> io::Result<(Child, SessionLeader)> {
        let mut command = Command::new(&self.program);
        command.arg("shim").current_dir(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        process_table::spawn_session_leader(&mut command)
    }

    fn spec(&self, run: &RunRef, launch: &AgentLaunch) -> ShimSpec {
        let mut set = launch.environment.set.clone();
        set.extend(self.run_variables(run));
        ShimSpec {
            task_id: run.task.to_string(),
            agent: run.agent.to_string(),
            attempt: run.attempt,
            fence: run.fence,
            nonce: run.nonce,
            folder: self.folder(run).path().to_owned(),
            command: launch.command.clone(),
            workspace: launch.workspace.clone(),
            environment: AgentEnvironment { set, ..launch.environment.clone() },
            prompt: launch.prompt,
            lines: launch.lines,
            report: launch.report.clone(),
            limits: launch.limits,
            asks: launch.terminate_scope,
            reads: launch.stream_kind.map(|kind| kind.as_str().to_owned()),
            session: launch.session.clone(),
            untried: launch.version_warning.clone(),
            sandbox: launch.sandbox.clone(),
            secrets: self.redactor.values(),
        }
    }

    /// Returns the environment variables that tell an agent which run it is.
    fn run_variables(&self, run: &RunRef) -> BTreeMap<String, String> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let variables = [
            ("ADJUTANT_DATA", text(&self.root)),
            ("ADJUTANT_TASK_ID", run.task.to_string()),
            ("ADJUTANT_AGENT", run.agent.to_string()),
            ("ADJUTANT_ATTEMPT", run.attempt.to_string()),
            (TOKEN_VARIABLE, self.token(run)),
            ("ADJUTANT_RUN_DIR", text(&run.task_runs_folder(&self.root))),
            (RUN_SOCKET_VARIABLE, text(&self.folder(run).run_socket())),
        ];
        variables.map(|(name, value)| (name.to_owned(), value)).into()
    }

    /// Ends what earlier runs of the task left, so that two runs never work on one task.
    pub fn end_earlier(&self, run: &RunRef) -> Result<(), StartError> {
        let unread = |source| StartError::Earlier { attempt: 0, source };
        let attempts = run.task_runs_folder(&self.root).join("attempts");
        for attempt in sorted_names(&attempts).map_err(unread)? {
            let earlier = self.unfinished(&run.task, &attempt).map_err(unread)?;
            if let Some((earlier, _)) = earlier.filter(|(found, _)| found.attempt < run.attempt) {
                let attempt = earlier.attempt;
                self.end_run(&earlier).map_err(|source| StartError::Earlier { attempt, source })?;
            }
        }
        let before = run.attempt.checked_sub(1).filter(|before| *before > 0);
        if before
            .is_some_and(|before| !attempt_folder(&self.root, &run.task, before).path().exists())
        {
            end_strays(&self.root, &run.task);
        }
        Ok(())
    }

    /// Stops a run and waits until it has ended.
    pub(super) fn end_run(&self, run: &RunRef) -> io::Result<()> {
        let folder = self.folder(run);
        loop {
            match local_run_state(&folder)? {
                LocalRunState::Alive => {
                    match self.stop(run, "a newer run was assigned", StopMode::Immediately) {
                        // The run is being ended without its shim.
                        Err(error) if error.kind() == io::ErrorKind::TimedOut => {}
                        stopped => stopped?,
                    }
                }
                LocalRunState::Gone => clean_up_run(&folder, run, &self.token(run))?,
                LocalRunState::Over | LocalRunState::Unknown => return Ok(()),
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// Reaps a shim whenever it ends; otherwise it would stay in the process table as a zombie.
fn reap_in_background(mut shim: Child, leader: SessionLeader) -> io::Result<()> {
    let waiting = std::thread::Builder::new().name("wait for a shim".into()).stack_size(64 << 10);
    let wait = move || {
        let ended = shim.wait();
        drop(leader);
        // No process is left below a shim that ends by itself.
        if ended.is_ok_and(|status| status.signal().is_some()) {
            process_table::end_adopted_orphans();
        }
    };
    waiting.spawn(wait).map(drop)
}

fn send_spec(shim: &mut Child, spec: &ShimSpec) -> io::Result<ShimReply> {
    if let Some(mut stdin) = shim.stdin.take() {
        stdin.write_all(&serde_json::to_vec(spec)?)?;
    }
    let mut reply = Vec::new();
    if let Some(stdout) = shim.stdout.take() {
        read_reply(stdout, &AttemptFolder::new(&spec.folder), &mut reply)?;
    }
    Ok(serde_json::from_slice(&reply)?)
}

/// Reads until the shim closes the pipe. Gives up on a shim that has recorded its start and does not
/// answer: its follower does the rest.
fn read_reply(
    mut stdout: ChildStdout,
    folder: &AttemptFolder,
    reply: &mut Vec<u8>,
) -> io::Result<()> {
    let mut bytes = [0; 1024];
    let patience = Timespec::try_from(REPLY_PATIENCE).ok();
    loop {
        let ready = poll(&mut [PollFd::new(&stdout, PollFlags::IN)], patience.as_ref());
        match ready {
            Ok(0) if folder.was_started() => return Err(io::ErrorKind::TimedOut.into()),
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => match stdout.read(&mut bytes)? {
                0 => return Ok(()),
                read => reply.extend_from_slice(&bytes[..read]),
            },
            Err(errno) => return Err(errno.into()),
        }
    }
}
