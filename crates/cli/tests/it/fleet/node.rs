//! A machine of a fleet: a project folder, a daemon on it, and all processes that belong to it.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use adjutant_process::process_table::ProcessIdentity;
use adjutant_testkit::fleet_keys::{accepted_lines, node_key};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// How long to wait for something that must happen, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(3);

/// The environment variable that marks every process of a node.
const MARK: &str = "FLEET_TEST_NODE";

pub(crate) struct Node {
    pub(crate) name: String,
    home: TempDir,
    enter: Vec<String>,
    daemon: Option<Child>,
}

impl Node {
    /// Makes a node of the fleet at `address`, with additional settings.
    pub(crate) fn new(name: &str, address: &str, prefix: &str, settings: &str) -> Self {
        Self::entered(name, address, prefix, settings, vec![])
    }

    /// Like [`Node::new`], but the words of `enter` precede the program in every command.
    pub(crate) fn entered(
        name: &str,
        address: &str,
        prefix: &str,
        settings: &str,
        enter: Vec<String>,
    ) -> Self {
        let mut node = Self::bare(name);
        node.enter = enter;
        node.command(&["init", "."]).output().expect("it runs");
        node.share(address, prefix, settings);
        node
    }

    /// Makes a node whose project is on the given disk.
    pub(crate) fn on(disk: &Path, name: &str, address: &str, prefix: &str) -> Self {
        let home = tempfile::Builder::new().prefix("fleet").tempdir_in(disk).expect("a folder");
        let node = Self { name: name.to_owned(), home, enter: vec![], daemon: None };
        node.command(&["init", "."]).output().expect("it runs");
        node.share(address, prefix, "");
        node
    }

    /// Makes a machine without a project.
    pub(crate) fn bare(name: &str) -> Self {
        let home = tempfile::Builder::new().prefix("fleet").tempdir().expect("a folder");
        Self { name: name.to_owned(), home, enter: vec![], daemon: None }
    }

    /// Configures it as a node of the fleet at `address`.
    pub(crate) fn share(&self, address: &str, prefix: &str, settings: &str) {
        let name = &self.name;
        self.settle(&format!(
            "store = {address:?}\n[nats]\nnode = {name:?}\nprefix = {prefix:?}\nterm = \"2s\"\n\
             accepted_keys = {:?}\n{settings}",
            accepted_lines()
        ));
        self.keep_key();
    }

    /// Gives the node the key of its name.
    pub(crate) fn keep_key(&self) {
        self.write_key("node-key", node_key(&self.name).seed());
    }

    /// Writes the seed of a key into the data folder.
    pub(crate) fn write_key(&self, file: &str, seed: &str) {
        let path = self.data().join(file);
        fs::write(&path, seed).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
    }

    /// Replaces the settings of the node.
    pub(crate) fn settle(&self, settings: &str) {
        fs::write(self.data().join("adjutant.toml"), settings).expect("written");
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.home.path().join(".adjutant")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let program = env!("CARGO_BIN_EXE_adjutant");
        let mut words = self.enter.iter().map(String::as_str).chain([program]);
        let mut command = Command::new(words.next().expect("a program"));
        command.args(words).args(arguments).current_dir(self.home());
        command.env(MARK, self.home()).env_remove("ADJUTANT_DATA").stdin(Stdio::null());
        crate::with_trust(&mut command);
        command
    }

