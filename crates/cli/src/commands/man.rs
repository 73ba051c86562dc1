//! `adjutant man`: the manual, from the help of the commands.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::CommandFactory;

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
        let command = Args::command();
        if let Some(dir) = self.dir {
            let failed =
                |error| Failure::broken(format!("cannot write to {}", dir.display()), &error);
            std::fs::create_dir_all(&dir).map_err(failed)?;
            clap_mangen::generate_to(command, &dir).map_err(failed)?;
            out.line(&format!("wrote the pages to {}", dir.display()))?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut text = Vec::new();
        clap_mangen::Man::new(command).render(&mut text)?;
        out.line(String::from_utf8_lossy(&text).trim_end())?;
        Ok(ExitCode::SUCCESS)
    }
}
