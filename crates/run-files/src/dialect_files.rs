//! The files and variables of the dialects that use documents for order and report.

use std::path::Path;

use adjutant_model::dialect::ProtocolDialect;
use adjutant_model::document::DocumentKind;

use crate::shim_spec::ReportSpec;

/// The path of the mission file.
pub const MISSION_VARIABLE: &str = "ADJUTANT_MISSION_FILE";
/// The path of the `new_task` file.
pub const NEW_TASK_VARIABLE: &str = "ADJUTANT_NEW_TASK_FILE";
/// The path where the agent leaves its result or `attempt_completion`.
pub const RESULT_VARIABLE: &str = "ADJUTANT_RESULT_FILE";

/// File names and variables of a dialect that uses documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DialectFiles {
    /// The file name of the work order.
    pub order: &'static str,
    /// The variable that holds the path of the work order.
    pub variable: &'static str,
    /// The file name of the report.
    pub report: &'static str,
    pub kind: DocumentKind,
}

impl DialectFiles {
    /// Returns `None` for a dialect without documents.
    pub fn for_dialect(dialect: ProtocolDialect) -> Option<Self> {
        match dialect {
            ProtocolDialect::Mission => Some(Self {
                order: "mission.yaml",
                variable: MISSION_VARIABLE,
                report: "result.yaml",
                kind: DocumentKind::Result,
            }),
            ProtocolDialect::NewTask => Some(Self {
                order: "new_task.json",
                variable: NEW_TASK_VARIABLE,
                report: "attempt_completion.json",
                kind: DocumentKind::AttemptCompletion,
            }),
            ProtocolDialect::Aof | ProtocolDialect::Prompt => None,
        }
    }

    /// Returns the variables that hold the paths. `folder` is the attempt folder.
    pub fn variables(self, folder: &Path) -> [(String, String); 2] {
        let path = |name| folder.join(name).to_string_lossy().into_owned();
        [
            (self.variable.to_owned(), path(self.order)),
            (RESULT_VARIABLE.to_owned(), path(self.report)),
        ]
    }

    /// Returns which report file the shim must watch for.
    pub fn report(self) -> ReportSpec {
        ReportSpec { file: self.report.to_owned(), kind: self.kind.to_string() }
    }
}
