//! A failed query or command: what was tried, why it failed, and what to do next. The command line
//! prints it, and the server turns it into a problem document.

use std::error::Error;
use std::fmt;
use std::path::Path;

use adjutant_core::story::StoryRefusal;
use adjutant_engine::EngineError;
use adjutant_engine::fleet::MembershipError;
use adjutant_engine::ipc::{IpcError, SilentProcess};
use adjutant_model::command_text::shell_word;
use adjutant_model::story::Step;
use adjutant_model::{Answer, NodeId, Reason, TaskId};
use adjutant_store::StoreError;
use adjutant_store::file::{FolderError, UnpackError};
use adjutant_store::format::NewerFormat;
use adjutant_stories::files::StoryFolderError;
use adjutant_stories::{StoryCommandAnswer, StoryError};

/// Why a query or command did not do what it was asked to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandFailure {
    pub kind: FailureKind,
    /// A stable word that programs rely on.
    pub code: &'static str,
    /// What was tried.
    pub message: String,
    pub causes: Vec<String>,
    pub hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The reader of the output closed the pipe: there is nothing to report.
    OutputClosed,
    /// A rule refused the request.
    Refused,
    /// The request is invalid.
    Usage,
    Broken,
}

impl fmt::Display for CommandFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for CommandFailure {}

/// The error code if the servers of a fleet do not answer.
pub const UNREACHABLE: &str = "unreachable";

/// The error code if the daemon or a shim does not answer.
pub const NO_ANSWER: &str = "no_answer";

/// The error code if the configuration cannot be used.
pub const INVALID_CONFIG: &str = "invalid_config";

/// The error code if there is no data folder.
pub const NO_DATA_FOLDER: &str = "no_data_folder";

/// The error code if other users own the data folder or can write to it.
pub const UNSAFE_FOLDER: &str = "unsafe_folder";

/// The error code if a newer version wrote the folder or archive.
const NEWER_FORMAT: &str = "newer_format";

impl CommandFailure {
    /// Returns the message and its causes in one line.
    pub fn message_with_causes(&self) -> String {
        let causes = self.causes.iter().map(|cause| format!(": {cause}"));
        format!("{}{}", self.message, causes.collect::<String>())
    }

    /// Returns the causes and the hint in one line, for a text that has the message already.
    pub fn one_line_problem(&self) -> String {
        let hint = self.hint.as_ref().map_or_else(String::new, |hint| format!("; {hint}"));
        let causes = if self.causes.is_empty() { &self.message } else { &self.causes.join(": ") };
        format!("{causes}{hint}")
    }

    pub fn broken(message: impl Into<String>, cause: &dyn Error) -> Self {
        Self::new(FailureKind::Broken, "failed", message).with_cause(cause)
    }

