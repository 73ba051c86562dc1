//! Runs commands that may execute what an agent wrote: checks, setup, tests and hooks. Each runs
//! under a shim of its own, confined like the run that it judges and without that run's rights.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use adjutant_config::{CheckSandbox, Config, PROCESSES_MAX_DEFAULT};
use adjutant_model::TaskId;
use adjutant_model::run::RunExit;
use adjutant_model::sandbox_level::SandboxLevel;
use adjutant_process::process_table::{self, ProcessIdentity, SessionLeader};
use adjutant_process::test_runner::limited_command::{
    CHECK_VARIABLE, CommandResult, remove_secrets,
};
use adjutant_run_files::attempt_files::AttemptFolder;
use adjutant_run_files::check_spec::{CheckReply, CheckSpec, ShimRegistration};
use adjutant_run_files::live_shims::{LiveShim, ShimKind, live_shims};
use adjutant_run_files::sandbox_spec::{
    CommandSandbox, ProcessLimit, ResourceLimits, SandboxNetwork, StrictSandbox,
};
use adjutant_run_files::shim_spec::to_millis;

use crate::sandbox::auto_level::{contains, strongest_in, strongest_level};
use crate::sandbox::build_caches::allow_caches;
use crate::sandbox::project_folders::{CacheUser, SandboxFolders};
use crate::sandbox::strict_view;

/// The command of this program that is a check's shim.
pub const CHECK_SHIM_COMMAND: &str = "check-shim";

/// How often to look whether the command must be halted.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How long a shim may take to end a command before it is killed: it may be suspended.
const SHIM_GRACE: Duration = Duration::from_secs(10);

/// Runs commands that may execute what an agent wrote, and ends all their processes.
#[derive(Debug, Clone)]
pub struct CheckRunner {
    /// The program that has the command [`CHECK_SHIM_COMMAND`].
    program: PathBuf,
    data_root: Option<PathBuf>,
    timeout: Duration,
    halt: Arc<AtomicBool>,
    secret_variables: Vec<String>,
    confinement: CheckConfinement,
    /// What commands may read besides, in a `strict` sandbox.
    readable: Vec<PathBuf>,
    /// What commands in a `strict` sandbox can connect to.
    network: SandboxNetwork,
    /// How much of the machine commands in a `strict` sandbox may take.
    limits: ResourceLimits,
    subject: LiveShim,
}

/// What confines the commands.
#[derive(Debug, Clone)]
enum CheckConfinement {
    /// As the run was that the commands judge.
    OfRun(SandboxLevel),
    /// As the setting says, because they judge no run.
    Setting(CheckSandbox),
}

impl CheckRunner {
    /// Makes a runner for commands that judge no run; `data_root` is `None` for a project without
    /// a data folder.
    pub fn new(program: PathBuf, data_root: Option<&Path>, config: &Config) -> Self {
        Self {
            program,
            data_root: data_root.map(Path::to_owned),
            timeout: config.project.check_timeout.0,
            halt: Arc::default(),
            secret_variables: config.secret_variables(),
            confinement: CheckConfinement::Setting(config.project.check_sandbox),
            readable: vec![],
            network: SandboxNetwork::Open,
            limits: default_limits(),
            subject: LiveShim::new(ShimKind::Check),
        }
    }

    /// Lets commands in a `strict` sandbox read these paths.
    #[must_use]
    pub fn with_readable(self, readable: Vec<PathBuf>) -> Self {
        Self { readable, ..self }
    }

    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Commands end when the flag is set.
    #[must_use]
    pub fn with_halt_flag(self, halt: Arc<AtomicBool>) -> Self {
        Self { halt, ..self }
    }

    /// Makes all processes count as inside a run of a task.
    #[must_use]
    pub fn with_subject(self, task: &TaskId, attempt: &Path, fence: u64) -> Self {
        let attempt = Some(std::path::absolute(attempt).unwrap_or_else(|_| attempt.to_owned()));
        let subject = LiveShim {
            attempt,
            task: Some(task.clone()),
            fence: Some(fence),
            ..LiveShim::new(ShimKind::Check)
        };
        Self { subject, ..self }
    }

    /// Confines commands like the run that they judge. Without a run on this machine, the setting
    /// `check_sandbox` stays in force.
    #[must_use]
    pub fn confined_like_run(self, attempt: &AttemptFolder, configured: SandboxLevel) -> Self {
        match attempt.record().ok().flatten() {
            Some(record) => {
                let level = record.sandbox.unwrap_or(configured);
                let (network, limits) = (record.network, record.limits);
                Self { network, limits, ..self.confined_as(level) }
            }
            None => self,
        }
    }

