//! A result: what came of a mission.

use serde_json::{Map, Value, json};

use super::id::MissionId;
use super::{ITEMS_MAX, TEXT_CHARS_MAX, VERSION, check_version};
use crate::answer::Problem;
use crate::fields::{Fields, Need};
use crate::path::RelPath;
use crate::time::Stamp;

/// The least entries a log must have.
pub const LOG_ENTRIES_MIN: usize = 2;

/// A result in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultDoc {
    /// The mission it is of.
    pub task_id: MissionId,
    /// What came of it.
    pub status: ResultStatus,
    /// The files that were changed, as the agent says.
    pub files_modified: Vec<FileModified>,
    /// What happened on the way.
    pub log: Vec<LogEntry>,
    /// What somebody else must deal with; none if the field is not there.
    pub issues: Option<Vec<Issue>>,
    /// When it ended.
    pub completed_at: Stamp,
}

/// A file that was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileModified {
    /// Where it lies, from the workspace.
    pub path: RelPath,
    /// What was done to it.
    pub action: Action,
}

/// One thing that happened on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// How much it matters.
    pub level: Level,
    /// What it was.
    pub message: String,
    /// When it was.
    pub timestamp: Stamp,
}

/// Something that somebody else must deal with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// What kind of thing.
    pub kind: IssueType,
    /// What it is.
    pub description: String,
}

