//! A project in a temporary folder, and helpers that run the command line on it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::{Display, Write as _};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use adjutant_model::{Status, Time};
use adjutant_store::hash::ShortHash;
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long a test waits for something that should happen at once.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct CliProject {
    home: TempDir,
    data: PathBuf,
    began: Time,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CliOutput {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Returns the command without the caller's Adjutant and terminal variables in its environment.
pub(crate) fn adjutant() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_adjutant"));
    for name in [
        "ADJUTANT_DATA",
        "ADJUTANT_RUN_TOKEN",
        "ADJUTANT_AGENT",
        "ADJUTANT_ATTEMPT",
        "ADJUTANT_TASK_ID",
        "ADJUTANT_PROTOCOL_REQUIRE_TOKEN",
        "COLUMNS",
        "EDITOR",
        "NO_COLOR",
        "VISUAL",
    ] {
        command.env_remove(name);
    }
    crate::with_trust(command.env("USER", "alice").env("TERM", "xterm").stdin(Stdio::null()));
    command
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> CliOutput {
    let output = command.output().expect("the command starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the command prints UTF-8");
    CliOutput {
        code: output.status.code().expect("the command was not killed"),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

/// Runs a command with `input` on its standard input.
pub(crate) fn run_with(command: &mut Command, input: &[u8]) -> CliOutput {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("it has an input");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        // A command that has read enough may close its input.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().expect("the command ends");
    writer.join().expect("the writer ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the command prints UTF-8");
    CliOutput {
        code: output.status.code().expect("the command was not killed"),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

/// A running process and the lines it prints.
pub(crate) struct LiveProcess {
    child: Child,
    lines: Receiver<String>,
}

impl LiveProcess {
    /// Starts a command, and reads its output line by line in the background.
    pub(crate) fn start(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the command starts");
        let stdout = BufReader::new(child.stdout.take().expect("it has an output"));
        let (queue, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines() {
                // The send fails once the test stops listening, which is fine.
                let _ = queue.send(line.expect("the command prints UTF-8"));
            }
        });
        Self { child, lines }
    }

    pub(crate) fn write(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().expect("it has an input");
        writeln!(stdin, "{line}").expect("the line is written");
    }

    /// Returns the next JSON document that the process prints; fails if none comes in time.
    pub(crate) fn next(&self) -> Value {
        document(&self.lines.recv_timeout(PATIENCE).expect("a line comes in time"))
    }

    /// Closes the input, and returns the exit code.
    pub(crate) fn finish(mut self) -> Option<i32> {
        drop(self.child.stdin.take());
        self.child.wait().expect("the command ends").code()
    }

    pub(crate) fn end(mut self) {
        self.child.kill().expect("the process can be ended");
        self.child.wait().expect("the process ends");
    }
}

/// Waits until `holds` returns true, and fails the test if that takes too long.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < 4 * PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn lines(items: impl IntoIterator<Item = impl Display>) -> String {
    let mut text = String::new();
    for item in items {
        writeln!(text, "{item}").expect("a text takes all that is written to it");
    }
    text
}

/// Returns one of the seven examples of the protocol's guide.
pub(crate) fn example(number: usize) -> String {
    let path = format!("{}/tests/examples/{number}.json", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(path).expect("the example is there")
}

impl CliProject {
    /// Makes a project with an empty data folder.
    pub(crate) fn new() -> Self {
        let project = Self::foreign();
        let ran = project.adjutant(["init", &project.home.path().display().to_string()]);
        assert_eq!((ran.code, &*ran.err), (0, ""), "{ran:?}");
        project
    }

    /// Makes a project without a data folder; a test can write one as another program would.
    pub(crate) fn foreign() -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let data = home.path().join(".adjutant");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
        let millis = i64::try_from(now.as_millis()).expect("it is before the end of time");
        Self { home, data, began: Time::from_millis(millis) }
    }

    /// Returns the folder that holds the data folder.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Returns the time when the test began.
    pub(crate) fn began(&self) -> Time {
        self.began
    }

    /// Returns a path in the data folder.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.data.join(relative)
    }

    pub(crate) fn command<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> Command {
        let mut command = adjutant();
        command.current_dir(self.home.path()).args(args);
        command
    }

    pub(crate) fn adjutant<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> CliOutput {
        run(&mut self.command(args))
    }

    /// Runs a command that must succeed without warnings, and returns its output.
    pub(crate) fn does<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> String {
        let ran = self.adjutant(args);
        assert_eq!((ran.code, &*ran.err), (0, ""), "{ran:?}");
        ran.out
    }

    /// Runs a command with `--json` that must succeed without warnings, and returns its JSON.
    pub(crate) fn json<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> Value {
        let args = args.into_iter().map(|arg| arg.as_ref().to_owned());
        let ran = self.adjutant(args.chain(["--json".into()]));
        assert_eq!((ran.code, &*ran.err), (0, ""), "{ran:?}");
        document(&ran.out)
    }

    /// Runs a command with `--json` that must fail, and returns its exit code and its error.
    pub(crate) fn error<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> (i32, Value) {
        let args = args.into_iter().map(|arg| arg.as_ref().to_owned());
        let ran = self.adjutant(args.chain(["--json".into()]));
        assert_eq!(ran.err, "", "{ran:?}");
        (ran.code, document(&ran.out)["error"].take())
    }

    /// Sends a message, and returns the exit code and the answer.
    pub(crate) fn send(&self, message: &[u8]) -> (i32, Value) {
        let ran = run_with(&mut self.command(["send", "--json"]), message);
        assert_eq!(ran.err, "", "{ran:?}");
        (ran.code, document(&ran.out))
    }

    /// Sends one message per line, and returns the exit code and the answers.
    pub(crate) fn send_lines(&self, lines: &[u8]) -> (i32, Vec<Value>) {
        let ran = run_with(&mut self.command(["send", "--lines", "--json"]), lines);
        assert_eq!(ran.err, "", "{ran:?}");
        (ran.code, ran.out.lines().map(document).collect())
    }

    /// Adds a task, and returns its id.
    pub(crate) fn add<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> String {
        let args = args.into_iter().map(|arg| arg.as_ref().to_owned());
        let task = self.json(["task".into(), "add".into()].into_iter().chain(args));
        task["id"].as_str().expect("a task has an id").to_owned()
    }

    /// Makes a project with one agent that plays a script.
    pub(crate) fn with_script(agent: &str, more: &str, script: &str) -> Self {
        let project = Self::new();
        let settings = "[scheduler]\nbackoff = \"10ms\"\ngrace = \"1s\"\n";
        let crew = format!("[agents.{agent}]\nkind = \"script\"\nscript = \"{agent}.yaml\"\n");
        project.write("adjutant.toml", format!("{settings}{crew}{more}"));
        fs::write(project.home().join(format!("{agent}.yaml")), script).expect("a script");
        project
    }

    pub(crate) fn status_of(&self, id: &str) -> String {
        let task = self.json(["task", "show", id]);
        task["status"].as_str().expect("a task has a status").to_owned()
    }

    /// Writes a file of the data folder, as a person or an agent would.
    pub(crate) fn write(&self, relative: &str, text: impl AsRef<[u8]>) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder");
        fs::write(&path, text).expect("a file");
    }

    pub(crate) fn read(&self, relative: &str) -> String {
        let path = self.path(relative);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Writes a task file by hand: the required fields, and `extra` front matter lines.
    pub(crate) fn task(&self, id: &str, status: Status, extra: &str) {
        self.write(&format!("tasks/{status}/{id}.md"), task_text(id, status, extra));
    }

    /// Returns the events of the event log, and checks their numbers and their hash chain.
    pub(crate) fn events(&self) -> Vec<Value> {
        let mut files: Vec<PathBuf> = fs::read_dir(self.path("events"))
            .into_iter()
            .flatten()
            .map(|entry| entry.expect("the folder can be read").path())
            .collect();
        files.sort();
        let text: String = files
            .iter()
            .map(|path| fs::read_to_string(path).expect("the record is text"))
            .collect();
        let mut before: Option<ShortHash> = None;
        let mut events: Vec<Value> = Vec::new();
        for line in text.lines() {
            let mut event = document(line);
            let object = event.as_object_mut().expect("an event is an object");
            let prev = object.remove("prev").map(|prev| prev.as_str().map(str::to_owned));
            assert_eq!(prev.flatten(), before.map(|hash| hash.to_string()), "{line}");
            assert_eq!(event["eventId"], events.len() + 1, "{line}");
            before = Some(ShortHash::digest(line.as_bytes()));
            events.push(event);
        }
        events
    }

    /// Returns the events with the times of this test masked.
    pub(crate) fn record(&self) -> Vec<Value> {
        self.events().iter().map(|event| self.masked(event)).collect()
    }

    /// Returns the types of all events, in order.
    pub(crate) fn types(&self) -> Vec<String> {
        let kind = |event: &Value| event["type"].as_str().expect("an event has a type").to_owned();
        self.events().iter().map(kind).collect()
    }

    /// Returns the files of the data folder with their text, without the journal, the event log and
    /// the files that `init` writes.
    pub(crate) fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        collect(&self.data, "", &mut files);
        files.into_iter().map(|(path, text)| (path, self.masked_text(&text))).collect()
    }

    /// Returns a digest of everything a refusal must leave alone: the names, modes, contents,
    /// inodes and times of all files outside the journal and the event log.
    pub(crate) fn digest(&self) -> Vec<String> {
        let mut lines = Vec::new();
        append_digest(&self.data, "", &mut lines);
        lines
    }

    /// Replaces the times of this test by `<now>`.
    pub(crate) fn masked(&self, value: &Value) -> Value {
        document(&self.masked_text(&value.to_string()))
    }

    fn latest(&self) -> Time {
        Time::from_millis(self.began.as_millis() + 3_600_000)
    }

    /// Replaces the times of this test by `<now>`, and its day in an id or a name by `<today>`. All
    /// other times stay, so that they are compared.
    pub(crate) fn masked_text(&self, text: &str) -> String {
        let mut masked = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("20") {
            let (before, from) = rest.split_at(at);
            masked.push_str(before);
            let time = from.get(..24).and_then(|text| Time::parse(text).ok());
            let today = from
                .get(..10)
                .is_some_and(|day| (&*self.began.day()..=&*self.latest().day()).contains(&day));
            let length = match time.filter(|time| (self.began..=self.latest()).contains(time)) {
                Some(_) => 24,
                None if today => 10,
                None => 2,
            };
            masked.push_str(match length {
                24 => "<now>",
                10 => "<today>",
                _ => &from[..2],
            });
            rest = &from[length..];
        }
        masked + rest
    }
}

/// Returns the text of a task file: the required fields, and `extra` front matter lines.
pub(crate) fn task_text(id: &str, status: Status, extra: &str) -> String {
    format!(
        "---\nschemaVersion: 1\nid: {id}\ntitle: Task {id}\nstatus: {status}\npriority: normal\n\
         createdAt: 2026-02-09T20:00:00.000Z\nupdatedAt: 2026-02-09T20:00:00.000Z\n\
         lastTransitionAt: 2026-02-09T20:00:00.000Z\ncreatedBy: human:alice\n{extra}---\n\nDo it.\n"
    )
}

pub(crate) fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text:?}"))
}