    #[must_use]
    pub fn confined_as(self, level: SandboxLevel) -> Self {
        Self { confinement: CheckConfinement::OfRun(level), ..self }
    }

    /// Runs a shell command in a folder, and returns when no process of it is left. In a sandbox
    /// it can write to the folder, to `writable` and to a temporary folder.
    pub fn run(
        &self,
        line: &str,
        folder: &Path,
        writable: &[PathBuf],
    ) -> io::Result<CommandResult> {
        let (sandbox, variables) = self.sandbox(folder, writable)?;
        let spec = CheckSpec {
            command: line.to_owned(),
            folder: folder.to_owned(),
            timeout_ms: to_millis(self.timeout),
            sandbox,
            registration: self
                .data_root
                .clone()
                .map(|data_root| ShimRegistration { data_root, record: self.subject.clone() }),
        };
        let (mut shim, _leader) = self.start_shim(folder, &variables)?;
        let identity = i32::try_from(shim.id()).ok().and_then(ProcessIdentity::find);
        let result = self.exchange(&mut shim, identity, &spec);
        let _ = shim.wait();
        if result.is_err() {
            // The shim was killed. A daemon adopts its orphans; elsewhere they are known by their
            // environment alone.
            process_table::end_adopted_orphans();
            self.kill_marked();
        }
        result
    }

    /// Ends the commands of the same task that a caller left which was killed.
    pub fn end_earlier(&self) {
        let (Some(root), Some(task)) = (&self.data_root, &self.subject.task) else { return };
        for (shim, record) in live_shims(root).unwrap_or_default() {
            if record.kind == ShimKind::Check && record.task.as_ref() == Some(task) {
                process_table::kill_tree(shim);
            }
        }
        self.kill_marked();
    }

    /// Returns what confines a command, and the variables that it gets for that.
    fn sandbox(
        &self,
        folder: &Path,
        writable: &[PathBuf],
    ) -> io::Result<(CommandSandbox, BTreeMap<String, String>)> {
        let existing = writable.iter().filter(|path| path.exists()).cloned();
        let writable = existing.chain([folder.to_owned()]).collect();
        let none = BTreeMap::new();
        Ok(match self.level(folder)? {
            SandboxLevel::None => (CommandSandbox::None, none),
            SandboxLevel::Landlock => (CommandSandbox::Landlock { writable }, none),
            SandboxLevel::Strict => {
                let (view, variables) = self.strict_view(writable)?;
                (CommandSandbox::Strict(view), variables)
            }
        })
    }

    /// Returns what a command sees. The data folder has nothing for it but its own folders.
    fn strict_view(
        &self,
        mut writable: Vec<PathBuf>,
    ) -> io::Result<(StrictSandbox, BTreeMap<String, String>)> {
        let home = strict_view::home_folder();
        let search_path = std::env::var_os("PATH").unwrap_or_default();
        let mut view = strict_view::command_view(&self.program, &search_path);
        let mut variables = BTreeMap::new();
        if let Some(root) = &self.data_root {
            view.hide(absolute(root));
            let folders = SandboxFolders::new(root);
            let caches = folders.caches(CacheUser::Checks);
            variables = allow_caches(&mut view, home.as_deref(), &caches)?;
            folders.show_git_settings(&mut view, home.as_deref());
        }
        // A folder in another one is part of it: an agent may have replaced it by a link.
        writable.sort();
        let mut granted: Vec<PathBuf> = vec![];
        for path in writable.iter().map(|path| absolute(path)) {
            if !granted.iter().any(|above| path.starts_with(above)) {
                strict_view::allow_working(&mut view, &path);
                granted.push(path);
            }
        }
        for path in self.readable.iter().map(|path| absolute(path)) {
            strict_view::show(&mut view, &path);
        }
        view.network = self.network.clone();
        view.limits = self.limits;
        variables.insert("TMPDIR".to_owned(), "/tmp".to_owned());
        Ok((view, variables))
    }

    fn level(&self, folder: &Path) -> io::Result<SandboxLevel> {
        Ok(match self.confinement {
            CheckConfinement::OfRun(level) => level,
            CheckConfinement::Setting(CheckSandbox::None) => SandboxLevel::None,
            CheckConfinement::Setting(CheckSandbox::Auto) => {
                let strongest = strongest_level(&self.program);
                let data_root = self.data_root.as_deref().unwrap_or(Path::new("/"));
                strongest_in(folder, data_root, strongest)
            }
            CheckConfinement::Setting(CheckSandbox::Landlock) if self.contains_data(folder) => {
                let why = "check_sandbox = \"landlock\" cannot protect the data folder, which is \
                           inside the folder that the command works in";
                return Err(io::Error::other(why));
            }
            CheckConfinement::Setting(CheckSandbox::Landlock) => SandboxLevel::Landlock,
            CheckConfinement::Setting(CheckSandbox::Strict) => SandboxLevel::Strict,
        })
    }

