//! `adjutant init`: makes a data folder.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use adjutant_store::file::Folder;
use serde_json::json;

use crate::config;
use crate::error::Failure;
use crate::output::Output;

/// Make a data folder: DIR/.adjutant
#[derive(Debug, clap::Args)]
pub(crate) struct Init {
    /// The project it is for
    #[arg(default_value = ".")]
    dir: PathBuf,
}

impl Init {
    pub(crate) fn run(self, data: Option<&Path>, out: &Output) -> Result<ExitCode, Failure> {
        if data.is_some_and(|data| *data != self.dir.join(adjutant_store::file::DATA_FOLDER)) {
            let hint = "`adjutant init DIR` makes DIR/.adjutant";
            return Err(Failure::usage("init takes a project folder, not --data").hint(hint));
        }
        let folder = Folder::init(&self.dir)?;
        let path = folder.root().join(config::FILE);
        std::fs::write(&path, config::TEMPLATE)
            .map_err(|error| Failure::broken(format!("cannot write {}", path.display()), &error))?;
        let root = folder.root().display().to_string();
        if out.is_json() {
            out.document(&json!({ "data": root }))?;
        } else {
            out.line(&format!("made {root}"))?;
            out.line("next: `adjutant task add TITLE`, then `adjutant task list`")?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