pub(crate) fn message(kind: &str, task: &str, from: &str, payload: &Value) -> Value {
    json!({
        "protocol": "aof", "version": 1, "type": kind, "taskId": task, "fromAgent": from,
        "toAgent": "dispatcher", "sentAt": "2026-02-09T21:10:00.000Z", "payload": payload,
    })
}

pub(crate) fn completion(task: &str, from: &str, outcome: &str) -> Value {
    let payload = json!({
        "outcome": outcome, "summaryRef": "outputs/summary.md", "deliverables": [],
        "tests": {"total": 10, "passed": 10, "failed": 0}, "blockers": [], "notes": "All met.",
    });
    message("completion.report", task, from, &payload)
}

pub(crate) fn progress(task: &str, from: &str, text: &str) -> Value {
    let payload = json!({"taskId": task, "agentId": from, "progress": text});
    message("status.update", task, from, &payload)
}

const NOT_LOOKED_AT: [&str; 2] = ["/journal", "/events"];

const WRITTEN_BY_INIT: [&str; 3] = ["/adjutant.toml", "/.gitignore", "/format.json"];

fn collect(folder: &Path, prefix: &str, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let entry = entry.expect("the folder can be read");
        let name = format!("{prefix}/{}", entry.file_name().to_string_lossy());
        if NOT_LOOKED_AT.contains(&&*name) || WRITTEN_BY_INIT.contains(&&*name) {
            continue;
        }
        if entry.file_type().expect("it has a kind").is_dir() {
            collect(&entry.path(), &name, files);
        } else {
            let text = fs::read_to_string(entry.path()).expect("the file is text");
            files.insert(name.trim_start_matches('/').to_owned(), text);
        }
    }
}

fn append_digest(folder: &Path, prefix: &str, lines: &mut Vec<String>) {
    let mut entries: Vec<_> = fs::read_dir(folder)
        .expect("the folder can be read")
        .map(|entry| entry.expect("the folder can be read"))
        .collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = format!("{prefix}/{}", entry.file_name().to_string_lossy());
        if NOT_LOOKED_AT.contains(&&*name) {
            continue;
        }
        let stat = entry.metadata().expect("it can be looked at");
        let seen = (stat.mode(), stat.ino(), stat.size(), stat.mtime(), stat.mtime_nsec());
        let plain = stat.is_file().then(|| fs::read(entry.path()).expect("it can be read"));
        let content = plain.map_or_else(String::new, |bytes| ShortHash::digest(&bytes).to_string());
        lines.push(format!("{name} {seen:?} {content}"));
        if stat.is_dir() {
            append_digest(&entry.path(), &name, lines);
        }
    }
}
