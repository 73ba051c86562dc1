//! A mission and a result of Agent Protocol v1.

use adjutant_core::mission::{INSTRUCTION_CHARS_MAX, TEXT_CHARS_MAX};
use schemars::JsonSchema;

use super::foreign::{
    EpicId, FileAction, IssueWord, LogLevel, MissionId, MissionStatus, MissionVersion, PrdId, Said,
};
use super::path::RelPath;
use super::time::Timestamp;

/// A mission: what an agent must accomplish. At most 128 KiB of JSON or plain YAML. Fields that are
/// not listed are ignored, with a warning.
#[derive(JsonSchema)]
pub(super) struct Mission {
    version: MissionVersion,
    task_id: MissionId,
    epic_id: EpicId,
    prd_id: PrdId,
    /// What is to be done.
    instruction: Said<INSTRUCTION_CHARS_MAX>,
    context: Context,
    constraints: Option<Constraints>,
    /// After how many seconds it is stopped; 0 is never.
    #[schemars(range(max = u64::MAX))]
    timeout: Option<u64>,
}

/// What to read.
#[derive(JsonSchema)]
struct Context {
    /// How this project is worked on.
    dev_md: Option<RelPath>,
    /// What the epic is about.
    epic_file: RelPath,
    /// What the task is about.
    task_file: RelPath,
    /// What earlier missions of the epic have learnt.
    memory: Option<RelPath>,
    /// What tools there are.
    toolset: Option<RelPath>,
}

/// What not to do. A breach turns success into work that somebody must look at.
#[derive(JsonSchema)]
struct Constraints {
    /// How many files may be changed.
    #[schemars(range(max = u64::MAX))]
    max_files: Option<u64>,
    /// Whether nothing may be committed.
    no_git_commit: Option<bool>,
    /// Whether no dependencies may be added.
    no_new_deps: Option<bool>,
}

/// A result: what came of a mission. At most 1 MiB of JSON or plain YAML. One that is completed
/// has no issue of type `blocker`. Fields that are not listed are ignored, with a warning.
#[derive(JsonSchema)]
pub(super) struct ResultDoc {
    version: MissionVersion,
    task_id: MissionId,
    status: MissionStatus,
    /// The files that were changed.
    #[schemars(length(max = 10_000))]
    files_modified: Vec<FileModified>,
    /// What happened on the way.
    #[schemars(length(min = 2, max = 10_000))]
    log: Vec<LogEntry>,
    /// What somebody else must deal with.
    #[schemars(length(max = 10_000))]
    issues: Option<Vec<Issue>>,
    /// When it ended.
    completed_at: Timestamp,
}

/// A file that was changed.
#[derive(JsonSchema)]
struct FileModified {
    path: RelPath,
    action: FileAction,
}

/// One thing that happened on the way.
#[derive(JsonSchema)]
struct LogEntry {
    level: LogLevel,
    /// What it was.
    message: Said<TEXT_CHARS_MAX>,
    /// When it was.
    timestamp: Timestamp,
}

/// Something that somebody else must deal with.
#[derive(JsonSchema)]
struct Issue {
    r#type: IssueWord,
    /// What it is.
    description: Said<TEXT_CHARS_MAX>,
}
