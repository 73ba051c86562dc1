//! A story project in a temporary folder, and story commands on it.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A project in a folder with a non-ASCII name.
pub(crate) struct StoryTestProject {
    _home: TempDir,
    root: PathBuf,
}

/// Returns a command whose environment contains only what the tests set.
pub(crate) fn adjutant() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_adjutant"));
    for name in ["ADJUTANT_DATA", "ADJUTANT_RUN_TOKEN", "ADJUTANT_DIE_AT", "NO_COLOR"] {
        command.env_remove(name);
    }
    crate::with_trust(command.env("USER", "alice").stdin(Stdio::null()));
    command
}

impl StoryTestProject {
    /// Creates an empty project folder.
    pub(crate) fn empty() -> Self {
        Self::with_folder_name("Ein Träger für 買い物")
    }

    pub(crate) fn with_folder_name(name: &str) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let root = home.path().join(name);
        fs::create_dir(&root).expect("a folder");
        Self { _home: home, root }
    }

    /// Creates a project with a started story.
    pub(crate) fn with_story() -> Self {
        let project = Self::empty();
        project.json(&["start", "US-005"]);
        project
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn state(&self) -> Value {
        serde_json::from_str(&self.read(".ai/STATE.json")).expect("a state is JSON")
    }

    /// Changes fields of `STATE.json`, as another program would that writes only the fields of the
    /// protocol.
    pub(crate) fn update_state(&self, fields: &Value) {
        let mut state = self.state();
        if let Some(state) = state.as_object_mut() {
            state.remove("human_steps");
        }
        for (name, value) in fields.as_object().expect("fields") {
            state[name] = value.clone();
        }
        self.write(".ai/STATE.json", &state.to_string());
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = adjutant();
        command.arg("story").args(args).arg("--project").arg(&self.root);
        command
    }

    /// Runs a story command, and returns its exit code and JSON document.
    pub(crate) fn run(&self, args: &[&str]) -> (i32, Value) {
        answer(&self.command(args).arg("--json").output().expect("it starts"))
    }

    /// Runs a story command that must succeed.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let (code, document) = self.run(args);
        assert_eq!(code, 0, "{args:?}: {document}");
        document
    }

    /// Runs a story command that must be refused without changing a file.
    ///
    /// Returns the exit code and the error code.
    pub(crate) fn run_refused(&self, args: &[&str]) -> (i32, String) {
        let before = self.files();
        let (code, document) = self.run(args);
        let why = document["error"]["code"].as_str().expect("an error").to_owned();
        assert_eq!(self.files(), before, "a refusal changes nothing: {document}");
        (code, why)
    }

    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                let lock =
                    path.extension().is_some_and(|end| end == "lock") || path.ends_with(".lock");
                if path.is_dir() {
                    folders.push(path);
                } else if !lock {
                    let bytes = fs::read(&path).expect("a file");
                    files.push((path, bytes));
                }
            }
        }
        files.sort();
        files
    }

    /// Writes a hand-over for the current step and attempt.
    pub(crate) fn hand_over(&self, status: &str) {
        let state = self.state();
        let word = |name: &str| state[name].as_str().unwrap_or("null").to_owned();
        let (story, step) = (word("story"), word("step"));
        let front = format!("story: {story}\nstep: {step}\nattempt: {}", state["attempt"]);
        self.leave_documents(&story, &step);
        self.write(
            ".ai/HANDOFF.md",
            &format!("---\n{front}\nstatus: {status}\nreason: null\n---\n"),
        );
    }

    /// Writes what a step is for, if it is for documents.
    pub(crate) fn leave_documents(&self, story: &str, step: &str) {
        match step {
            "bdd" => self.write(&format!("docs/bdd/{story}.md"), "# Cart\n"),
            "sdd-delta" => self.write(&format!("docs/deltas/{story}.md"), "# ADDED\n"),
            "contract" => self.write("docs/api/openapi.yaml", "openapi: 3.1.0\n"),
            "update-memory" => {
                let path = self.path("PROJECT_MEMORY.md");
                let memory = fs::read_to_string(path).unwrap_or_default();
                self.write("PROJECT_MEMORY.md", &format!("{memory}- {story}\n"));
            }
            _ => {}
        }
    }

    /// Dispatches the current step, hands it over and runs the hook.
    pub(crate) fn step(&self, status: &str) -> Value {
        let dispatched = self.json(&["next"]);
        assert_eq!(dispatched["result"], "dispatched", "{dispatched}");
        self.hand_over(status);
        self.json(&["hook"])
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let mut git = Command::new("git");
        git.arg("-C").arg(&self.root).args(args).stdin(Stdio::null());
        let output = git.output().expect("git");
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Makes the project a git repository.
    pub(crate) fn init_git(&self) {
        self.git(&["init", "-q", "-b", "main"]);
        self.git(&["config", "user.name", "Alice"]);
        self.git(&["config", "user.email", "alice@example.com"]);
        self.git(&["config", "commit.gpgsign", "false"]);
    }

    /// Runs a shell script as the executor, with the prompt on its standard input.
    pub(crate) fn executor(&self, program: &str, prompt: &str) {
        let mut child = Command::new("sh")
            .args(["-c", program])
            .current_dir(&self.root)
            .stdin(Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut stdin = child.stdin.take().expect("an input");
        stdin.write_all(prompt.as_bytes()).expect("it reads");
        drop(stdin);
        assert!(child.wait().expect("it ends").success());
    }
}

/// Returns the exit code and the JSON document that a command printed.
pub(crate) fn answer(output: &Output) -> (i32, Value) {
    let text = String::from_utf8_lossy(&output.stdout);
    let document = serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!("{error}: {text:?} {:?}", String::from_utf8_lossy(&output.stderr))
    });
    (output.status.code().unwrap_or(-1), document)
}

pub(crate) fn fields(document: &Value, names: &[&str]) -> Vec<Value> {
    names.iter().map(|name| document[name].clone()).collect()
}

/// Formats a story's step, attempt and status.
pub(crate) fn story_position_text(document: &Value) -> String {
    let word = |name: &str| document[name].as_str().unwrap_or("null").to_owned();
    format!("{} {} {}", word("step"), document["attempt"], word("status"))
}

pub(crate) fn minutes_ago(minutes: u64) -> Value {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let millis = i64::try_from(now.expect("after 1970").as_millis()).expect("a time");
    let then = millis - i64::try_from(minutes * 60_000).expect("a time");
    json!(adjutant_model::Time::from_millis(then).to_string())
}
