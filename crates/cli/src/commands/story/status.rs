//! `adjutant story status`: shows the position of a story and the changes since it began.

use std::process::ExitCode;

use adjutant_stories::changes;
use serde_json::json;

use super::{StorySelectionArgs, line, to_failure};
use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, clean, clean_lines};

/// Show the step, tests and changes of a story
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant story status --story US-005")]
pub(crate) struct StoryStatusArgs {
    #[command(flatten)]
    pub(super) which: StorySelectionArgs,
}

impl StoryStatusArgs {
    pub(crate) fn run(self, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
        let project = self.which.place.open()?;
        let (answer, file) =
            project.status(self.which.named_story().as_ref()).map_err(to_failure)?;
        let changed = file
            .base_commit()
            .and_then(|base| changes::changes_since(project.folder().root(), base));
        if out.is_json() {
            let mut document = answer.to_json();
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
            out.line(&format!("changed since it began: {}", clean(&changed.stat)))?;
            for file in changed.files {
                out.line(&format!("  {}", clean(&file)))?;
            }
        }
        out.line(&clean_lines(&answer.caller_instruction()))?;
        Ok(ExitCode::SUCCESS)
    }
}