    /// Like [`CommandFailure::broken`], with causes that come as text.
    pub fn broken_because<'a>(
        message: impl Into<String>,
        causes: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let mut failure = Self::new(FailureKind::Broken, "failed", message);
        failure.causes = causes.into_iter().map(str::to_owned).collect();
        failure
    }

    /// Reports that the process that must carry out the request did not answer in time.
    pub fn silent_process(silent: SilentProcess) -> Self {
        let message = "no answer in time: it is unknown whether the request will be applied";
        let failure = Self::new(FailureKind::Broken, NO_ANSWER, message).with_cause(&silent);
        let Some(pid) = silent.pid else { return failure };
        let wake = if silent.is_suspended {
            format!("`kill -CONT {pid}` lets it continue, and ")
        } else {
            String::new()
        };
        failure.with_hint(format!(
            "{wake}`kill -KILL {pid}` ends it: nothing is lost, and agents keep running for the \
             next `adjutant up`"
        ))
    }

    pub fn unreachable(message: impl Into<String>, cause: &dyn Error) -> Self {
        Self::new(FailureKind::Broken, UNREACHABLE, message).with_cause(cause)
    }

    /// Says whether the servers of a fleet did not answer. Trying again may help.
    pub fn is_unreachable(&self) -> bool {
        self.code == UNREACHABLE
    }

    /// Reports a folder or archive that a newer version wrote.
    pub fn newer_format(attempt: &str, format: &NewerFormat) -> Self {
        Self::new(FailureKind::Broken, NEWER_FORMAT, attempt)
            .with_cause(format)
            .with_hint("install a newer version of Adjutant; nothing was changed")
    }

    /// Reports that the event log cannot be read.
    pub fn unreadable_log(error: &StoreError) -> Self {
        Self::because(FailureKind::Broken, "io", "cannot read the event log", error.to_string())
    }

    pub fn no_log(message: impl Into<String>, why: &str) -> Self {
        Self::because(FailureKind::Refused, "no_log", message, why)
    }

    /// Reports an action that the current state does not allow.
    pub fn not_possible(message: impl Into<String>, why: &str) -> Self {
        Self::because(FailureKind::Refused, "not_possible", message, why)
    }

    /// Reports that the user stopped waiting for the end.
    pub fn interrupted(message: impl Into<String>, why: &str) -> Self {
        Self::because(FailureKind::Refused, "interrupted", message, why)
    }

    pub fn report_usage_error(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Usage, "usage", message)
    }

    pub fn exists(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Refused, "exists", message)
    }

    /// Reports a request that was refused, with the problems of `answer` or the
    /// meaning of its reason.
    pub fn refused(message: impl Into<String>, answer: &Answer) -> Self {
        let reason = answer.reason.unwrap_or(Reason::InvalidArgument);
        let mut failure = Self::new(FailureKind::Refused, reason.as_str(), message);
        let problems: Vec<String> = answer.problems.iter().map(ToString::to_string).collect();
        failure.causes =
            if problems.is_empty() { vec![to_fragment(reason.meaning())] } else { problems };
        failure.hint = hint(reason, answer);
        if reason == Reason::TaskOnHold {
            failure.describe_hold(answer);
        }
        failure
    }

    /// Names the fault with the files of a task that is on hold, and how to repair it.
    fn describe_hold(&mut self, answer: &Answer) {
        let texts: Vec<&str> = answer.problems.iter().map(|problem| &*problem.message).collect();
        let ([problem, cause, fix], Some(id)) = (&texts[..], &answer.task) else { return };
        self.message = format!("task {id} is on hold: {problem}");
        self.causes = vec![(*cause).to_owned()];
        self.hint = Some(format!("{fix}; other tasks are not affected"));
    }

    /// Reports a refusal with causes that come as text.
    pub fn refused_because(
        code: &'static str,
        message: impl Into<String>,
        causes: Vec<String>,
    ) -> Self {
        Self { causes, ..Self::new(FailureKind::Refused, code, message) }
    }

    pub fn new(kind: FailureKind, code: &'static str, message: impl Into<String>) -> Self {
        Self { kind, code, message: message.into(), causes: vec![], hint: None }
    }

    fn because(
        kind: FailureKind,
        code: &'static str,
        message: impl Into<String>,
        why: impl Into<String>,
    ) -> Self {
        Self { causes: vec![why.into()], ..Self::new(kind, code, message) }
    }

    /// Adds an error and its whole chain of sources.
    #[must_use]
    pub fn with_cause(mut self, cause: &dyn Error) -> Self {
        let mut next = Some(cause);
        while let Some(cause) = next {
            self.causes.push(cause.to_string());
            next = cause.source();
        }
        self
    }

    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Ends the command silently, because the reader of its output has gone.
    pub fn output_closed() -> Self {
        Self::new(FailureKind::OutputClosed, "quiet", "")
    }

    pub fn is_output_closed(&self) -> bool {
        self.kind == FailureKind::OutputClosed
    }

    pub fn config(path: &Path, what: impl Into<String>) -> Self {
        let message = format!("cannot use the configuration {}", path.display());
        Self::because(FailureKind::Usage, INVALID_CONFIG, message, what)
    }

    /// Reports that a command for agents was called outside a run.
    pub fn no_run(attempt: &str, missing: &str) -> Self {
        let mut failure =
            Self::new(FailureKind::Usage, "no_run", format!("{attempt} outside a run"));
        failure.causes.push(format!("{missing} is not set or invalid"));
        failure.with_hint("Adjutant sets it for its runs; outside a run, use `adjutant send`")
    }

    pub fn not_found(id: &TaskId, attempt: &str) -> Self {
        let answer = Answer::rejected(Reason::TaskNotFound, Some(id.clone()));
        Self::refused(format!("{attempt} of {id}"), &answer)
    }

    /// Reports that something disappeared while the command used it.
    pub fn gone(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Broken, "gone", message)
    }

    /// Reports that another holder has the resource.
    pub fn taken(message: impl Into<String>, by: &dyn Error) -> Self {
        Self::new(FailureKind::Refused, "taken", message).with_cause(by)
    }

    /// Reports a story command that the story's state does not allow.
    pub fn from_story_refusal(
        refusal: StoryRefusal,
        answer: &StoryCommandAnswer,
        attempt: &str,
    ) -> Self {
        Self::story_refused(refusal.as_str(), attempt, refusal.meaning())
            .with_hint(answer.caller_instruction())
    }

    pub fn story_refused(
        code: &'static str,
        message: impl Into<String>,
        why: impl Into<String>,
    ) -> Self {
        Self::because(FailureKind::Refused, code, message, why)
    }

    /// Reports invalid story files, one cause a problem.
    pub fn story_invalid(
        code: &'static str,
        message: impl Into<String>,
        causes: Vec<String>,
    ) -> Self {
        let mut failure = Self::new(FailureKind::Usage, code, message);
        failure.causes = causes;
        failure
    }
}

