//! The dialects, and the one table that maps each of their statuses to an outcome.

use crate::completion::WorkOutcome;
use crate::text_value::word_enum;

word_enum! {
    /// A protocol for work orders and the reports on them.
    #[strum(serialize_all = "snake_case")]
    pub enum ProtocolDialect {
        /// AOF/1: a `handoff.request`, answered by a `completion.report`.
        Aof,
        /// Agent Protocol v1: a mission, answered by a result.
        Mission,
        /// `new_task`, answered by an `attempt_completion`.
        NewTask,
        /// Plain text, answered by `adjutant report`.
        Prompt,
    }
}

/// The mapping of one status of a dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DialectRow {
    pub dialect: ProtocolDialect,
    /// The status, as the dialect writes it.
    pub status: &'static str,
    pub outcome: WorkOutcome,
    /// Put before the agent's reason.
    pub reason_prefix: &'static str,
    /// Whether the task gets a question for a person.
    pub asks_question: bool,
}

const fn map_status(
    dialect: ProtocolDialect,
    status: &'static str,
    outcome: WorkOutcome,
    prefix: &'static str,
) -> DialectRow {
    DialectRow { dialect, status, outcome, reason_prefix: prefix, asks_question: false }
}

/// The mapping of every status of every dialect. `docs/dialects.md` prints this table.
pub const STATUS_MAPPINGS: [DialectRow; 11] = [
    map_status(ProtocolDialect::Aof, "done", WorkOutcome::Done, ""),
    map_status(ProtocolDialect::Aof, "blocked", WorkOutcome::Blocked, ""),
    map_status(ProtocolDialect::Aof, "needs_review", WorkOutcome::NeedsReview, ""),
    map_status(ProtocolDialect::Aof, "partial", WorkOutcome::Partial, ""),
    map_status(ProtocolDialect::Mission, "completed", WorkOutcome::Done, ""),
    map_status(ProtocolDialect::Mission, "failed", WorkOutcome::Blocked, "failed: "),
    map_status(ProtocolDialect::Mission, "blocked", WorkOutcome::Blocked, ""),
    map_status(ProtocolDialect::NewTask, "success", WorkOutcome::Done, ""),
    map_status(ProtocolDialect::NewTask, "failure", WorkOutcome::Blocked, "failed: "),
    DialectRow {
        asks_question: true,
        ..map_status(
            ProtocolDialect::NewTask,
            "clarification_needed",
            WorkOutcome::Blocked,
            "clarification needed: ",
        )
    },
    map_status(ProtocolDialect::NewTask, "conflict_detected", WorkOutcome::Blocked, "conflict: "),
];

/// Returns the mapping of a status; `None` if the dialect has no such status.
pub fn find_mapping(dialect: ProtocolDialect, status: &str) -> Option<&'static DialectRow> {
    STATUS_MAPPINGS.iter().find(|row| row.dialect == dialect && row.status == status)
}
