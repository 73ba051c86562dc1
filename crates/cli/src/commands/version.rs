//! `adjutant version`: prints the version of this program.

use std::process::ExitCode;

use serde_json::json;

use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Print the version of this program
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant version
  adjutant version --json")]
pub(crate) struct VersionArgs {}

impl VersionArgs {
    #[expect(clippy::unused_self, reason = "it is called like every other command")]
    pub(crate) fn run(self, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
        let version = env!("CARGO_PKG_VERSION");
        if out.is_json() {
            out.document(&json!({ "version": version }))?;
        } else {
            out.line(&format!("adjutant {version}"))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