/// Quotes a path for a shell if it needs quotes.
fn shell_path(path: &Path) -> String {
    shell_word(&path.display().to_string()).into_owned()
}

/// Turns a sentence into a cause: lowercase, without a full stop.
fn to_fragment(sentence: &str) -> String {
    let sentence = sentence.trim().trim_end_matches('.');
    let mut chars = sentence.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

fn hint(reason: Reason, answer: &Answer) -> Option<String> {
    match reason {
        Reason::TaskNotFound | Reason::ParentNotFound | Reason::DependencyNotFound => {
            Some("`adjutant task list` lists the tasks".to_owned())
        }
        Reason::TaskUnreadable => Some("`adjutant doctor` says what is wrong with it".to_owned()),
        Reason::InvalidTransition => {
            answer.task.as_ref().map(|id| format!("`adjutant task show {id}` shows its status"))
        }
        Reason::ProtectedPaths => answer.task.as_ref().map(|id| {
            format!(
                "read the change with `adjutant task diff {id}`; `adjutant approve {id} \
                 --allow-protected` approves it"
            )
        }),
        Reason::OperatorOnly => {
            Some("to report from inside a run, use `adjutant report`".to_owned())
        }
        _ => None,
    }
}

impl From<MembershipError> for CommandFailure {
    fn from(unfit: MembershipError) -> Self {
        let attempt = "cannot join the fleet";
        match unfit {
            MembershipError::NameTaken(_) => Self::taken(attempt, &unfit).with_hint(
                "give this machine another name: `node = \"…\"` in [nats] of adjutant.toml",
            ),
            MembershipError::NameStillInUse(_) => Self::taken(attempt, &unfit).with_hint(
                "otherwise two agents could work on one task: give this machine another name \
                 (`node = \"…\"` in [nats] of adjutant.toml), or wait until the leader has ended \
                 those runs, 1.25 times heartbeat_ttl after the last heartbeat of that machine",
            ),
            MembershipError::TimesDiffer { .. } => Self::not_possible(attempt, &unfit.to_string())
                .with_hint(
                    "otherwise two agents could work on one task: set the same value on all \
                     nodes, or stop all nodes to change it",
                ),
            MembershipError::Protocol { own, theirs, ref nodes } => {
                Self::not_possible(attempt, &unfit.to_string())
                    .with_hint(protocol_hint(own, theirs, nodes))
            }
            MembershipError::Store(error) => error.into(),
        }
    }
}

/// Returns the hint for nodes with different protocol versions.
fn protocol_hint(own: u32, theirs: u32, nodes: &[NodeId]) -> String {
    if own < theirs {
        return "install the version of Adjutant that the other nodes run".to_owned();
    }
    if nodes.is_empty() {
        return "install this version on all nodes, then start `adjutant up`: the fleet switches \
                to its protocol"
            .to_owned();
    }
    let nodes: Vec<&str> = nodes.iter().map(NodeId::as_str).collect();
    let nodes = nodes.join(", ");
    format!("stop all nodes ({nodes} are up), install this version on each, and start them again")
}

impl From<IpcError> for CommandFailure {
    fn from(error: IpcError) -> Self {
        match error {
            IpcError::Failed { message, causes } => {
                let mut failure = Self::new(FailureKind::Broken, "failed", message);
                failure.causes = causes;
                failure
            }
            IpcError::LeaderUnreachable { message, causes } => {
                let mut failure = Self::new(FailureKind::Broken, UNREACHABLE, message);
                failure.causes = causes;
                failure.with_hint(
                    "this node is cut off, or the fleet has no leader: `adjutant fleet status` \
                     lists the nodes, and `adjutant events` shows later whether the request was \
                     applied",
                )
            }
            IpcError::Disconnected(_) => {
                Self::broken("it is unknown whether the request was applied", &error)
                    .with_hint("`adjutant events` shows whether it was")
            }
            IpcError::Silent(silent) => Self::silent_process(silent),
            IpcError::BadReply => Self::broken("cannot talk to the daemon", &error)
                .with_hint("stop it with `adjutant down` and start it again with this version"),
        }
    }
}

impl From<StoreError> for CommandFailure {
    fn from(error: StoreError) -> Self {
        if let StoreError::Newer(format) = &error {
            return Self::newer_format("cannot open the data folder", format);
        }
        let failure = Self::new(FailureKind::Broken, code_of(&error), "cannot use the data folder");
        let failure = failure.with_cause(&error);
        match error {
            StoreError::Full { .. } => {
                failure.with_hint("nothing was changed; free some disk space and try again")
            }
            StoreError::Damaged { .. } => {
                failure.with_hint("`adjutant doctor` examines the whole folder")
            }
            StoreError::LogBehind { .. } => failure.with_hint(
                "nothing was changed; put the newer files of events/ back (after a `git checkout`, \
                 check out the branch you came from), or continue without the missing events: \
                 `adjutant doctor --fix` records that as log.restored",
            ),
            StoreError::FolderGone(_) => failure.with_hint(
                "nothing was changed; a daemon that was started before the folder was moved ends at \
                 the first signal, `adjutant down` from the new place sends it",
            ),
            StoreError::Conflict { .. }
            | StoreError::Io { .. }
            | StoreError::Newer(_)
            | StoreError::Fenced
            | StoreError::Stopped => failure,
        }
    }
}

fn code_of(error: &StoreError) -> &'static str {
    match error {
        StoreError::Full { .. } => "disk_full",
        StoreError::Damaged { .. } => "damaged",
        StoreError::LogBehind { .. } => "event_log_behind",
        StoreError::FolderGone(_) => "folder_gone",
        StoreError::Conflict { .. } => "conflict",
        error if error.is_unreachable() => UNREACHABLE,
        StoreError::Io { .. } => "io",
        StoreError::Newer(_) => NEWER_FORMAT,
        StoreError::Fenced => "fenced",
        StoreError::Stopped => "stopped",
    }
}