    /// Runs a command with `--json` that must succeed, and returns its output. On a busy machine a
    /// fleet can be without a leader for a while, or its servers can be slow: then the command is
    /// repeated, which the tests that expect a refusal do not want; they use [`Node::tries`].
    pub(crate) fn does(&self, arguments: &[&str]) -> Value {
        let mut all = arguments.to_vec();
        all.push("--json");
        let end = Instant::now() + PATIENCE;
        loop {
            let ran = self.command(&all).output().expect("it runs");
            let (out, err) =
                (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
            if is_unreachable(&out) && Instant::now() < end {
                continue;
            }
            assert!(ran.status.success(), "{} {arguments:?}: {out}{err}{}", self.name, self.said());
            return serde_json::from_str(&out).unwrap_or_else(|_| Value::String(out.into_owned()));
        }
    }

    /// Starts a command, and does not wait for it.
    pub(crate) fn begins(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts")
    }

    /// Runs a command, and returns its output, or its errors if it failed.
    pub(crate) fn tries(&self, arguments: &[&str]) -> Result<String, String> {
        let ran = self.command(arguments).output().expect("it runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if ran.status.success() { Ok(text(&ran.stdout)) } else { Err(text(&ran.stderr)) }
    }

    /// Runs a command, and returns its output and its errors.
    pub(crate) fn told(&self, arguments: &[&str]) -> String {
        let ran = self.command(arguments).output().expect("it runs");
        let all = [ran.stdout, ran.stderr].concat();
        String::from_utf8_lossy(&all).into_owned()
    }

    /// Returns the text output of `doctor`.
    pub(crate) fn finds(&self) -> String {
        let ran = self.command(&["doctor"]).output().expect("it runs");
        String::from_utf8_lossy(&ran.stdout).into_owned()
    }

    /// Returns the findings of `doctor --json`.
    pub(crate) fn findings(&self) -> Vec<Value> {
        let ran = self.command(&["doctor", "--json"]).output().expect("it runs");
        let said: Value = serde_json::from_slice(&ran.stdout).expect("a document");
        said["findings"].as_array().cloned().unwrap_or_default()
    }

    /// Returns the events in the event log of this node.
    pub(crate) fn events(&self) -> Vec<Value> {
        let mut files: Vec<PathBuf> = fs::read_dir(self.data().join("events"))
            .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
            .unwrap_or_default();
        files.sort();
        let lines = files.iter().flat_map(|file| {
            let text = fs::read_to_string(file).expect("a file of the record");
            text.lines().map(str::to_owned).collect::<Vec<String>>()
        });
        lines.filter_map(|line| serde_json::from_str(&line).ok()).collect()
    }

    /// Returns how many tasks have this status.
    pub(crate) fn count(&self, status: &str) -> usize {
        let folder = self.data().join("tasks").join(status);
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter(|entry| entry.path().extension().is_some_and(|ext| ext == "md")).count()
    }

    /// Returns the runs of this node whose outbox has messages that were not taken in.
    pub(crate) fn unheard(&self) -> Vec<String> {
        let inside = |folder: &Path| -> Vec<PathBuf> {
            fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
        };
        let tasks = inside(&self.data().join("runs"));
        let attempts = tasks.iter().flat_map(|task| inside(&task.join("attempts")));
        let unheard = attempts.filter(|attempt| {
            let said = fs::read_to_string(attempt.join("outbox.jsonl")).unwrap_or_default();
            let taken = fs::read_to_string(attempt.join("outbox.taken")).unwrap_or_default();
            let seq = |line: &str| serde_json::from_str::<Value>(line).ok()?["seq"].as_u64();
            said.lines().filter_map(seq).max() > Some(taken.trim().parse().unwrap_or(0))
        });
        unheard.map(|attempt| attempt.display().to_string()).collect()
    }

    /// Returns the reports on a task that came too late to count.
    pub(crate) fn salvage(&self, task: &str) -> Vec<String> {
        let entries = fs::read_dir(self.data().join("runs").join(task).join("salvage"));
        let mut files: Vec<PathBuf> =
            entries.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        files.sort();
        files.iter().filter_map(|file| fs::read_to_string(file).ok()).collect()
    }

    pub(crate) fn up(&mut self) {
        self.up_at("off");
    }

    /// Starts the daemon, with its HTTP server at `address`.
    pub(crate) fn up_at(&mut self, address: &str) {
        let log = File::options().create(true).append(true).open(self.log()).expect("a log");
        let mut command = self.command(&["up", "--listen", address]);
        let errors = log.try_clone().expect("a log");
        self.daemon = Some(command.stdout(log).stderr(errors).spawn().expect("it starts"));
    }

    fn log(&self) -> PathBuf {
        self.home().join("daemon.log")
    }

    /// Returns the output of all daemons of this node.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(self.log()).unwrap_or_default()
    }

    /// Returns the processes of this node, found by their environment.
    pub(crate) fn processes(&self) -> Vec<ProcessIdentity> {
        let mark = format!("{MARK}={}", self.home().display());
        let all = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let ours = pids.filter(|pid| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|one| one == mark.as_bytes())
        });
        ours.filter_map(ProcessIdentity::find).collect()
    }

    /// Lists the processes of this node and the daemon's output, for failure messages.
    pub(crate) fn shown(&self) -> String {
        let command = |process: &ProcessIdentity| {
            let words = fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
            format!("{} {}\n", process.pid, String::from_utf8_lossy(&words).replace('\0', " "))
        };
        format!("{}{}", self.processes().iter().map(command).collect::<String>(), self.said())
    }

    pub(crate) fn send_all(&self, signal: Signal) {
        // The second pass finds processes that were started during the first.
        for _ in 0..2 {
            self.processes().into_iter().for_each(|process| process.send_signal(signal));
        }
    }

    /// Stops all processes of the node with `SIGSTOP`.
    pub(crate) fn freeze(&self) {
        self.send_all(Signal::STOP);
    }

    pub(crate) fn thaw(&self) {
        self.send_all(Signal::CONT);
    }

    /// Sends a GET request to the daemon's HTTP server, and returns the whole response.
    pub(crate) fn get(&self, path: &str) -> String {
        let status = self.does(&["status"]);
        let url = status["url"].as_str().expect("it listens");
        let host = url.trim_start_matches("http://").trim_end_matches('/');
        let token = fs::read_to_string(self.data().join("operator-token")).expect("a token");
        let mut stream = TcpStream::connect(host).expect("it listens");
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
            token.trim()
        )
        .expect("it hears");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    }

    /// Kills all processes of the node, as a power cut would.
    pub(crate) fn kill(&mut self) {
        self.send_all(Signal::KILL);
        self.reap();
    }

    /// Kills the daemon, and leaves its agents running.
    pub(crate) fn kill_daemon(&mut self) {
        self.tell_daemon(Signal::KILL);
        self.reap();
    }

    /// Asserts that the daemon, if it was started, has not exited by itself.
    pub(crate) fn must_live(&mut self) {
        let ended = self.daemon.as_mut().and_then(|daemon| daemon.try_wait().expect("its child"));
        assert!(ended.is_none(), "the daemon of {} ended: {ended:?}\n{}", self.name, self.said());
    }

    /// Says whether the daemon has exited; a daemon that was never started counts as exited.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.daemon.as_mut().is_none_or(|daemon| daemon.try_wait().expect("its child").is_some())
    }

    pub(crate) fn down(&mut self) {
        self.tell_daemon(Signal::TERM);
        self.reap();
    }

    pub(crate) fn tell_daemon(&self, signal: Signal) {
        if let Some(process) = self.processes().into_iter().find(is_daemon) {
            process.send_signal(signal);
        }
    }

    fn reap(&mut self) {
        if let Some(mut child) = self.daemon.take() {
            let _ = child.wait();
        }
    }
}

