//! `adjutant import`: creates a data folder from an exported project.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use adjutant_store::file::{DATA_FOLDER, unpack};
use serde_json::json;

use crate::data::{ProjectData, data_folder_from_env};
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Create a data folder from an exported project: DIR/.adjutant
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant import shop.tar             create .adjutant in this folder
  adjutant import shop.tar ~/src/shop  create it in another folder")]
pub(crate) struct ImportArgs {
    /// The file that `adjutant export` wrote
    file: PathBuf,
    /// The project's folder [default: this one]
    dir: Option<PathBuf>,
}

impl ImportArgs {
    pub(crate) fn run(
        self,
        named: Option<&Path>,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        let root = target_folder(self.dir, named)?;
        let file = File::open(&self.file).map_err(|error| {
            CommandFailure::broken(format!("cannot read {}", self.file.display()), &error)
        })?;
        let (folder, packed) = unpack(BufReader::new(file), &root)?;
        let root = std::path::absolute(folder.root()).unwrap_or(folder.root().to_owned());
        let (root, version, files) = (root.display().to_string(), packed.version.0, packed.files);
        if out.is_json() {
            out.document(&json!({ "data": root, "version": version, "files": files }))?;
        } else {
            out.line(&format!("created {root} from {files} files"))?;
            let data = ProjectData::find_unaccepted(Some(folder.root()));
            if data.is_ok_and(|data| !data.unaccepted().is_empty()) {
                out.line(
                    "its configuration is not accepted: `adjutant trust` shows and accepts it",
                )?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the folder to create. A project given as DIR takes precedence over `ADJUTANT_DATA`.
fn target_folder(dir: Option<PathBuf>, named: Option<&Path>) -> Result<PathBuf, CommandFailure> {
    match (dir, named) {
        (Some(dir), None) => Ok(dir.join(DATA_FOLDER)),
        (Some(_), Some(_)) => Err(CommandFailure::report_usage_error(
            "DIR and --data cannot both be given",
        )
        .with_hint(
            "`adjutant import FILE DIR` creates DIR/.adjutant, `adjutant import FILE --data DIR` creates DIR",
        )),
        (None, Some(data)) => Ok(data.to_owned()),
        (None, None) => Ok(data_folder_from_env().unwrap_or_else(|| DATA_FOLDER.into())),
    }
}
