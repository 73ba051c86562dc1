//! `adjutant export`: writes the project into one archive file.

use std::fs::{self, OpenOptions};
use std::io::{BufWriter, Write};
use std::iter;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use adjutant_config::redact::redact_text;
use adjutant_config::{Config, FILE};
use adjutant_model::command::OperatorAction;
use adjutant_store::archive_summary::ArchiveSummary;
use adjutant_store::file::files_not_exported;
use serde_json::json;

use crate::data::ProjectData;
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Export the project to one file: tasks, runs and the event log
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The file is a tar archive of tasks, runs, the event log, the memory of epics, lost+found and \
adjutant.toml. Not exported are the files of this machine: keys, credentials, worktrees, the \
journal and the log of the daemon.

Examples:
  adjutant export shop.tar")]
pub(crate) struct ExportArgs {
    /// The file to create; an existing file is not overwritten
    file: PathBuf,
}

impl ExportArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        data.require_operator(OperatorAction::Export, "cannot export the project", out)?;
        let packed = write_archive(data, &self.file)?;
        let (version, files) = (packed.version.0, packed.files);
        let warnings = archive_warnings(data)?;
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
            out.line(&format!("exported {files} files to {}", self.file.display()))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns warnings about secrets in the archive and about files that it leaves out.
fn archive_warnings(data: &ProjectData) -> Result<Vec<String>, CommandFailure> {
    let left = files_not_exported(&data.folder)?;
    let left = (!left.is_empty())
        .then(|| format!("not exported, because not part of the project: {}", left.join(", ")));
    let settings = fs::read_to_string(data.folder.root().join(FILE)).unwrap_or_default();
    Ok(secret_warning(&settings).into_iter().chain(left).collect())
}

/// Warns if the settings, which are archived unchanged, contain a secret.
fn secret_warning(settings: &str) -> Option<String> {
    let config = Config::read(settings, iter::empty()).ok()?;
    let held = if config.store.is_some_and(|store| store.contains('@')) {
        "the password of `store`"
    } else if config.notify.iter().any(|rule| rule.url.is_some()) {
        "the address of a webhook"
    } else if redact_text(settings) != settings {
        "something that looks like a secret"
    } else {
        return None;
    };
    Some(format!("the archive contains {FILE} with {held}: do not share it"))
}

/// Writes to a temporary name first, so that the file has its name only when it is complete.
fn write_archive(data: &ProjectData, file: &Path) -> Result<ArchiveSummary, CommandFailure> {
    let cannot = |error: std::io::Error| {
        CommandFailure::broken(format!("cannot write {}", file.display()), &error)
    };
    if file.symlink_metadata().is_ok() {
        return Err(CommandFailure::exists(format!("{} already exists", file.display())));
    }
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let new = file.with_file_name(name);
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new);
    let mut to = BufWriter::new(made.map_err(cannot)?);
    let packed = data.export(&mut to);
    let synced = to.flush().and_then(|()| to.get_ref().sync_all());
    // A hard link fails if the file exists, whereas a rename would overwrite it.
    let named = synced.and_then(|()| fs::hard_link(&new, file));
    let done = packed.and_then(|packed| named.map(|()| packed).map_err(cannot));
    let _ = fs::remove_file(&new);
    done
}
