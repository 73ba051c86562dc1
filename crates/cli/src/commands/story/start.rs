//! `adjutant story start`: begins a story.

use std::path::Path;
use std::process::ExitCode;

use adjutant_core::pipeline::StoryId;
use adjutant_runtime::story::Drive;

use super::{InProject, auto, board, failure, persons_only, print, story};
use crate::error::Failure;
use crate::output::Output;

/// Begin a story
#[derive(Debug, clap::Args)]
pub(crate) struct Start {
    /// The story, as US-005
    #[arg(value_parser = story)]
    id: StoryId,
    /// A story that must be done before this one goes on
    #[arg(long, value_name = "ID", value_parser = story)]
    blocked_by: Vec<StoryId>,
    /// Have agents do its steps
    #[arg(long)]
    auto: bool,
    /// Begin anew, be it running or done
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    pub(super) place: InProject,
}

impl Start {
    pub(crate) fn run(self, data: Option<&Path>, out: &Output) -> Result<ExitCode, Failure> {
        persons_only("cannot start the story")?;
        let project = self.place.open()?;
        if self.auto {
            let found = board::of(&project, data)?.ok_or_else(|| auto::no_board(&project))?;
            auto::agent(None, &found)?;
        }
        let answer = project.start(&self.id, &self.blocked_by, self.force).map_err(failure)?;
        if self.auto {
            project.drive(Some(&self.id), &Drive::Agents(None)).map_err(failure)?;
        }
        print(out, &answer, "cannot start the story")
    }
}
