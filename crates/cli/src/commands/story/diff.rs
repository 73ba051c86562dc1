//! `adjutant story diff`: shows what changed since a story began.

use std::process::ExitCode;

use adjutant_stories::changes;
use serde_json::json;

use super::{StorySelectionArgs, to_failure};
use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, clean_lines};

/// Show what changed since a story began
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant story diff --story US-005")]
pub(crate) struct StoryDiffArgs {
    #[command(flatten)]
    pub(super) which: StorySelectionArgs,
}

impl StoryDiffArgs {
    pub(crate) fn run(self, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
        let project = self.which.place.open()?;
        let story = self.which.named_story();
        let (answer, file) = project.status(story.as_ref()).map_err(to_failure)?;
        let root = project.folder().root();
        let base = file.base_commit();
        let changed = base.and_then(|base| changes::changes_since(root, base));
        let patch = base.and_then(|base| changes::patch_since(root, base));
        let (Some(changed), Some(patch)) = (changed, patch) else {
            return Err(CommandFailure::story_refused(
                "no_base_commit",
                "cannot show the changes",
                "git does not know the commit at which the story began",
            ));
        };
        if out.is_json() {
            let mut document = answer.to_json();
            document["changed"] = json!({"files": changed.files, "stat": changed.stat});
            document["diff"] = json!(patch);
            out.document(&document)?;
            return Ok(ExitCode::SUCCESS);
        }
        for file in &changed.files {
            out.line(&clean_lines(file))?;
        }
        out.line(&format!("\n{}", clean_lines(&patch)))?;
        Ok(ExitCode::SUCCESS)
    }
}
