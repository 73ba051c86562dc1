//! `adjutant import`: makes a data folder of an exported project.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use adjutant_store::file::{DATA_FOLDER, unpack};
use serde_json::json;

use crate::data::from_environment;
use crate::error::Failure;
use crate::output::Output;

/// Make a data folder of an exported project: DIR/.adjutant
#[derive(Debug, clap::Args)]
pub(crate) struct Import {
    /// The file that `adjutant export` made
    file: PathBuf,
    /// The folder of the project [default: this one]
    dir: Option<PathBuf>,
}

impl Import {
    pub(crate) fn run(self, named: Option<&Path>, out: &Output) -> Result<ExitCode, Failure> {
        let root = root(self.dir, named)?;
        let file = File::open(&self.file).map_err(|error| {
            Failure::broken(format!("cannot read {}", self.file.display()), &error)
        })?;
        let (folder, packed) = unpack(BufReader::new(file), &root)?;
        let root = std::path::absolute(folder.root()).unwrap_or(folder.root().to_owned());
        let (root, version, files) = (root.display().to_string(), packed.version.0, packed.files);
        if out.is_json() {
            out.document(&json!({ "data": root, "version": version, "files": files }))?;
        } else {
            out.line(&format!("made {root} of {files} files"))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A project that is named counts more than a data folder that the environment names.
fn root(dir: Option<PathBuf>, named: Option<&Path>) -> Result<PathBuf, Failure> {
    match (dir, named) {
        (Some(dir), None) => Ok(dir.join(DATA_FOLDER)),
        (Some(_), Some(_)) => Err(Failure::usage("DIR and --data cannot both be given").hint(
            "`adjutant import FILE DIR` makes DIR/.adjutant, `adjutant import FILE --data DIR` DIR",
        )),
        (None, Some(data)) => Ok(data.to_owned()),
        (None, None) => Ok(from_environment().unwrap_or_else(|| DATA_FOLDER.into())),
    }
}
