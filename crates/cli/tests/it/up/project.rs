//! A project with scripted agents, daemons on it, and functions that wait for results.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use adjutant_process::process_table::ProcessIdentity;
use adjutant_store::hash::ShortHash;
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

/// A generous timeout, because the machine may be busy.
const PATIENCE: Duration = Duration::from_mins(2);

/// The most memory that a daemon may use.
const MEMORY_MAX_KB: u64 = 100 << 10;

/// A project in a temporary folder. Dropping it kills the processes that are left.
pub(crate) struct DaemonProject {
    home: TempDir,
    scheduler: String,
    agents: String,
    /// The file with the offset of the test clock, in milliseconds.
    clock: PathBuf,
    /// The folder whose programs every command finds first.
    programs: Option<PathBuf>,
    /// The home of the operator, if it is not that of the tests.
    user_home: Option<PathBuf>,
    /// The user who owns the project and runs every command, if that is not this one.
    user: Option<u32>,
}

/// A user without rights.
const ORDINARY_USER: u32 = 65534;

/// The result of a command.
#[derive(Debug)]
pub(crate) struct AdjutantOutput {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) struct RunningDaemon {
    child: Child,
    lines: Receiver<String>,
}

impl DaemonProject {
    /// Creates a project. `settings` are scheduler settings, in addition to a short grace period
    /// and a poll interval that never elapses.
    pub(crate) fn new(settings: &str) -> Self {
        Self::in_folder(tempfile::tempdir().expect("a temporary folder"), settings, None)
    }

