//! What a person is told when something does not work: what was tried, why not, what to do.

use std::any::Any;
use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use adjutant_api::office::{Kind, Trouble};
use adjutant_core::{Answer, NodeId, Problem, Reason, TaskId};
use adjutant_runtime::Unanswered;
use adjutant_runtime::daemon::DaemonError;
use adjutant_runtime::door::NoAnswer;
use adjutant_runtime::fleet::Unfit;
use adjutant_store::StoreError;
use adjutant_store::file::{FolderError, UnpackError};
use adjutant_store::format::NewerFormat;
use clap::error::ErrorKind;
use serde_json::json;

use crate::output::{Output, clean};

/// How a command ended that did not do what it was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    code: &'static str,
    message: String,
    causes: Vec<String>,
    hint: Option<String>,
}

/// The exit codes scripts rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Nobody reads on: nothing to say, nothing wrong.
    Quiet,
    /// A rule said no.
    Refused,
    /// The command was called in a way that makes no sense.
    Usage,
    /// Something broke.
    Broken,
}

impl Exit {
    fn code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Quiet => 0,
            Self::Refused => 1,
            Self::Usage => 2,
            Self::Broken => 3,
        })
    }
}

/// The code of servers that do not answer.
const UNREACHABLE: &str = "unreachable";

/// The code of a folder or an archive that a newer version has written.
const NEWER_FORMAT: &str = "newer_format";

impl Failure {
    /// Returns what was tried, and what came of it.
    pub(crate) fn message(&self) -> String {
        let causes = self.causes.iter().map(|cause| format!(": {cause}"));
        format!("{}{}", self.message, causes.collect::<String>())
    }

    /// Says that something broke.
    pub(crate) fn broken(message: impl Into<String>, cause: &dyn Error) -> Self {
        Self::new(Exit::Broken, "failed", message).caused_by(cause)
    }

