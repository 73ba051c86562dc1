//! Starts a daemon in the background and waits until it is up.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use adjutant_daemon::{DaemonInfo, DaemonLockError, HttpEndpointFile};
use adjutant_engine::ipc::IpcClient;
use serde_json::json;

use super::lock_failure;
use crate::data::{ProjectData, this_program};
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// The daemon's output, in the data folder.
const LOG: &str = "daemon.log";

/// The previous log, kept when a log grew too large.
const LOG_BEFORE: &str = "daemon.log.1";

/// A log larger than this is renamed when a daemon starts.
const LOG_BYTES_MAX: u64 = 10 << 20;

/// The interval between two checks whether the daemon is up.
const PAUSE: Duration = Duration::from_millis(20);

/// Starts a daemon and returns once it accepts connections, or with the reason why it failed.
pub(super) fn run(
    data: &ProjectData,
    args: &[String],
    out: &CommandOutput,
) -> Result<ExitCode, CommandFailure> {
    let root = std::path::absolute(data.folder.root()).unwrap_or(data.folder.root().to_owned());
    if let Some(holder) = DaemonInfo::find_running(&root) {
        return Err(lock_failure(&DaemonLockError::Taken(holder)));
    }
    let failed = |error| CommandFailure::broken("cannot start a daemon", &error);
    let log = DaemonLogFile::open(&root).map_err(failed)?;
    let mut command = Command::new(this_program()?);
    command.args(["up", "--detached", "--data"]).arg(&root).args(args);
    command.stdin(Stdio::null()).current_dir(&root);
    command.stdout(log.file.try_clone().map_err(failed)?);
    command.stderr(log.file.try_clone().map_err(failed)?);
    let mut daemon = command.spawn().map_err(failed)?;
    if !wait_until_up(&mut daemon, &root).map_err(failed)? {
        return Err(log.start_failure());
    }
    let (pid, log) = (daemon.id(), log.path.display().to_string());
    let place = HttpEndpointFile::read(&root, pid);
    if out.is_json() {
        let (url, login) = place.map(|place| (place.url, place.login)).unzip();
        out.document(&json!({"up": root, "pid": pid, "log": log, "url": url, "login": login}))?;
    } else {
        out.line(&format!("the daemon is up on {}, process {pid}", root.display()))?;
        if let Some(place) = place {
            out.line(&format!("the board, with a link that works once: {}", place.login))?;
        }
        out.line(&format!("its log is {log}; `adjutant down` stops it"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Waits until the daemon accepts connections or has ended. Returns false if it failed.
fn wait_until_up(daemon: &mut Child, root: &Path) -> io::Result<bool> {
    loop {
        if let Some(ended) = daemon.try_wait()? {
            return Ok(ended.success());
        }
        let holds = DaemonInfo::find_running(root).is_some_and(|holder| holder.pid == daemon.id());
        if holds && IpcClient::connect(root).is_some() {
            return Ok(true);
        }
        std::thread::sleep(PAUSE);
    }
}

/// The log file; `before` is its length when the daemon was started.
struct DaemonLogFile {
    path: PathBuf,
    file: File,
    start_offset: u64,
}

impl DaemonLogFile {
    fn open(root: &Path) -> io::Result<Self> {
        let path = root.join(LOG);
        if path.metadata().is_ok_and(|log| log.len() > LOG_BYTES_MAX) {
            std::fs::rename(&path, root.join(LOG_BEFORE))?;
        }
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).create(true).mode(0o600).open(&path)?;
        let before = file.metadata()?.len();
        Ok(Self { path, file, start_offset: before })
    }

    /// Returns a failure with the output of the daemon as its causes.
    fn start_failure(mut self) -> CommandFailure {
        let mut text = String::new();
        // If the log cannot be read, the failure has no cause.
        let _ = self
            .file
            .seek(SeekFrom::Start(self.start_offset))
            .and_then(|_| self.file.read_to_string(&mut text));
        let words = text.lines().map(|line| {
            let line = line.trim_start();
            line.strip_prefix("error: ").or(line.strip_prefix("caused by: ")).unwrap_or(line)
        });
        CommandFailure::broken_because("cannot start a daemon", words)
            .with_hint(format!("its log is {}", self.path.display()))
    }
}
