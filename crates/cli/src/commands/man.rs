//! `adjutant man`: makes manual pages from the help of the commands.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::CommandFactory;
use serde_json::json;

use crate::commands::args::Args;
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Print the manual page, or write one for every command
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant man | man -l -
  adjutant man --dir ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Write a page for every command into this folder
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl ManArgs {
    pub(crate) fn run(self, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
        if let Some(dir) = self.dir {
            write_pages(&dir, out)?;
        } else {
            let mut text = Vec::new();
            clap_mangen::Man::new(Args::command()).render(&mut text)?;
            out.text("page", String::from_utf8_lossy(&text).trim_end())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn write_pages(dir: &Path, out: &CommandOutput) -> Result<(), CommandFailure> {
    let failed =
        |error| CommandFailure::broken(format!("cannot write to {}", dir.display()), &error);
    std::fs::create_dir_all(dir).map_err(failed)?;
    clap_mangen::generate_to(Args::command(), dir).map_err(failed)?;
    if out.is_json() {
        return out.document(&json!({ "dir": dir.display().to_string() }));
    }
    out.line(&format!("wrote a page for every command to {}", dir.display()))
}
