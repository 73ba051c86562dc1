//! `adjutant man`: the manual, from the help of the commands.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::CommandFactory;
use serde_json::json;

use crate::args::Args;
use crate::error::Failure;
use crate::output::Output;

/// Print the manual page, or write one for every command
#[derive(Debug, clap::Args)]
pub(crate) struct Man {
    /// Write a page for every command into this folder
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(self, out: &Output) -> Result<ExitCode, Failure> {
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

fn write_pages(dir: &Path, out: &Output) -> Result<(), Failure> {
    let failed = |error| Failure::broken(format!("cannot write to {}", dir.display()), &error);
    std::fs::create_dir_all(dir).map_err(failed)?;
    clap_mangen::generate_to(Args::command(), dir).map_err(failed)?;
    if out.is_json() {
        return out.document(&json!({ "dir": dir.display().to_string() }));
    }
    out.line(&format!("wrote a page for every command to {}", dir.display()))
}