impl From<UnpackError> for CommandFailure {
    fn from(error: UnpackError) -> Self {
        match error {
            UnpackError::Occupied { .. } => Self::exists(error.to_string()),
            UnpackError::Malformed(_) => {
                Self::new(FailureKind::Refused, "bad_archive", error.to_string())
                    .with_hint("`adjutant export` makes an archive that can be imported")
            }
            UnpackError::Newer(format) => Self::newer_format("cannot import the archive", &format),
            UnpackError::Store(error) => error.into(),
        }
    }
}

impl From<EngineError> for CommandFailure {
    fn from(error: EngineError) -> Self {
        if let EngineError::Store(inner) = &error
            && let StoreError::Newer(format) = &**inner
        {
            return Self::newer_format("cannot open the data folder", format);
        }
        Self::broken("the request could not be processed", &error)
    }
}

impl From<FolderError> for CommandFailure {
    fn from(error: FolderError) -> Self {
        let (kind, code, hint) = match &error {
            FolderError::Absent(_) | FolderError::NotData(_) | FolderError::NotFound(_) => {
                let hint = "`adjutant init` creates one here".to_owned();
                (FailureKind::Usage, NO_DATA_FOLDER, Some(hint))
            }
            FolderError::Exists(root) => {
                let config = shell_path(&root.join(adjutant_config::FILE));
                let hint = format!(
                    "its tasks and settings were not touched: edit {config} to change the \
                     settings, `adjutant task list` shows its tasks, and `adjutant up` starts its \
                     agents"
                );
                (FailureKind::Refused, "exists", Some(hint))
            }
            FolderError::Io { .. } => (FailureKind::Broken, "io", None),
            FolderError::ForeignOwner { root, user, .. } => {
                let command = format!("sudo chown -R {user} {}", shell_path(root));
                let hint =
                    format!("if you trust what is in it, `{command}`; nothing was read or changed");
                (FailureKind::Refused, UNSAFE_FOLDER, Some(hint))
            }
            FolderError::OpenToOthers { root, .. } => {
                let command = format!("chmod -R go-w {}", shell_path(root));
                let hint = format!(
                    "if nothing in it is strange to you, `{command}`; nothing was read or changed"
                );
                (FailureKind::Refused, UNSAFE_FOLDER, Some(hint))
            }
        };
        let is_unsafe = code == UNSAFE_FOLDER;
        let message =
            if is_unsafe { "cannot use the data folder".into() } else { error.to_string() };
        let mut failure = Self::new(kind, code, message);
        failure.causes.extend(is_unsafe.then(|| error.to_string()));
        failure.causes.extend(error.source().map(ToString::to_string));
        failure.hint = hint;
        failure
    }
}

