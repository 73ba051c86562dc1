//! `adjutant story list`: where every story stands.

use std::process::ExitCode;

use adjutant_runtime::story::Answer;
use serde_json::Value;

use super::{InProject, failure, line, warn_of_broken};
use crate::error::Failure;
use crate::output::Output;

/// Show where every story stands
#[derive(Debug, clap::Args)]
pub(crate) struct List {
    #[command(flatten)]
    place: InProject,
}

impl List {
    pub(crate) fn run(self, out: &Output) -> Result<ExitCode, Failure> {
        let project = self.place.open()?;
        let answers = project.list().map_err(failure)?;
        warn_of_broken(&project, out)?;
        if out.is_json() {
            out.document(&Value::Array(answers.iter().map(Answer::json).collect()))?;
        } else {
            answers.iter().try_for_each(|answer| line(out, answer))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