    /// Says that something broke, for reasons that somebody else gave.
    pub(crate) fn broken_because<'a>(
        message: impl Into<String>,
        causes: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let mut failure = Self::new(Exit::Broken, "failed", message);
        failure.causes = causes.into_iter().map(str::to_owned).collect();
        failure
    }

    /// Says that the servers of a fleet do not answer.
    pub(crate) fn unreachable(message: impl Into<String>, cause: &dyn Error) -> Self {
        Self::new(Exit::Broken, UNREACHABLE, message).caused_by(cause)
    }

    /// Says whether the servers of a fleet did not answer: they may later.
    pub(crate) fn is_unreachable(&self) -> bool {
        self.code == UNREACHABLE
    }

    /// Says that a newer version has written it.
    pub(crate) fn newer_format(attempt: &str, format: &NewerFormat) -> Self {
        Self::new(Exit::Broken, NEWER_FORMAT, attempt)
            .caused_by(format)
            .hint("install a newer version of Adjutant; nothing was changed")
    }

    /// Says that there is no log to show.
    pub(crate) fn no_log(message: impl Into<String>, why: &str) -> Self {
        let mut failure = Self::new(Exit::Refused, "no_log", message);
        failure.causes.push(why.to_owned());
        failure
    }

    /// Says that something cannot be done as things are.
    pub(crate) fn not_possible(message: impl Into<String>, why: &str) -> Self {
        let mut failure = Self::new(Exit::Refused, "not_possible", message);
        failure.causes.push(why.to_owned());
        failure
    }

    /// Says that somebody did not want to wait for the end.
    pub(crate) fn interrupted(message: impl Into<String>, why: &str) -> Self {
        let mut failure = Self::new(Exit::Refused, "interrupted", message);
        failure.causes.push(why.to_owned());
        failure
    }

    /// Says that the command makes no sense as it was called.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "usage", message)
    }

    /// Says that something is where nothing may be.
    pub(crate) fn exists(message: impl Into<String>) -> Self {
        Self::new(Exit::Refused, "exists", message)
    }

    /// Says that a rule said no.
    pub(crate) fn refused(message: impl Into<String>, answer: &Answer) -> Self {
        let reason = answer.reason.unwrap_or(Reason::InvalidArgument);
        let mut failure = Self::new(Exit::Refused, reason.as_str(), message);
        let problems: Vec<String> = answer.problems.iter().map(words).collect();
        failure.causes =
            if problems.is_empty() { vec![fragment(reason.meaning())] } else { problems };
        failure.hint = hint(reason, answer);
        failure
    }

    fn new(exit: Exit, code: &'static str, message: impl Into<String>) -> Self {
        Self { exit, code, message: message.into(), causes: vec![], hint: None }
    }

    /// Returns why, one cause after the other.
    pub(crate) fn causes(&self) -> &[String] {
        &self.causes
    }

    /// Adds the whole chain of causes.
    #[must_use]
    pub(crate) fn caused_by(mut self, cause: &dyn Error) -> Self {
        let mut next = Some(cause);
        while let Some(cause) = next {
            self.causes.push(cause.to_string());
            next = cause.source();
        }
        self
    }

    /// Adds what to do about it.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Ends the command without a word: whoever read its output has gone.
    pub(crate) fn quiet() -> Self {
        Self::new(Exit::Quiet, "quiet", "")
    }

    /// Says whether this is only that nobody reads on.
    pub(crate) fn is_quiet(&self) -> bool {
        self.exit == Exit::Quiet
    }

    /// Says that the configuration makes no sense.
    pub(crate) fn config(path: &Path, what: impl Into<String>) -> Self {
        let message = format!("cannot use the configuration {}", path.display());
        let mut failure = Self::new(Exit::Usage, "invalid_config", message);
        failure.causes.push(what.into());
        failure
    }

    /// Says that a command of a run was called outside of one.
    pub(crate) fn no_run(attempt: &str, missing: &str) -> Self {
        let mut failure = Self::new(Exit::Usage, "no_run", format!("{attempt} outside a run"));
        failure.causes.push(format!("{missing} is not set, or makes no sense"));
        failure.hint("agents get it from Adjutant; `adjutant send` takes messages from anybody")
    }

    /// Says that there is no such task.
    pub(crate) fn not_found(id: &TaskId, attempt: &str) -> Self {
        let answer = Answer::rejected(Reason::TaskNotFound, Some(id.clone()));
        Self::refused(format!("{attempt} of {id}"), &answer)
    }

    /// Says that what was just there is not there any more.
    pub(crate) fn gone(message: impl Into<String>) -> Self {
        Self::new(Exit::Broken, "gone", message)
    }

    /// Says that somebody else has it.
    pub(crate) fn taken(message: impl Into<String>, by: &dyn Error) -> Self {
        Self::new(Exit::Refused, "taken", message).caused_by(by)
    }

    /// Says that a rule about stories said no.
    pub(crate) fn story_refused(
        code: &'static str,
        message: impl Into<String>,
        why: impl Into<String>,
    ) -> Self {
        let mut failure = Self::new(Exit::Refused, code, message);
        failure.causes.push(why.into());
        failure
    }

    /// Says what about a project's stories cannot be used as it is written, problem by problem.
    pub(crate) fn story_invalid(
        code: &'static str,
        message: impl Into<String>,
        causes: Vec<String>,
    ) -> Self {
        let mut failure = Self::new(Exit::Usage, code, message);
        failure.causes = causes;
        failure
    }

    /// Says that this program has a mistake in it.
    pub(crate) fn bug(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        let mut failure = Self::new(Exit::Broken, "bug", "adjutant has a mistake in it");
        failure.causes.extend(text);
        failure.hint("what was answered as applied is safe; please report this")
    }

    /// Says it to a program instead of a person.
    /// Returns what was tried and why not, in one line.
    pub(crate) fn in_one_line(&self) -> String {
        [&[self.message.clone()][..], &self.causes].concat().join(": ")
    }

    pub(crate) fn into_trouble(self) -> Trouble {
        let Self { exit, code, message, causes, hint } = self;
        let kind = match exit {
            Exit::Refused | Exit::Quiet => Kind::Refused,
            Exit::Usage => Kind::Usage,
            Exit::Broken => Kind::Broken,
        };
        Trouble { kind, code: code.to_owned(), message, causes, hint }
    }

    /// Prints it, and returns how to exit.
    pub(crate) fn report(&self, out: &Output) -> ExitCode {
        if self.exit != Exit::Quiet {
            // There is nobody left to tell if this fails.
            let _ = self.print(out.is_json());
        }
        self.exit.code()
    }

    fn print(&self, json: bool) -> std::io::Result<()> {
        if json {
            let (code, message) = (self.code, &self.message);
            let (causes, hint) = (&self.causes, &self.hint);
            let error = json!({"code": code, "message": message, "causes": causes, "hint": hint});
            return writeln!(std::io::stdout(), "{}", json!({ "error": error }));
        }
        let mut err = std::io::stderr().lock();
        writeln!(err, "error: {}", clean(&self.message))?;
        for cause in &self.causes {
            writeln!(err, "  caused by: {}", clean(cause))?;
        }
        match &self.hint {
            Some(hint) => writeln!(err, "hint: {}", clean(hint)),
            None => Ok(()),
        }
    }
}

