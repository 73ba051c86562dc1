//! `adjutant story status`: where a story stands, and what changed since it began.

use std::process::ExitCode;

use adjutant_runtime::story::changes;
use serde_json::{Value, json};

use super::{Which, failure, line};
use crate::error::Failure;
use crate::output::{Output, clean};

/// Show where a story stands, and what changed since it began
#[derive(Debug, clap::Args)]
pub(crate) struct Status {
    #[command(flatten)]
    pub(super) which: Which,
}

impl Status {
    pub(crate) fn run(self, out: &Output) -> Result<ExitCode, Failure> {
        let project = self.which.place.open()?;
        let (answer, file) = project.status(self.which.story().as_ref()).map_err(failure)?;
        let base = file.extra("base_commit").and_then(Value::as_str);
        let changed = base.and_then(|base| changes::since(project.folder().root(), base));
        if out.is_json() {
            let mut document = answer.json();
            let changed = changed.map(|it| json!({"files": it.files, "stat": it.stat}));
            document["changed"] = json!(changed);
            out.document(&document)?;
            return Ok(ExitCode::SUCCESS);
        }
        answer.warnings.iter().for_each(|warning| out.warn(warning));
        line(out, &answer)?;
        if let Some(tests) = answer.state.tests {
            let (pass, fail, skip) = (tests.pass, tests.fail, tests.skip);
            out.line(&format!("tests: {pass} passed, {fail} failed, {skip} skipped"))?;
        }
        for test in &answer.state.failing_tests {
            out.line(&format!("  fails: {}", clean(test)))?;
        }
        if let Some(error) = &answer.state.last_error {
            out.line(&format!("last error: {}", clean(error)))?;
        }
        if let Some(changed) = changed {
            out.line(&format!("since it began: {}", clean(&changed.stat)))?;
            for file in changed.files {
                out.line(&format!("  {}", clean(&file)))?;
            }
        }
        out.line(&clean(&answer.caller_instruction()))?;
        Ok(ExitCode::SUCCESS)
    }
}
