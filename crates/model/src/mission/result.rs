//! Results: the reports on missions.

use serde::Serialize;
use serde_json::{Map, Value};

use super::id::MissionId;
use super::{ITEMS_MAX, TEXT_CHARS_MAX, check_version, versioned_object};
use crate::answer::FieldProblem;
use crate::field_reader::{FieldNeed, FieldReader};
use crate::relative_path::RelPath;
#[cfg(feature = "schema")]
use crate::schema::nonblank_patterns;
use crate::text_value::word_enum;
use crate::time::Timestamp;

pub const LOG_ENTRIES_MIN: usize = 2;

/// A result: the report on a mission. At most 1 MiB of JSON or plain YAML. A completed mission has no
/// issue of type `blocker`. Unknown fields are ignored, with a warning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = super::add_version))]
pub struct MissionResult {
    pub task_id: MissionId,
    pub status: ResultStatus,
    /// The changed files, as the agent reports them.
    #[cfg_attr(feature = "schema", schemars(length(max = ITEMS_MAX)))]
    pub files_modified: Vec<ModifiedFile>,
    /// What happened on the way.
    #[cfg_attr(feature = "schema", schemars(length(min = LOG_ENTRIES_MIN, max = ITEMS_MAX)))]
    pub log: Vec<MissionLogEntry>,
    /// The open issues that the agent leaves to others.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = ITEMS_MAX)))]
    pub issues: Option<Vec<MissionIssue>>,
    /// When the mission ended.
    pub completed_at: Timestamp,
}

/// A file that the agent changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModifiedFile {
    /// Relative to the workspace.
    pub path: RelPath,
    pub action: FileAction,
}

/// One entry of the agent's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MissionLogEntry {
    pub level: LogLevel,
    /// What the agent did or found.
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = TEXT_CHARS_MAX), extend("allOf" = nonblank_patterns()))
    )]
    pub message: String,
    /// When it happened.
    pub timestamp: Timestamp,
}

/// An open issue that the agent leaves to others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MissionIssue {
    #[serde(rename = "type")]
    pub kind: IssueType,
    /// What the issue is.
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = TEXT_CHARS_MAX), extend("allOf" = nonblank_patterns()))
    )]
    pub description: String,
}

word_enum! {
    /// The status of a mission in its result.
    #[strum(serialize_all = "snake_case")]
    pub enum ResultStatus {
        Completed,
        Failed,
        /// An obstacle outside the mission stops the work.
        Blocked,
    }
}

word_enum! {
    /// What the agent did to a file.
    #[strum(serialize_all = "snake_case")]
    pub enum FileAction {
        Created,
        Modified,
        Deleted,
    }
}

word_enum! {
    /// The severity of a log entry.
    #[strum(serialize_all = "snake_case")]
    pub enum LogLevel {
        /// The agent reached a milestone.
        Info,
        /// Advice for the agents of later missions.
        Tip,
        /// An unexpected problem and its workaround.
        Warn,
        Error,
        /// The work cannot continue.
        Critical,
    }
}

word_enum! {
    /// The kind of an open issue.
    #[strum(serialize_all = "snake_case")]
    pub enum IssueType {
        /// The issue stops the work.
        Blocker,
        /// A person must answer it.
        Question,
        /// A person should know about it.
        Concern,
    }
}

impl MissionResult {
    /// The field names, in the order they are printed.
    pub const FIELDS: [&'static str; 7] =
        ["version", "task_id", "status", "files_modified", "log", "issues", "completed_at"];

    /// Parses a mapping. Returns the result and its warnings, or every problem.
    pub fn parse(
        object: &Map<String, Value>,
    ) -> Result<(Self, Vec<FieldProblem>), Vec<FieldProblem>> {
        let mut fields = FieldReader::new(object, "").with_null_as_absent();
        let mut warnings =
            fields.unknown_field_warnings(&[&Self::FIELDS[..], &["run_token"]].concat());
        check_version(&mut fields, &mut warnings);
        let task_id = fields.parsed("task_id", FieldNeed::Required, MissionId::parse);
        let status = fields.one_of("status", FieldNeed::Required);
        let files_modified =
            fields.objects("files_modified", FieldNeed::Required, ITEMS_MAX, ModifiedFile::read);
        let log = fields.objects("log", FieldNeed::Required, ITEMS_MAX, MissionLogEntry::read);
        check_log(&mut fields, object);
        let issues = fields.objects("issues", FieldNeed::Optional, ITEMS_MAX, MissionIssue::read);
        let issues = object.contains_key("issues").then_some(issues);
        if status == Some(ResultStatus::Completed) {
            check_no_blockers(&mut fields, object);
        }
        let completed_at = fields.timestamp("completed_at");
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

    /// Returns the document, with its fields in the order of the protocol.
    pub fn to_map(&self) -> Map<String, Value> {
        versioned_object(self)
    }

    /// Returns every path in the result, each with the name of its field.
    pub fn paths(&self) -> Vec<(String, &RelPath)> {
        let named = self.files_modified.iter().enumerate();
        named.map(|(i, file)| (format!("files_modified[{i}].path"), &file.path)).collect()
    }

    /// Returns the issues; empty if the field is absent.
    pub fn issues(&self) -> &[MissionIssue] {
        self.issues.as_deref().unwrap_or(&[])
    }
}

/// A log is required: an agent with nothing to say about its work has not worked.
fn check_log(fields: &mut FieldReader<'_>, object: &Map<String, Value>) {
    let entries = object.get("log").and_then(Value::as_array).map(Vec::len);
    if let Some(entries) = entries.filter(|entries| *entries < LOG_ENTRIES_MIN) {
        let message = format!("must have at least {LOG_ENTRIES_MIN} entries, not {entries}");
        fields.add_problem("log", message);
    }
}

/// A completed mission cannot have a blocker.
fn check_no_blockers(fields: &mut FieldReader<'_>, object: &Map<String, Value>) {
    let issues = object.get("issues").and_then(Value::as_array).into_iter().flatten();
    for (i, issue) in issues.enumerate() {
        if issue.get("type").and_then(Value::as_str) == Some(IssueType::Blocker.as_str()) {
            let message = "a blocker contradicts the status completed";
            fields.add_problem(&format!("issues[{i}].type"), message);
        }
    }
}

impl ModifiedFile {
    fn read(fields: &mut FieldReader<'_>) -> Option<Self> {
        let path = fields.path("path");
        let action = fields.one_of("action", FieldNeed::Required);
        Some(Self { path: path?, action: action? })
    }
}

impl MissionLogEntry {
    fn read(fields: &mut FieldReader<'_>) -> Option<Self> {
        let level = fields.one_of("level", FieldNeed::Required);
        let message = fields.nonblank_text("message", FieldNeed::Required, TEXT_CHARS_MAX);
        let timestamp = fields.timestamp("timestamp");
        Some(Self { level: level?, message: message?, timestamp: timestamp? })
    }
}

impl MissionIssue {
    fn read(fields: &mut FieldReader<'_>) -> Option<Self> {
        let kind = fields.one_of("type", FieldNeed::Required);
        let description = fields.nonblank_text("description", FieldNeed::Required, TEXT_CHARS_MAX);
        Some(Self { kind: kind?, description: description? })
    }
}