    /// Creates a project whose commands run as a user without rights. Only root can do that.
    pub(crate) fn for_ordinary_user(settings: &str) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let user = Some(ORDINARY_USER);
        std::os::unix::fs::chown(home.path(), user, user).expect("root can");
        Self::in_folder(home, settings, user)
    }

    /// Creates a project on a given disk.
    pub(crate) fn on(disk: &Path, settings: &str) -> Self {
        Self::in_folder(tempfile::tempdir_in(disk).expect("a temporary folder"), settings, None)
    }

    fn in_folder(home: TempDir, settings: &str, user: Option<u32>) -> Self {
        let mut scheduler = format!("[scheduler]\n{settings}\n");
        for (name, usual) in [("poll", "1h"), ("grace", "300ms"), ("backoff", "1ms")] {
            if !settings.contains(name) {
                writeln!(scheduler, "{name} = {usual:?}").expect("a text takes it");
            }
        }
        let clock = home.path().join("clock");
        let agents = String::new();
        let (programs, user_home) = (None, None);
        let stage = Self { home, scheduler, agents, clock, programs, user_home, user };
        stage.run_ok(["init", stage.home.path().to_str().expect("a path that is text")]);
        stage.configure();
        stage
    }

    /// Adds an agent that plays a script.
    pub(crate) fn with_agent(self, name: &str, script: &str) -> Self {
        self.with_agent_as(name, script, "")
    }

    /// Adds an agent that plays a script, with further settings.
    pub(crate) fn with_agent_as(mut self, name: &str, script: &str, settings: &str) -> Self {
        let path = self.home.path().join(format!("{name}.yaml"));
        fs::write(&path, script).expect("written");
        let path = path.display();
        write!(
            self.agents,
            "[agents.{name}]\nkind = \"script\"\nscript = \"{path}\"\n{settings}\n"
        )
        .expect("a text takes it");
        self.configure();
        self
    }

    /// Makes every command find the programs in a folder first.
    pub(crate) fn with_programs(mut self, folder: &Path) -> Self {
        self.programs = Some(folder.to_owned());
        self
    }

    /// Makes another folder the home of the operator.
    pub(crate) fn with_home(mut self, home: &Path) -> Self {
        self.user_home = Some(home.to_owned());
        self
    }

    /// Gives the project to a user, and runs every command as that user. Only root can do that.
    pub(crate) fn with_user(mut self, user: u32) -> Self {
        let owner = format!("{user}:{user}");
        let given = Command::new("chown").args(["-R", &owner]).arg(self.home.path()).status();
        assert!(given.expect("chown starts").success());
        self.user_home = Some(self.home.path().join("home"));
        self.user = Some(user);
        self
    }

    /// Adds settings outside the agents' and the scheduler's sections.
    pub(crate) fn with_settings(mut self, settings: &str) -> Self {
        writeln!(self.agents, "{settings}").expect("a text takes it");
        self.configure();
        self
    }

    /// Adds an agent that is a shell script, with further settings. It has no sandbox unless they
    /// name one.
    pub(crate) fn with_command(self, name: &str, script: &str, settings: &str) -> Self {
        self.with_command_as(name, script, &crate::unconfined(settings))
    }

    /// Adds an agent that is a shell script, with these settings and no others.
    pub(crate) fn with_command_as(mut self, name: &str, script: &str, settings: &str) -> Self {
        let path = self.home.path().join(format!("{name}.sh"));
        fs::write(&path, script).expect("written");
        let path = path.display();
        write!(
            self.agents,
            "[agents.{name}]\nkind = \"command\"\ncommand = [\"sh\", \"{path}\"]\n{settings}\n"
        )
        .expect("a text takes it");
        self.configure();
        self
    }

    /// Sends a document, and returns the id of the task that it created or concerns.
    pub(crate) fn send(&self, text: &str) -> String {
        let path = self.home.path().join("sent");
        fs::write(&path, text).expect("written");
        let answer = self.json(&["send", path.to_str().expect("a path that is text")]);
        fs::remove_file(path).expect("it was there");
        answer["taskId"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    fn configure(&self) {
        let text = format!("{}\n{}", self.scheduler, self.agents);
        fs::write(self.path("adjutant.toml"), text).expect("written");
    }

    /// Returns the folder that contains the data folder.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Returns a path in the data folder.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.home.path().join(".adjutant").join(relative)
    }

    /// Returns a command whose environment contains only what the tests set.
    pub(crate) fn command<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> Command {
        let program = env!("CARGO_BIN_EXE_adjutant");
        let mut command = match self.user {
            Some(user) => {
                let ids = [format!("--reuid={user}"), format!("--regid={user}")];
                let mut command = Command::new("setpriv");
                command.args(ids).arg("--clear-groups").arg(program);
                command
            }
            None => Command::new(program),
        };
        let ours = |name: &str| name.starts_with("ADJUTANT_");
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(ours)) {
            command.env_remove(name);
        }
        command.env("USER", "alice").env("ADJUTANT_TEST_CLOCK", &self.clock).stdin(Stdio::null());
        // Many daemons run at once, and no test here uses HTTP.
        command.env("ADJUTANT_SERVER_LISTEN", "off");
        if let Some(programs) = &self.programs {
            let path = std::env::var("PATH").expect("a path");
            command.env("PATH", format!("{}:{path}", programs.display()));
        }
        if let Some(home) = &self.user_home {
            command.env("HOME", home);
        }
        crate::with_trust(command.current_dir(self.home.path()).args(args));
        if self.user.is_some() {
            // That of the tests belongs to another user.
            command.env("XDG_STATE_HOME", self.home.path().join("state"));
        }
        command
    }

    /// Sets the offset from the real time for every process of the project.
    pub(crate) fn set_clock(&self, jump_ms: i64) {
        let staged = self.clock.with_extension("new");
        fs::write(&staged, jump_ms.to_string()).expect("written");
        fs::rename(&staged, &self.clock).expect("renamed");
    }

    pub(crate) fn adjutant<I: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = I>,
    ) -> AdjutantOutput {
        let output = self.command(args).output().expect("the command starts");
        let text = |bytes| String::from_utf8(bytes).expect("the command prints UTF-8");
        let code = output.status.code().expect("the command was not killed");
        AdjutantOutput { code, out: text(output.stdout), err: text(output.stderr) }
    }

    /// Runs a command that must succeed, and returns its output.
    pub(crate) fn run_ok<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> String {
        let ran = self.adjutant(args);
        assert_eq!((ran.code, &*ran.err), (0, ""), "{ran:?}");
        ran.out
    }

    /// Runs a command with `--json` that must succeed, and returns the document.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        document(&self.run_ok(args.iter().chain([&"--json"])))
    }

    /// Adds a task that needs no review, and returns its id.
    pub(crate) fn add(&self, agent: &str) -> String {
        let words = ["task", "add", "Do it", "--agent", agent, "--review", "none"];
        let task = self.json(&[&words[..], &["--status", "ready"]].concat());
        task["id"].as_str().expect("a task has an id").to_owned()
    }

    /// Returns the status of a task, which is the folder that its file is in.
    pub(crate) fn status(&self, id: &str) -> String {
        let lies_in = |status: &&str| self.path(&format!("tasks/{status}/{id}.md")).exists();
        // While a file is moved, it may be in no folder.
        until("the task is somewhere", || STATUSES.into_iter().find(lies_in)).to_owned()
    }

    pub(crate) fn count(&self, status: &str) -> usize {
        let entries = fs::read_dir(self.path(&format!("tasks/{status}"))).into_iter().flatten();
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let is_task = |name: &String| name.strip_suffix(".md").is_some_and(|id| !id.contains('.'));
        names.filter(is_task).count()
    }

    pub(crate) fn attempt(&self, id: &str, number: u32) -> PathBuf {
        self.path(&format!("runs/{id}/attempts/{number}"))
    }

    /// Returns all events, after asserting that they are complete, numbered and hash-chained.
    pub(crate) fn events(&self) -> Vec<Value> {
        let entries = fs::read_dir(self.path("events")).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        files.sort();
        let (mut before, mut events) = (None::<ShortHash>, Vec::new());
        for path in files {
            for line in fs::read_to_string(path).expect("the record is text").lines() {
                let event = document(line);
                let prev = event["prev"].as_str().map(ToOwned::to_owned);
                assert_eq!(prev, before.map(|hash| hash.to_string()), "{line}");
                assert_eq!(event["eventId"], events.len() + 1, "{line}");
                before = Some(ShortHash::digest(line.as_bytes()));
                events.push(event);
            }
        }
        events
    }

    /// Returns the events of a type about a task.
    pub(crate) fn events_of(&self, id: &str, kind: &str) -> Vec<Value> {
        let events = self.events().into_iter();
        events.filter(|event| event["taskId"] == id && event["type"] == kind).collect()
    }

    /// Starts a daemon, and waits until it is ready.
    pub(crate) fn up(&self) -> RunningDaemon {
        self.up_with(&[])
    }

    /// Starts a daemon with options, and waits until it is ready.
    pub(crate) fn up_with(&self, options: &[&str]) -> RunningDaemon {
        let mut up = self.begin_up(options);
        let first = up.lines.recv_timeout(PATIENCE);
        let first = first.unwrap_or_else(|_| panic!("no daemon: {}", up.child_status()));
        assert_eq!(document(&first)["pid"], up.pid(), "{first}");
        up
    }

    /// Starts a daemon without waiting until it is ready.
    pub(crate) fn begin_up(&self, options: &[&str]) -> RunningDaemon {
        let mut command = self.command(["up", "--json"]);
        let errors = fs::File::options().create(true).append(true).open(self.home().join("up.err"));
        let mut child = command
            .args(options)
            .stdout(Stdio::piped())
            .stderr(errors.expect("a file"))
            .spawn()
            .expect("the command starts");
        let stdout = BufReader::new(child.stdout.take().expect("it has an output"));
        let (queue, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                // The receiver is gone if the test has ended.
                let _ = queue.send(line);
            }
        });
        RunningDaemon { child, lines }
    }

    /// Runs a daemon until it is idle, and asserts that the project is in order.
    pub(crate) fn until_idle(&self) {
        let up = self.up_with(&["--until-idle"]);
        assert_eq!(up.wait_for_exit().code(), Some(0), "{}", self.errors());
        self.assert_consistent();
    }

    /// Asserts that the event log and the folder are in order and no process is left.
    pub(crate) fn assert_consistent(&self) {
        self.events();
        let ran = self.adjutant(["doctor", "--json"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        self.assert_no_processes();
    }

    /// Asserts that no process of the project is left.
    pub(crate) fn assert_no_processes(&self) {
        let words = |process: &ProcessIdentity| {
            fs::read_to_string(format!("/proc/{}/cmdline", process.pid))
        };
        let left: Vec<_> = self.processes().iter().map(words).collect();
        assert!(left.is_empty(), "{left:?}");
    }

    /// Returns the project's live processes, found by working folder or by `ADJUTANT_DATA`.
    pub(crate) fn processes(&self) -> Vec<ProcessIdentity> {
        let home = fs::canonicalize(self.home()).expect("the folder is there");
        let mark =
            [b"ADJUTANT_DATA=", self.path("").to_string_lossy().trim_end_matches('/').as_bytes()]
                .concat();
        let is_ours = |pid: i32| {
            let cwd = fs::read_link(format!("/proc/{pid}/cwd"));
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            cwd.is_ok_and(|cwd| cwd.starts_with(&home))
                || environ.split(|byte| *byte == 0).any(|variable| variable == mark)
        };
        let entries = fs::read_dir("/proc").expect("there is a table of processes").flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let found = pids.filter(|pid| is_ours(*pid)).filter_map(ProcessIdentity::find);
        found.filter(|process| process.is_alive()).collect()
    }

    /// Returns what the daemons wrote to standard error.
    pub(crate) fn errors(&self) -> String {
        fs::read_to_string(self.home().join("up.err")).unwrap_or_default()
    }

    /// Waits until the agent of a run has started, and returns the processes of its shim and agent.
    pub(crate) fn started_run(&self, id: &str, attempt: u32) -> (ProcessIdentity, ProcessIdentity) {
        until("the agent runs", || {
            let text = fs::read_to_string(self.attempt(id, attempt).join("shim.json")).ok()?;
            let record: Value = serde_json::from_str(&text).ok()?;
            let process = |who: &str| {
                let pid = record[format!("{who}Pid")].as_i64()?;
                let start = record[format!("{who}Start")].as_u64()?;
                Some(ProcessIdentity { pid: i32::try_from(pid).ok()?, start })
            };
            Some((process("shim")?, process("agent")?))
        })
    }

    /// Waits until the daemon has started a run, and returns the processes of its shim and agent.
    pub(crate) fn run(&self, id: &str, attempt: u32) -> (ProcessIdentity, ProcessIdentity) {
        let (shim, agent) = self.started_run(id, attempt);
        // The daemon waits a few seconds for the reply of a shim that a test stopped before it
        // replied. The shim redirects its output after the reply.
        wait_for("the shim has replied", || {
            fs::read_link(format!("/proc/{}/fd/1", shim.pid))
                .map_or(true, |output| output == Path::new("/dev/null"))
        });
        (shim, agent)
    }
}

const STATUSES: [&str; 8] =
    ["backlog", "ready", "in-progress", "blocked", "review", "done", "cancelled", "deadletter"];

impl Drop for DaemonProject {
    fn drop(&mut self) {
        // Only a failing test leaves processes behind; kill them.
        for _ in 0..3 {
            self.processes().iter().for_each(|process| process.send_signal(Signal::KILL));
        }
    }
}

impl RunningDaemon {
    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a number of a process")
    }

    pub(crate) fn send(&self, signal: Signal) {
        ProcessIdentity::find(self.pid()).expect("it is there").send_signal(signal);
    }

    /// Kills the daemon with SIGKILL, as a power cut would.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }

    /// Asks the daemon to end, so that it brings the folder to rest.
    pub(crate) fn end(self) {
        self.send(Signal::TERM);
        assert!(self.wait_for_exit().success());
    }

    /// Waits until the daemon exits, and returns its exit status.
    pub(crate) fn wait_for_exit(mut self) -> ExitStatus {
        until("the daemon ends", || {
            self.assert_memory_bounded();
            self.child.try_wait().expect("it can be waited for")
        })
    }

    /// Returns whether a line printed since the last call contains `text`.
    pub(crate) fn has_printed(&mut self, text: &str) -> bool {
        self.lines.try_iter().any(|line| line.contains(text))
    }

    /// Returns the documents printed since the last call.
    pub(crate) fn printed_documents(&mut self) -> Vec<Value> {
        self.lines.try_iter().map(|line| document(&line)).collect()
    }

    /// Returns whether the daemon is still running.
    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("it can be waited for").is_none()
    }

    /// Asserts that the daemon's peak memory use is small.
    pub(crate) fn assert_memory_bounded(&self) {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok());
        assert!(peak.unwrap_or(0) < MEMORY_MAX_KB, "{peak:?} kB");
    }

    fn child_status(&mut self) -> String {
        format!("{:?}", self.child.try_wait())
    }
}

impl Drop for RunningDaemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Polls `find` until it returns a value; panics after [`PATIENCE`].
pub(crate) fn until<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(Instant::now() < deadline, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Polls `holds` until it is true; panics after [`PATIENCE`].
pub(crate) fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    until(what, || holds().then_some(()));
}

pub(crate) fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text:?}"))
}
