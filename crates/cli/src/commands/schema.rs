//! `adjutant schema`: prints the JSON Schema of a kind of document.

use std::process::ExitCode;

use crate::output::CommandOutput;
use crate::output::error::CommandFailure;
use crate::schema::SchemaKind;

/// Print the JSON Schema of a document, or the `OpenAPI` document of the HTTP API
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant schema config                  every setting of adjutant.toml
  adjutant schema openapi > openapi.json  the HTTP API, for a client generator")]
pub(crate) struct SchemaArgs {
    /// The kind of document
    #[arg(value_enum)]
    kind: SchemaKind,
}

impl SchemaArgs {
    pub(crate) fn run(self, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
        let schema = self.kind.schema();
        if out.is_json() {
            out.document(&schema)?;
        } else {
            out.line(&format!("{schema:#}"))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
