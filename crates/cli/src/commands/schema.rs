//! `adjutant schema`: the JSON Schema of a kind of document.

use std::process::ExitCode;

use crate::error::Failure;
use crate::output::Output;
use crate::schema::Kind;

/// Print the JSON Schema of a kind of document, or the description of the HTTP interface
#[derive(Debug, clap::Args)]
pub(crate) struct Schema {
    /// The kind of document
    #[arg(value_enum)]
    kind: Kind,
}

impl Schema {
    pub(crate) fn run(self, out: &Output) -> Result<ExitCode, Failure> {
        let schema = self.kind.schema();
        if out.is_json() {
            out.document(&schema)?;
        } else {
            out.line(&format!("{schema:#}"))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