impl From<std::io::Error> for CommandFailure {
    /// A closed pipe is not a failure.
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::output_closed(),
            _ => Self::broken("cannot write the output", &error),
        }
    }
}

impl From<StoryError> for CommandFailure {
    fn from(error: StoryError) -> Self {
        let attempt = "cannot use the story";
        match error {
            StoryError::Folder(StoryFolderError::BadState { path, problems }) => {
                let causes = problems.iter().map(ToString::to_string).collect();
                let message = format!("{} is invalid", path.display());
                Self::story_invalid("invalid_state", message, causes)
                    .with_hint("fix the file by hand; nothing was changed")
            }
            StoryError::Folder(StoryFolderError::BadRules(bad)) => {
                let causes = vec![bad.to_string()];
                Self::story_invalid("invalid_rules", "cannot use the step rules", causes)
            }
            StoryError::Folder(error @ StoryFolderError::NotFound(_)) => {
                Self::story_refused("no_project", attempt, error.to_string())
                    .with_hint("`adjutant story init` prepares a project for stories")
            }
            StoryError::Folder(error) => Self::broken(attempt, &error),
            StoryError::Prompt(error) => {
                let mut causes = vec![error.to_string()];
                causes.extend(Error::source(&error).map(ToString::to_string));
                Self::story_invalid("invalid_template", "cannot write the prompt", causes)
            }
            StoryError::NoStory => Self::story_refused("no_story", attempt, error.to_string())
                .with_hint("`adjutant story start ID` starts one"),
            StoryError::UnacceptedRules(_) | StoryError::UnacceptedStory(_) => {
                Self::story_refused("unaccepted_stories", attempt, error.to_string()).with_hint(
                    "`adjutant trust` shows what the stories would run and asks; `adjutant trust \
                     --yes` accepts it without asking",
                )
            }
            StoryError::Record(_) => Self::broken(attempt, &error).with_hint(
                "the record is in $XDG_STATE_HOME/adjutant, else in ~/.local/state/adjutant; \
                 `ADJUTANT_TRUST=accept` accepts everything without a record",
            ),
            StoryError::Several(_) => {
                Self::story_refused("several_stories", attempt, error.to_string())
                    .with_hint("name one with --story")
            }
            StoryError::Circular { .. } => {
                Self::story_refused("dependency_cycle", attempt, error.to_string())
                    .with_hint("`adjutant story list` shows the stories")
            }
            StoryError::NotFound(_) => {
                Self::story_refused("story_not_found", attempt, error.to_string())
                    .with_hint("`adjutant story list` lists the stories")
            }
            StoryError::Started { step: Step::Done, .. } => {
                Self::story_refused("already_done", "cannot start the story", error.to_string())
                    .with_hint(
                        "`adjutant story reopen` continues it, --force starts it again from the \
                         beginning",
                    )
            }
            StoryError::Started { .. } => {
                Self::story_refused("already_started", "cannot start the story", error.to_string())
                    .with_hint(
                        "`adjutant story next` continues it, --force starts it again from the \
                         beginning",
                    )
            }
        }
    }
}
