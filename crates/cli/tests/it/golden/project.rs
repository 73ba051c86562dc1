//! A project whose commands print the same on every machine, except for values in `mask.rs`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use adjutant_config::run_token::TokenSecret;
use adjutant_model::run_nonce::RunNonce;
use adjutant_model::{TaskId, Time};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::mask::{DAY, masked};
use super::mcp_session::McpSession;
use crate::commands::support::{CliOutput, document, run_with};

/// The programs on the `PATH` of every command. No coding agent is among them.
const PROGRAMS: [&str; 8] = ["cat", "git", "mkdir", "rm", "sh", "sleep", "test", "true"];

/// A generous timeout, because the machine may be busy.
const PATIENCE: Duration = Duration::from_mins(2);

/// A folder `project`, and everything else its commands see of the machine, in a temporary folder.
pub(super) struct GoldenProject {
    temp: TempDir,
}

/// Returns the id of a task created on the tests' day.
pub(super) fn task_id(number: u32) -> String {
    format!("TASK-{DAY}-{number:03}")
}

/// Replaces `{7}` with the id of the seventh task.
pub(super) fn with_ids(text: &str) -> String {
    (1..=60).fold(text.to_owned(), |text, number| {
        text.replace(&format!("{{{number}}}"), &task_id(number))
    })
}

impl GoldenProject {
    /// Creates a project folder without a data folder.
    pub(super) fn empty() -> Self {
        let project = Self { temp: tempfile::tempdir().expect("a temporary folder") };
        for folder in ["bin", "home", "tmp", "project"] {
            fs::create_dir(project.temp.path().join(folder)).expect("a folder");
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        for program in PROGRAMS {
            let places = std::env::split_paths(&path).map(|folder| folder.join(program));
            let found = places.into_iter().find(|file| file.is_file());
            let found = found.unwrap_or_else(|| panic!("{program} is not installed"));
            symlink(found, project.temp.path().join("bin").join(program)).expect("a link");
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
        let now = i64::try_from(now.as_millis()).expect("a time");
        let noon = Time::parse(&format!("{DAY}T12:00:00Z")).expect("a time");
        let jump = noon.as_millis() - now;
        fs::write(project.temp.path().join("clock"), jump.to_string()).expect("written");
        project
    }

    /// Creates a project with a data folder.
    pub(super) fn new() -> Self {
        let project = Self::empty();
        project.ok("init");
        project
    }

    pub(super) fn with_settings(settings: &str) -> Self {
        let project = Self::new();
        project.write(".adjutant/adjutant.toml", settings);
        project
    }

    pub(super) fn root(&self) -> PathBuf {
        self.temp.path().join("project")
    }

    pub(super) fn path(&self, relative: &str) -> PathBuf {
        self.root().join(with_ids(relative))
    }

    pub(super) fn write(&self, relative: &str, text: &str) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, with_ids(text)).expect("written");
    }

    pub(super) fn read(&self, relative: &str) -> String {
        fs::read_to_string(self.path(relative)).unwrap_or_else(|e| panic!("{relative}: {e}"))
    }

    /// Returns a command whose environment contains nothing of the machine's.
    pub(super) fn command<A: AsRef<str>>(&self, args: &[A]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_adjutant"));
        self.isolate(&mut command);
        command.args(args.iter().map(AsRef::as_ref)).stdin(Stdio::null());
        command
    }

    fn isolate(&self, command: &mut Command) {
        let temp = self.temp.path();
        command.env_clear().current_dir(self.root());
        command.env("PATH", temp.join("bin")).env("HOME", temp.join("home"));
        command.env("TMPDIR", temp.join("tmp")).env("ADJUTANT_TEST_CLOCK", temp.join("clock"));
        command.envs([("USER", "alice"), ("TERM", "dumb"), ("LANG", "C"), ("TZ", "UTC")]);
        command.envs([("COLUMNS", "100"), ("GIT_CONFIG_GLOBAL", "/dev/null")]);
        command.envs([("GIT_CONFIG_NOSYSTEM", "1"), ("ADJUTANT_SERVER_LISTEN", "off")]);
        command.env("ADJUTANT_TRUST", "accept");
    }

