//! `adjutant schema`: the JSON Schema of a kind of document.

use std::process::ExitCode;

use crate::error::Failure;
use crate::output::Output;

/// Print the JSON Schema of a kind of document
#[derive(Debug, clap::Args)]
pub(crate) struct Schema {
    /// The kind
    #[arg(value_enum)]
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// An AOF/1 message
    Envelope,
}

impl Schema {
    pub(crate) fn run(self, _: &Output) -> Result<ExitCode, Failure> {
        Err(Failure::usage(format!("{:?}", self.kind)))
    }
}
