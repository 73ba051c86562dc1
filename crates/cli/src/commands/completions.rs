//! `adjutant completions`: what a shell needs to complete commands.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Args;
use crate::error::Failure;
use crate::output::Output;

/// Print what a shell needs to complete commands
#[derive(Debug, clap::Args)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, out: &Output) -> Result<ExitCode, Failure> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut Args::command(), "adjutant", &mut text);
        out.text("script", String::from_utf8_lossy(&text).trim_end())?;
        Ok(ExitCode::SUCCESS)
    }
}
