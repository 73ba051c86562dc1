//! `adjutant why`: explains why a task does not run.

use std::process::ExitCode;

use adjutant_query::why::WhyView;

use crate::data::ProjectData;
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Explain why a task is not running
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant why 042")]
pub(crate) struct WhyArgs {
    /// The id of the task
    id: String,
}

impl WhyArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        let id = data.task_id(&self.id)?;
        let why = WhyView::new(&data.load_fleet_world(out)?, &id)?;
        if out.is_json() {
            out.document(&why)?;
            return Ok(ExitCode::SUCCESS);
        }
        for note in why.notes {
            out.line(&crate::output::clean(&note))?;
        }
        if why.runnable {
            out.line("Nothing holds it back: it will start at the next scheduler run.")?;
        }
        for hold in why.reasons {
            out.line(&crate::output::clean(&hold.text))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