fn words(problem: &Problem) -> String {
    problem.to_string()
}

/// Turns a sentence into a cause: no capital, no full stop.
fn fragment(sentence: &str) -> String {
    let sentence = sentence.trim().trim_end_matches('.');
    let mut chars = sentence.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

fn hint(reason: Reason, answer: &Answer) -> Option<String> {
    match reason {
        Reason::TaskNotFound | Reason::ParentNotFound | Reason::DependencyNotFound => {
            Some("`adjutant task list` shows the tasks there are".to_owned())
        }
        Reason::TaskUnreadable => Some("`adjutant doctor` says what is wrong with it".to_owned()),
        Reason::InvalidTransition => answer
            .task
            .as_ref()
            .map(|id| format!("`adjutant task show {id}` shows where it stands")),
        Reason::OperatorOnly => {
            Some("an agent says what it has to say by `adjutant report`".to_owned())
        }
        _ => None,
    }
}

impl From<DaemonError> for Failure {
    fn from(error: DaemonError) -> Self {
        match error {
            DaemonError::Store(error) => error.into(),
            DaemonError::Engine(error) => error.into(),
            DaemonError::Unfit(unfit) => unfit.into(),
            DaemonError::Io { attempt, source } => {
                let failure = Self::broken(format!("cannot {attempt}"), &source);
                let code = if is_silence(&source) { UNREACHABLE } else { failure.code };
                Self { code, ..failure }
            }
        }
    }
}

impl From<Unfit> for Failure {
    fn from(unfit: Unfit) -> Self {
        let attempt = "cannot be a node of this fleet";
        match unfit {
            Unfit::NameTaken(_) => Self::taken(attempt, &unfit)
                .hint("give this machine a name of its own: `node = \"…\"` in [nats] of adjutant.toml"),
            Unfit::Lingers(_) => Self::taken(attempt, &unfit).hint(
                "two agents could work on one task: give this machine a name of its own (`node = \"…\"` \
                 in [nats] of adjutant.toml), or wait until another node that is up has given those \
                 runs up, which is heartbeat_ttl and a quarter after the last word of that machine",
            ),
            Unfit::Differs { .. } => Self::not_possible(attempt, &unfit.to_string())
                .hint("two agents could work on one task: say the same on all nodes, or stop all of them to change it"),
            Unfit::Protocol { own, theirs, ref nodes } => {
                Self::not_possible(attempt, &unfit.to_string()).hint(other_protocol(own, theirs, nodes))
            }
            Unfit::Store(error) => error.into(),
        }
    }
}

/// Says how the nodes of a fleet come to speak one protocol.
fn other_protocol(own: u32, theirs: u32, nodes: &[NodeId]) -> String {
    if own < theirs {
        return "install the version of Adjutant that the other nodes have".to_owned();
    }
    if nodes.is_empty() {
        return "start `adjutant up` with this version once all nodes have it: the fleet goes over \
                to its protocol"
            .to_owned();
    }
    let nodes: Vec<&str> = nodes.iter().map(NodeId::as_str).collect();
    let nodes = nodes.join(", ");
    format!("stop all nodes ({nodes} are up), install this version on each, and start them again")
}

impl From<NoAnswer> for Failure {
    fn from(error: NoAnswer) -> Self {
        match error {
            NoAnswer::Failed { message, causes } => {
                let mut failure = Self::new(Exit::Broken, "failed", message);
                failure.causes = causes;
                failure
            }
            NoAnswer::Alone { message, causes } => {
                let mut failure = Self::new(Exit::Broken, UNREACHABLE, message);
                failure.causes = causes;
                failure.hint(
                    "this node is cut off, or nobody decides: `adjutant fleet status` says who is \
                     there, and `adjutant events` afterwards whether it was done",
                )
            }
            NoAnswer::Gone(_) => Self::broken("cannot tell whether it was done", &error)
                .hint("`adjutant events` shows what was taken in"),
            NoAnswer::Nonsense => Self::broken("cannot talk to the daemon", &error)
                .hint("stop it with `adjutant down` and start it again with this version"),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        if let StoreError::Newer(format) = &error {
            return Self::newer_format("cannot open the data folder", format);
        }
        let failure = Self::new(Exit::Broken, code_of(&error), "cannot work on the data folder");
        let failure = failure.caused_by(&error);
        match error {
            StoreError::Full { .. } => failure.hint("nothing was changed; make room and try again"),
            StoreError::Damaged { .. } => failure.hint("`adjutant doctor` looks at everything"),
            StoreError::Conflict { .. }
            | StoreError::Io { .. }
            | StoreError::Newer(_)
            | StoreError::Fenced
            | StoreError::Stopped => failure,
        }
    }
}

/// Says whether it was only that nobody answered.
fn is_silence(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::HostUnreachable
}

fn code_of(error: &StoreError) -> &'static str {
    match error {
        StoreError::Full { .. } => "disk_full",
        StoreError::Damaged { .. } => "damaged",
        StoreError::Conflict { .. } => "conflict",
        error if error.is_silence() => UNREACHABLE,
        StoreError::Io { .. } => "io",
        StoreError::Newer(_) => NEWER_FORMAT,
        StoreError::Fenced => "fenced",
        StoreError::Stopped => "stopped",
    }
}

impl From<UnpackError> for Failure {
    fn from(error: UnpackError) -> Self {
        match error {
            UnpackError::Occupied { .. } => Self::exists(error.to_string()),
            UnpackError::Bad(_) => Self::new(Exit::Refused, "bad_archive", error.to_string())
                .hint("`adjutant export` makes one that can be taken"),
            UnpackError::Newer(format) => Self::newer_format("cannot import the archive", &format),
            UnpackError::Store(error) => error.into(),
        }
    }
}

impl From<Unanswered> for Failure {
    fn from(error: Unanswered) -> Self {
        if let Unanswered::Store(inner) = &error
            && let StoreError::Newer(format) = &**inner
        {
            return Self::newer_format("cannot open the data folder", format);
        }
        Self::broken("cannot get an answer", &error)
    }
}

impl From<FolderError> for Failure {
    fn from(error: FolderError) -> Self {
        let (exit, code, hint) = match &error {
            FolderError::Absent(_) | FolderError::NotData(_) | FolderError::NotFound(_) => {
                (Exit::Usage, "no_data_folder", Some("`adjutant init` makes one here"))
            }
            FolderError::Exists(_) => (Exit::Refused, "exists", None),
            FolderError::Io { .. } => (Exit::Broken, "io", None),
        };
        let mut failure = Self::new(exit, code, error.to_string());
        failure.causes.extend(error.source().map(ToString::to_string));
        failure.hint = hint.map(str::to_owned);
        failure
    }
}

impl From<std::io::Error> for Failure {
    /// Output that nobody reads any more is not a failure.
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::quiet(),
            _ => Self::broken("cannot write the output", &error),
        }
    }
}

