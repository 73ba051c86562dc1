//! `adjutant story start`: starts a story.

use std::path::Path;
use std::process::ExitCode;

use adjutant_model::story::StoryId;
use adjutant_query::story::configured_agent;
use adjutant_stories::StoryAutomation;

use super::{StoryProjectArgs, auto, board_sync, print, story, to_failure};
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Start a story
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant story start US-005
  adjutant story start US-006 --blocked-by US-005 --auto")]
pub(crate) struct StoryStartArgs {
    /// The id of the story, e.g. US-005
    #[arg(value_parser = story)]
    id: StoryId,
    /// A story that must be done first; may be repeated
    #[arg(long, value_name = "ID", value_parser = story)]
    blocked_by: Vec<StoryId>,
    /// Let agents do the steps
    #[arg(long)]
    auto: bool,
    /// Start again from the first step, even if the story is running or done
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    pub(super) place: StoryProjectArgs,
}

impl StoryStartArgs {
    pub(crate) fn run(
        self,
        data: Option<&Path>,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        let project = self.place.open()?;
        if self.auto {
            let root = project.folder().root();
            let data = board_sync::find_data(root, data)?
                .ok_or_else(|| auto::missing_data_folder(root))?;
            configured_agent(data.config(), None)?;
            project.require_accepted_commands().map_err(to_failure)?;
        }
        let answer = project.start(&self.id, &self.blocked_by, self.force).map_err(to_failure)?;
        if self.auto {
            project
                .set_automation(Some(&self.id), &StoryAutomation::Agents(None))
                .map_err(to_failure)?;
        }
        print(out, &answer, "cannot start the story")
    }
}