macro_rules! words {
    ($($(#[doc = $doc:literal])+ $name:ident { $($(#[doc = $inner:literal])+ $variant:ident = $word:literal,)+ })+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $($(#[doc = $inner])+ $variant,)+ }

        impl $name {
            /// Every one there is, with the word for it.
            pub const WORDS: &'static [(&'static str, Self)] = &[$(($word, Self::$variant),)+];

            /// Returns the word for it.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    )+};
}

pub(crate) use words;

words! {
    /// What came of a mission.
    ResultStatus {
        /// It is done.
        Completed = "completed",
        /// It could not be done.
        Failed = "failed",
        /// Something outside is in the way.
        Blocked = "blocked",
    }
    /// What was done to a file.
    Action {
        /// It is new.
        Created = "created",
        /// It was there and has changed.
        Modified = "modified",
        /// It is gone.
        Deleted = "deleted",
    }
    /// How much an entry of a log matters.
    Level {
        /// A milestone.
        Info = "info",
        /// Something the next one should know.
        Tip = "tip",
        /// Something odd, and how it was got around.
        Warn = "warn",
        /// A significant problem.
        Error = "error",
        /// It cannot go on.
        Critical = "critical",
    }
    /// What kind of thing somebody else must deal with.
    IssueType {
        /// It is in the way.
        Blocker = "blocker",
        /// Somebody must answer it.
        Question = "question",
        /// Somebody should know.
        Concern = "concern",
    }
}

impl ResultDoc {
    /// The fields of a result, in the order they are printed.
    pub const FIELDS: [&'static str; 7] =
        ["version", "task_id", "status", "files_modified", "log", "issues", "completed_at"];

    /// Checks a mapping whole, and returns what is odd about it beside the result; or everything
    /// that is wrong.
    pub fn parse(object: &Map<String, Value>) -> Result<(Self, Vec<Problem>), Vec<Problem>> {
        let mut fields = Fields::new(object, "");
        let mut warnings = fields.strangers(&[&Self::FIELDS[..], &["run_token"]].concat());
        check_version(&mut fields, &mut warnings);
        let task_id = fields.parsed("task_id", Need::Required, MissionId::parse);
        let status = fields.word("status", Need::Required, ResultStatus::WORDS);
        let files_modified =
            fields.objects("files_modified", Need::Required, ITEMS_MAX, FileModified::read);
        let log = fields.objects("log", Need::Required, ITEMS_MAX, LogEntry::read);
        check_log(&mut fields, object);
        let issues = fields.objects("issues", Need::Optional, ITEMS_MAX, Issue::read);
        let issues = object.contains_key("issues").then_some(issues);
        if status == Some(ResultStatus::Completed) {
            check_agreement(&mut fields, object);
        }
        let completed_at = fields.stamp("completed_at");
        let problems = fields.into_problems();
        let result = || {
            let (task_id, status, completed_at) = (task_id?, status?, completed_at?);
            Some(Self { task_id, status, files_modified, log, issues, completed_at })
        };
        match result() {
            Some(result) if problems.is_empty() => Ok((result, warnings)),
            _ => Err(problems),
        }
    }

    /// Returns the document, its fields in the order of the protocol.
    pub fn document(&self) -> Map<String, Value> {
        let list = |items: Vec<Value>| Value::Array(items);
        let mut map = Map::new();
        map.insert("version".into(), VERSION.into());
        map.insert("task_id".into(), self.task_id.as_str().into());
        map.insert("status".into(), self.status.as_str().into());
        let files = self.files_modified.iter().map(FileModified::document).collect();
        map.insert("files_modified".into(), list(files));
        map.insert("log".into(), list(self.log.iter().map(LogEntry::document).collect()));
        if let Some(issues) = &self.issues {
            map.insert("issues".into(), list(issues.iter().map(Issue::document).collect()));
        }
        map.insert("completed_at".into(), self.completed_at.as_str().into());
        map
    }

    /// Returns every path the result names, each with where it stands.
    pub fn paths(&self) -> Vec<(String, &RelPath)> {
        let named = self.files_modified.iter().enumerate();
        named.map(|(i, file)| (format!("files_modified[{i}].path"), &file.path)).collect()
    }

    /// Returns the issues, be there none or be the field not there.
    pub fn issues(&self) -> &[Issue] {
        self.issues.as_deref().unwrap_or(&[])
    }
}

/// An agent that has nothing to say about its work has not worked.
fn check_log(fields: &mut Fields<'_>, object: &Map<String, Value>) {
    let entries = object.get("log").and_then(Value::as_array).map(Vec::len);
    if let Some(entries) = entries.filter(|entries| *entries < LOG_ENTRIES_MIN) {
        let message = format!("must have at least {LOG_ENTRIES_MIN} entries, not {entries}");
        fields.problem("log", message);
    }
}

/// What is in the way of a mission is not in the way of one that is done.
fn check_agreement(fields: &mut Fields<'_>, object: &Map<String, Value>) {
    let issues = object.get("issues").and_then(Value::as_array).into_iter().flatten();
    for (i, issue) in issues.enumerate() {
        if issue.get("type").and_then(Value::as_str) == Some(IssueType::Blocker.as_str()) {
            let message = "a blocker contradicts the status completed";
            fields.problem(&format!("issues[{i}].type"), message);
        }
    }
}

impl FileModified {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let path = fields.path("path");
        let action = fields.word("action", Need::Required, Action::WORDS);
        Some(Self { path: path?, action: action? })
    }

    fn document(&self) -> Value {
        json!({"path": self.path.as_str(), "action": self.action.as_str()})
    }
}

impl LogEntry {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let level = fields.word("level", Need::Required, Level::WORDS);
        let message = fields.said("message", Need::Required, TEXT_CHARS_MAX);
        let timestamp = fields.stamp("timestamp");
        Some(Self { level: level?, message: message?, timestamp: timestamp? })
    }

    fn document(&self) -> Value {
        json!({
            "level": self.level.as_str(),
            "message": self.message,
            "timestamp": self.timestamp.as_str(),
        })
    }
}

impl Issue {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let kind = fields.word("type", Need::Required, IssueType::WORDS);
        let description = fields.said("description", Need::Required, TEXT_CHARS_MAX);
        Some(Self { kind: kind?, description: description? })
    }

    fn document(&self) -> Value {
        json!({"type": self.kind.as_str(), "description": self.description})
    }
}
