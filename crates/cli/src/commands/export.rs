//! `adjutant export`: writes the project into one archive file, with secrets redacted.

use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use adjutant_config::redact::{RedactionScope, SecretRedactor};
use adjutant_model::command::OperatorAction;
use adjutant_store::archive_summary::ArchiveSummary;
use adjutant_store::file::{RedactedFile, files_not_exported, redact_archive};
use serde_json::{Value, json};

use crate::data::ProjectData;
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Export the project to one file: tasks, runs and the event log
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The file is a tar archive of tasks, runs, the event log, the memory of epics, lost+found and \
adjutant.toml. Not exported are the files of this machine: keys, credentials, worktrees, the \
journal and the log of the daemon.

Secrets are redacted in every file: those of Adjutant and its configuration, and what looks like \
a key, a password or the address of a webhook. The command lists the files in which something was \
redacted; the project itself is not changed.

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
        let (packed, redacted) = write_archive(data, &self.file)?;
        let left_out = files_not_exported(&data.folder)?;
        let warnings = archive_warnings(&left_out, &redacted);
        for warning in &warnings {
            out.warn(warning);
        }
        let (version, files) = (packed.version.0, packed.files);
        if out.is_json() {
            let file = self.file.display().to_string();
            let counts = |file: &RedactedFile| json!({"file": file.path, "count": file.count});
            let redacted: Vec<Value> = redacted.iter().map(counts).collect();
            let done = json!({
                "file": file, "version": version, "files": files, "leftOut": left_out,
                "redacted": redacted, "warnings": warnings,
            });
            out.document(&done)?;
        } else {
            out.line(&format!("exported {files} files to {}", self.file.display()))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Names the files that the archive leaves out, and those in which secrets were redacted.
fn archive_warnings(left_out: &[String], redacted: &[RedactedFile]) -> Vec<String> {
    let left_out = (!left_out.is_empty())
        .then(|| format!("not exported, because not part of the project: {}", left_out.join(", ")));
    let redacted = redacted.iter().map(|file| match file.count {
        1 => format!("1 secret was redacted in {}", file.path),
        count => format!("{count} secrets were redacted in {}", file.path),
    });
    redacted.chain(left_out).collect()
}

/// Redacts a file of the archive. In a file that is no text, only known values are.
fn redact_file(redactor: &SecretRedactor, bytes: &[u8]) -> Option<(Vec<u8>, u64)> {
    let is_text = !bytes.contains(&0);
    let scope = if is_text { RedactionScope::LookAlikes } else { RedactionScope::KnownValues };
    redactor.redact_file(bytes, scope)
}

/// Writes to a temporary name first, so that the file has its name only when it is complete.
fn write_archive(
    data: &ProjectData,
    file: &Path,
) -> Result<(ArchiveSummary, Vec<RedactedFile>), CommandFailure> {
    let attempt = || format!("cannot write {}", file.display());
    let cannot = |error: std::io::Error| CommandFailure::broken(attempt(), &error);
    if file.symlink_metadata().is_ok() {
        return Err(CommandFailure::exists(format!("{} already exists", file.display())));
    }
    let (new, packed) = (TemporaryFile::create(file, "new"), TemporaryFile::create(file, "packed"));
    let (new, mut packed) = (new.map_err(cannot)?, packed.map_err(cannot)?);
    let summary = data.export(&mut BufWriter::new(&packed.file))?;
    packed.file.seek(SeekFrom::Start(0)).map_err(cannot)?;
    let redactor = data.redactor();
    let mut to = BufWriter::new(&new.file);
    let redact = |bytes: &[u8]| redact_file(&redactor, bytes);
    let redacted = redact_archive(BufReader::new(&packed.file), &mut to, &redact)
        .map_err(|error| CommandFailure::broken(attempt(), &error))?;
    to.flush().and_then(|()| new.file.sync_all()).map_err(cannot)?;
    // A hard link fails if the file exists, whereas a rename would overwrite it.
    fs::hard_link(&new.path, file).map_err(cannot)?;
    Ok((summary, redacted))
}

/// A file beside another one that is removed at the end.
struct TemporaryFile {
    file: File,
    path: PathBuf,
}

impl TemporaryFile {
    fn create(beside: &Path, ending: &str) -> std::io::Result<Self> {
        let mut name = beside.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.{ending}", std::process::id()));
        let path = beside.with_file_name(name);
        let mut options = OpenOptions::new();
        let made = options.read(true).write(true).create_new(true).mode(0o600).open(&path);
        Ok(Self { file: made?, path })
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
