//! How a run of each dialect gets its order and leaves its report.

use std::path::Path;

use adjutant_core::dialect::{Dialect, DocumentKind};

use crate::shim::spec::Report;

/// The variable that says where the mission is.
pub const MISSION_VARIABLE: &str = "ADJUTANT_MISSION_FILE";
/// The variable that says where the `new_task` is.
pub const NEW_TASK_VARIABLE: &str = "ADJUTANT_NEW_TASK_FILE";
/// The variable that says where to leave the result or the `attempt_completion`.
pub const RESULT_VARIABLE: &str = "ADJUTANT_RESULT_FILE";

/// The documents of a dialect that has some: what they are called, and which variables say where they
/// are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forms {
    /// The file the order is in.
    pub order: &'static str,
    /// The variable that says where that is.
    pub variable: &'static str,
    /// The file the report is left in.
    pub report: &'static str,
    /// What kind of document the report is.
    pub kind: DocumentKind,
}

impl Forms {
    /// Returns the documents of a dialect.
    pub fn of(dialect: Dialect) -> Option<Self> {
        match dialect {
            Dialect::Mission => Some(Self {
                order: "mission.yaml",
                variable: MISSION_VARIABLE,
                report: "result.yaml",
                kind: DocumentKind::Result,
            }),
            Dialect::NewTask => Some(Self {
                order: "new_task.json",
                variable: NEW_TASK_VARIABLE,
                report: "attempt_completion.json",
                kind: DocumentKind::AttemptCompletion,
            }),
            Dialect::Aof | Dialect::Prompt => None,
        }
    }

    /// Returns what tells an agent where they are. `folder` is that of its attempt.
    pub fn variables(self, folder: &Path) -> [(String, String); 2] {
        let path = |name| folder.join(name).to_string_lossy().into_owned();
        [
            (self.variable.to_owned(), path(self.order)),
            (RESULT_VARIABLE.to_owned(), path(self.report)),
        ]
    }

    /// Returns what tells the shim which report to look for.
    pub fn report(self) -> Report {
        Report { file: self.report.to_owned(), kind: self.kind.to_string() }
    }
}
