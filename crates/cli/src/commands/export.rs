//! `adjutant export`: writes the project into one file.

use std::fs::{self, OpenOptions};
use std::io::{BufWriter, Write};
use std::iter;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use adjutant_core::command::Chore;
use adjutant_runtime::config::{Config, FILE};
use adjutant_runtime::secretive::masked;
use adjutant_store::file::{Packed, stays};
use serde_json::json;

use crate::data::Data;
use crate::error::Failure;
use crate::output::Output;

/// Write the project into one file: tasks, runs and the record
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The file is a tar archive of tasks, runs, the record, what epics remember, what was \
                  put aside, and adjutant.toml. Whatever else lies in the data folder stays on this \
                  machine: keys and credentials, work trees, the journal, the log of the daemon."
)]
pub(crate) struct Export {
    /// The file to make; one that is there already stays as it is
    file: PathBuf,
}

impl Export {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        data.permit(Chore::Export, "cannot export the project", out)?;
        let packed = write(data, &self.file)?;
        let (version, files) = (packed.version.0, packed.files);
        let warnings = warnings(data)?;
        for warning in &warnings {
            out.warn(warning);
        }
        if out.is_json() {
            let file = self.file.display().to_string();
            let done = json!({
                "file": file, "version": version, "files": files, "warnings": warnings,
            });
            out.document(&done)?;
        } else {
            out.line(&format!("wrote {files} files into {}", self.file.display()))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Says what whoever hands the archive on should know, and what they may miss in it.
fn warnings(data: &Data) -> Result<Vec<String>, Failure> {
    let left = stays(&data.folder)?;
    let left = (!left.is_empty())
        .then(|| format!("{} stayed here, as what is not the project's does", left.join(", ")));
    let settings = fs::read_to_string(data.folder.root().join(FILE)).unwrap_or_default();
    Ok(given_away(&settings).into_iter().chain(left).collect())
}

/// Says what lets anybody in and stands in the settings, which go along as they are.
fn given_away(settings: &str) -> Option<String> {
    let config = Config::read(settings, iter::empty()).ok()?;
    let held = if config.store.is_some_and(|store| store.contains('@')) {
        "the password of `store`"
    } else if config.notify.iter().any(|rule| rule.url.is_some()) {
        "the address of a webhook"
    } else if masked(settings) != settings {
        "something that looks like a secret"
    } else {
        return None;
    };
    Some(format!("{FILE} is in the archive, and {held} is in it: keep it to yourself"))
}

/// The file has its name only when it is whole.
fn write(data: &Data, file: &Path) -> Result<Packed, Failure> {
    let cannot =
        |error: std::io::Error| Failure::broken(format!("cannot write {}", file.display()), &error);
    if file.symlink_metadata().is_ok() {
        return Err(Failure::exists(format!("{} is there already", file.display())));
    }
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let new = file.with_file_name(name);
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new);
    let mut to = BufWriter::new(made.map_err(cannot)?);
    let packed = data
        .engine()
        .and_then(|mut engine| Ok(engine.in_step(|store, world| store.pack_into(world, &mut to))?));
    let synced = to.flush().and_then(|()| to.get_ref().sync_all());
    // A link fails where a file is, and a rename would write over it.
    let named = synced.and_then(|()| fs::hard_link(&new, file));
    let done = packed.and_then(|packed| named.map(|()| packed).map_err(cannot));
    let _ = fs::remove_file(&new);
    done
}