    /// Returns whether a folder contains the data folder, which a sandbox could then not protect.
    fn contains_data(&self, folder: &Path) -> bool {
        self.data_root.as_ref().is_some_and(|root| contains(folder, root))
    }

    fn start_shim(
        &self,
        folder: &Path,
        variables: &BTreeMap<String, String>,
    ) -> io::Result<(Child, SessionLeader)> {
        let mut command = Command::new(&self.program);
        command.arg(CHECK_SHIM_COMMAND).current_dir(self.data_root.as_deref().unwrap_or(folder));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        remove_secrets(&mut command, &self.secret_variables);
        command.env(CHECK_VARIABLE, self.mark()).envs(variables);
        process_table::spawn_session_leader(&mut command)
    }

    /// Returns the mark of the processes of these commands.
    fn mark(&self) -> String {
        let root = self.data_root.as_ref().map(|root| root.display().to_string());
        let task = self.subject.task.as_ref().map(ToString::to_string);
        match (root, task) {
            (Some(root), Some(task)) => format!("{root}:{task}"),
            (_, _) => format!("of process {}", std::process::id()),
        }
    }

    fn kill_marked(&self) {
        let mark = self.mark();
        process_table::kill_all(|| process_table::find_by_variable(CHECK_VARIABLE, &mark));
    }

    /// Gives the shim its spec and waits for its answer.
    fn exchange(
        &self,
        shim: &mut Child,
        identity: Option<ProcessIdentity>,
        spec: &CheckSpec,
    ) -> io::Result<CommandResult> {
        let (Some(stdin), Some(stdout)) = (shim.stdin.take(), shim.stdout.take()) else {
            return Err(io::Error::other("the shim of the command has no pipes"));
        };
        let answer = read_in_thread(stdout);
        let held = send_spec(stdin, spec)?;
        self.wait_for(&answer, held, identity)
    }

    /// Waits for the answer, and ends the shim if it must end and does not.
    fn wait_for(
        &self,
        answer: &Receiver<io::Result<CommandResult>>,
        held: ChildStdin,
        identity: Option<ProcessIdentity>,
    ) -> io::Result<CommandResult> {
        let mut held = Some(held);
        let mut end_by = Instant::now() + self.timeout + SHIM_GRACE;
        loop {
            match answer.recv_timeout(POLL_INTERVAL) {
                Ok(result) => return result,
                Err(RecvTimeoutError::Disconnected) => return Err(shim_killed()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.halt.load(Ordering::SeqCst) && held.take().is_some() {
                // The shim sees that its input is closed, and ends the command.
                end_by = Instant::now() + SHIM_GRACE;
            }
            if Instant::now() >= end_by {
                identity.into_iter().for_each(process_table::kill_tree);
            }
        }
    }
}

/// Returns the limits of commands that judge no run.
fn default_limits() -> ResourceLimits {
    let processes = ProcessLimit { max: PROCESSES_MAX_DEFAULT, is_required: false };
    ResourceLimits { processes: Some(processes), memory_bytes: None }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Writes the spec, and returns the pipe: the command ends when it is closed.
fn send_spec(mut stdin: ChildStdin, spec: &CheckSpec) -> io::Result<ChildStdin> {
    let mut line = serde_json::to_vec(spec)?;
    line.push(b'\n');
    stdin.write_all(&line)?;
    Ok(stdin)
}

fn read_in_thread(stdout: ChildStdout) -> Receiver<io::Result<CommandResult>> {
    let (tell, answer) = channel();
    std::thread::spawn(move || drop(tell.send(read_result(stdout))));
    answer
}

fn read_result(stdout: ChildStdout) -> io::Result<CommandResult> {
    let mut stdout = BufReader::new(stdout);
    let mut line = Vec::new();
    stdout.read_until(b'\n', &mut line)?;
    let reply: CheckReply = serde_json::from_slice(&line).map_err(|_| shim_killed())?;
    let mut text = |length| -> io::Result<String> {
        let mut bytes = Vec::new();
        stdout.by_ref().take(length).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let (stdout, stderr) = (text(reply.stdout_bytes)?, text(reply.stderr_bytes)?);
    match reply.exit {
        RunExit::NotStarted(why) => Err(io::Error::other(why)),
        exit => Ok(CommandResult { exit, stdout, stderr }),
    }
}

fn shim_killed() -> io::Error {
    io::Error::other("the process that supervises the command was killed")
}