/// Says whether a command, or a check of `doctor`, did not reach the fleet.
fn is_unreachable(output: &str) -> bool {
    let Ok(output) = serde_json::from_str::<Value>(output) else { return false };
    let findings = output["findings"].as_array();
    output["error"]["code"] == "unreachable"
        || findings.is_some_and(|all| all.iter().any(|one| one["code"] == "fleet_unreachable"))
}

fn is_daemon(process: &ProcessIdentity) -> bool {
    let command = fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
    let mut words = command.split(|byte| *byte == 0);
    words.next().is_some_and(|program| program.ends_with(b"adjutant"))
        && words.next() == Some(b"up")
}

impl Drop for Node {
    fn drop(&mut self) {
        self.send_all(Signal::CONT);
        self.kill();
        if let Some(child) = &mut self.daemon {
            let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            pid.map(|pid| kill_process(pid, Signal::KILL));
        }
    }
}

/// Waits until `is_so` returns true.
pub(crate) fn until(what: &str, is_so: impl FnMut() -> bool) {
    until_or(what, is_so, String::new);
}

/// Waits until `is_so` returns true, and fails with the text of `stand` if it never does.
pub(crate) fn until_or(what: &str, mut is_so: impl FnMut() -> bool, stand: impl Fn() -> String) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "{what}: it never was\n{}", stand());
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns a stream prefix that no other test uses.
pub(crate) fn prefix(of: &str) -> String {
    format!("{of}-{}-{:x}", std::process::id(), rand())
}

fn rand() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0)
}

/// Asserts that exactly one report on each task was accepted, which moved the task to review.
pub(crate) fn accepted_once(events: &[Value], tasks: &[String]) {
    for task in tasks {
        let of = |kind: &str, to: &str| {
            let is = |event: &&Value| {
                event["taskId"] == **task
                    && event["type"] == kind
                    && (to.is_empty() || event["payload"]["to"] == to)
            };
            events.iter().filter(is).count()
        };
        assert_eq!(of("task.transitioned", "review"), 1, "{task} is accepted once");
        assert_eq!(of("task.created", ""), 1, "{task} is made once");
    }
}

/// Asserts that the event numbers have no gaps and no duplicates.
pub(crate) fn is_whole(events: &[Value]) {
    for (number, event) in (1..).zip(events) {
        assert_eq!(event["eventId"], number, "no event is missing and none comes twice");
    }
}