    /// Runs a command given as one line.
    pub(super) fn run(&self, line: &str) -> CliOutput {
        run_with(&mut self.command(&words(&with_ids(line))), b"")
    }

    /// Runs a command that must succeed, and returns its output.
    pub(super) fn ok(&self, line: &str) -> String {
        let ran = self.run(line);
        assert_eq!(ran.code, 0, "{line}: {ran:?}");
        ran.out
    }

    pub(super) fn json(&self, line: &str) -> Value {
        document(&self.ok(&format!("{line} --json")))
    }

    /// Sends a message, and returns the JSON answer.
    pub(super) fn send(&self, message: &str) -> Value {
        let ran = run_with(&mut self.command(&["send", "--json"]), with_ids(message).as_bytes());
        document(&ran.out)
    }

    /// Makes the project a git repository, with one commit of its text files.
    pub(super) fn init_git(&self) {
        self.write(".gitignore", "/*\n!/.gitignore\n!/*.txt\n");
        self.write("notes.txt", "one\ntwo\nthree\n");
        self.git("init -q -b main");
        self.git("add .");
        self.git("-c user.name=alice -c user.email=alice@example.com commit -q -m first");
    }

    pub(super) fn git(&self, line: &str) -> String {
        let mut git = Command::new("git");
        self.isolate(&mut git);
        let output = git.args(words(line)).output().expect("git starts");
        assert!(output.status.success(), "git {line}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Has an external agent fetch its next task over MCP, which gives it a lease.
    pub(super) fn fetch_task(&self, agent: &str) {
        let mut session = McpSession::start(self, &["--agent", agent], &[]);
        let fetched = session.call("next_task", &json!({}));
        assert_ne!(fetched["isError"], true, "{fetched}");
        session.finish();
    }

    /// Returns the environment variables of a run that holds the task's lease.
    pub(super) fn run_environment(
        &self,
        task: &str,
        agent: &str,
        fence: u64,
    ) -> [(String, String); 4] {
        let secret = TokenSecret::open(&self.path(".adjutant")).expect("a secret");
        let id = TaskId::parse(&with_ids(task)).expect("an id");
        let shown = self.json(&format!("task show {id}"));
        let runs = [&shown["lease"], &shown["metadata"]["lastRun"]];
        let run = runs.into_iter().find(|run| run["fence"] == fence);
        let nonce = run.and_then(|run| RunNonce::parse(run["nonce"].as_str()?));
        let token = secret.token(&id, fence, nonce);
        [
            ("ADJUTANT_TASK_ID".into(), id.to_string()),
            ("ADJUTANT_AGENT".into(), agent.into()),
            ("ADJUTANT_ATTEMPT".into(), "1".into()),
            ("ADJUTANT_RUN_TOKEN".into(), token),
        ]
    }

    /// Replaces the values that differ between test runs.
    pub(super) fn masked(&self, text: &str) -> String {
        let temp = self.temp.path().to_str().expect("a path that is text");
        let real = fs::canonicalize(self.temp.path()).expect("the folder is there");
        let real = real.to_str().expect("a path that is text");
        masked(&text.replace(real, "<TEMP>").replace(temp, "<TEMP>"))
    }
}

impl Drop for GoldenProject {
    fn drop(&mut self) {
        // A failing test must not leave a daemon or its agents behind.
        if Path::new(&self.path(".adjutant")).is_dir() && std::thread::panicking() {
            self.run("down --stop");
        }
    }
}

/// Polls `holds` until it is true; panics after [`PATIENCE`].
pub(super) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Splits a line into words as a shell does. Only single quotes are supported.
pub(super) fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quoted) = (None::<String>, false);
    for letter in line.chars() {
        match letter {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    words
}
