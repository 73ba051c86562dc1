//! The answer to every input, the same for all channels.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::event_id::EventId;
use crate::status::Status;
use crate::task_id::TaskId;
use crate::text_value::word_enum;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    #[serde(rename = "result")]
    pub verdict: AnswerVerdict,
    /// `None` if there is nothing to explain.
    pub reason: Option<Reason>,
    /// The task that the input is about.
    #[serde(rename = "taskId")]
    pub task: Option<TaskId>,
    /// The status of the task after the input.
    pub status: Option<Status>,
    /// Every problem in the input.
    pub problems: Vec<FieldProblem>,
    /// What the operator should know about an input that was applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

word_enum! {
    /// The result of an input.
    #[strum(serialize_all = "lowercase")]
    pub enum AnswerVerdict {
        /// The input took effect and is durable.
        Applied,
        /// The input requires no change.
        Noop,
        /// A rule refused the input; nothing changed.
        Rejected,
        /// The type of the message is unknown.
        Unknown,
        /// The text is not a message for Adjutant.
        Ignored,
    }
}

/// An answer with its events, as commands, HTTP and MCP print it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Answer", title = "AnswerDocument"))]
pub struct AnswerDocument {
    pub result: AnswerVerdict,
    /// The reason for the result; null if there is none.
    pub reason: Option<Reason>,
    /// The task that the input is about.
    pub task_id: Option<TaskId>,
    /// The numbers of the events that the input caused.
    pub events: Vec<EventId>,
    /// The status of the task after the input.
    pub status: Option<Status>,
    /// Every problem in the input, each as `path: message`.
    pub errors: Vec<String>,
    /// What the operator should know about an input that was applied; absent if there is nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A problem in a document, and its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldProblem {
    /// The place in the document, such as `payload.tests.total`; empty for the whole document.
    pub path: String,
    pub message: String,
}

word_enum! {
    /// Why an input was not applied, or what was odd about it. Scripts rely on these words.
    #[derive(strum::EnumMessage)]
    #[strum(serialize_all = "snake_case")]
    pub enum Reason {
        /// The text starts like a message but is not valid JSON.
        InvalidJson,
        /// The text looks like a mission or a result but is not valid plain YAML.
        InvalidYaml,
        /// The message does not match its schema; the errors list every problem.
        InvalidEnvelope,
        /// The message is larger than 1 MiB.
        PayloadTooLarge,
        /// The message is nested deeper than 64 levels.
        NestingTooDeep,
        /// The type of the message is unknown.
        UnknownType,
        /// There is no such task.
        TaskNotFound,
        /// The task's file cannot be read; `adjutant doctor` says why.
        TaskUnreadable,
        /// The task is on hold, because its files cannot be changed.
        TaskOnHold,
        /// The payload and the envelope name different tasks.
        #[strum(serialize = "taskId_mismatch")]
        TaskIdMismatch,
        /// The message names another sender than its payload, or than the run it came through.
        #[strum(serialize = "agentId_mismatch")]
        AgentIdMismatch,
        /// The sender may not send messages about this task.
        UnauthorizedAgent,
        /// The message comes from a run that was replaced or has ended.
        StaleRun,
        /// A run token is required, and the message has none.
        TokenRequired,
        /// The line on standard output has no run token, and does not count.
        MissingToken,
        /// The run token in the message was not issued for this task.
        UnknownToken,
        /// A task with this id exists already, with different content.
        TaskConflict,
        /// The task was itself delegated and cannot be delegated further.
        NestedDelegation,
        /// The parent task does not exist.
        ParentNotFound,
        /// The task to depend on does not exist.
        DependencyNotFound,
        /// The task would depend on itself, directly or through other tasks.
        DependencyCycle,
        /// The task is done or cancelled.
        TaskClosed,
        /// The status of the task does not allow this.
        InvalidTransition,
        /// The agent that did the work cannot approve it.
        SelfApproval,
        /// The work could not be committed to its branch, so it cannot be approved.
        UnsettledWork,
        /// Only an operator may do this, and the command was called from inside a run.
        OperatorOnly,
        /// An argument of the command is invalid.
        InvalidArgument,
        /// The work changes protected paths, and was approved without `--allow-protected`.
        ProtectedPaths,
        /// An entry of `acceptanceCriteria` is not text and was dropped.
        InvalidAcceptanceCriteria,
        /// The document was accepted although something in it is unusual.
        OddDocument,
        /// A run broke a constraint of its task, or an expected output is missing.
        ConstraintBreached,
        /// The file that `summaryRef` names does not exist.
        SummaryFileNotFound,
        /// `outputs/handoff.md` does not exist.
        HandoffFileNotFound,
        /// A `run_result.json` does not match its schema.
        InvalidRunResult,
        /// There is no such report in salvage.
        SalvageNotFound,
        /// The salvaged report has no usable result.
        SalvageUnusable,
        /// The task is blocked by a dependency that will not be done, not by a question.
        HeldBack,
        /// The task follows a story, whose files decide its status.
        StoryOwned,
        /// No daemon has answered: the message is kept with its run, and a daemon applies it later.
        KeptForLater,
        /// There is no task for the agent now.
        NothingToDo,
        /// A valid token is required.
        Unauthenticated,
        /// The request was sent to a host name that is not this server's.
        ForeignHost,
        /// The request was made by a web page of another origin.
        ForeignOrigin,
        /// No accepted node of the fleet signed the message, for this place and this time.
        ForeignNode,
        /// The browser's request to change something has no valid CSRF token.
        ForgedRequest,
        /// A run may do this only for its own task.
        NotYourTask,
        /// There were too many requests, or too many at the same time.
        TooManyRequests,
        /// The request took too long to arrive.
        TooSlow,
    }
}

impl Reason {
    /// Returns a sentence that explains the reason to users.
    pub fn meaning(self) -> &'static str {
        strum::EnumMessage::get_documentation(&self).unwrap_or_default()
    }
}

impl Answer {
    /// Makes an answer that has only a verdict.
    pub fn plain(verdict: AnswerVerdict) -> Self {
        Self {
            verdict,
            reason: None,
            task: None,
            status: None,
            problems: Vec::new(),
            warnings: Vec::new(),
        }
    }

    pub fn rejected(reason: Reason, task: Option<TaskId>) -> Self {
        Self { reason: Some(reason), task, ..Self::plain(AnswerVerdict::Rejected) }
    }

    /// Makes the answer to a message that is on disk and will be decided on later.
    pub fn kept_for_later(task: TaskId) -> Self {
        let reason = Some(Reason::KeptForLater);
        Self { reason, task: Some(task), ..Self::plain(AnswerVerdict::Noop) }
    }
}

impl AnswerDocument {
    pub fn new(answer: &Answer, events: Vec<EventId>) -> Self {
        let Answer { verdict, reason, task, status, problems, warnings } = answer.clone();
        let errors = problems.iter().map(ToString::to_string).collect();
        Self { result: verdict, reason, task_id: task, events, status, errors, warnings }
    }
}

impl FieldProblem {
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}

impl fmt::Display for FieldProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}