/// Prints what is wrong with the arguments, as text or as JSON if that was asked for.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let helps = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    let json = std::env::args_os().take_while(|arg| arg != "--").any(|arg| arg == "--json");
    if helps || !json {
        let _ = error.print();
        return ExitCode::from(if helps { 0 } else { 2 });
    }
    misused(error).report(&Output::new(true))
}

/// Takes what is wrong with the arguments apart: what, details, and a tip.
fn misused(error: &clap::Error) -> Failure {
    let missing =
        [ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, ErrorKind::MissingSubcommand];
    if missing.contains(&error.kind()) {
        return Failure::usage("a command is missing").hint("`adjutant --help` lists them");
    }
    let text = error.to_string();
    let more = ["Usage:", "For more information"];
    let mut lines = text.lines().take_while(|line| !more.iter().any(|end| line.starts_with(end)));
    let first = lines.next().unwrap_or_default();
    let mut failure = Failure::usage(first.trim_start_matches("error: ").trim_end_matches(':'));
    for line in lines.map(str::trim).filter(|line| !line.is_empty()) {
        match line.strip_prefix("tip: ") {
            Some(tip) => failure.hint = Some(tip.to_owned()),
            None => failure.causes.push(line.to_owned()),
        }
    }
    let hint = failure.hint.take();
    failure.hint(hint.unwrap_or_else(|| "`--help` shows how the command is called".to_owned()))
}
