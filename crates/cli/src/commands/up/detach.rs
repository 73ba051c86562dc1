//! Starts a daemon in a session of its own, and waits until it is up.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use adjutant_runtime::config::Listen;
use adjutant_runtime::daemon::{Holder, NotHeld, Place};
use adjutant_runtime::door::Guest;
use serde_json::json;

use super::failure;
use crate::data::{Data, this_program};
use crate::error::Failure;
use crate::output::Output;

/// What the daemon says, in the data folder.
const LOG: &str = "daemon.log";

/// The log before it.
const LOG_BEFORE: &str = "daemon.log.1";

/// How long the log may be when a daemon is started; a longer one is put aside.
const LOG_BYTES_MAX: u64 = 10 << 20;

/// How often to look whether it is up.
const PAUSE: Duration = Duration::from_millis(20);

/// Starts a daemon, and returns when its door is open, or says why it is not.
pub(super) fn run(
    data: &Data,
    until_idle: bool,
    listen: Option<Listen>,
    out: &Output,
) -> Result<ExitCode, Failure> {
    let root = std::path::absolute(data.folder.root()).unwrap_or(data.folder.root().to_owned());
    if let Some(holder) = Holder::of(&root) {
        return Err(failure(&NotHeld::Taken(holder)));
    }
    let failed = |error| Failure::broken("cannot start a daemon", &error);
    let log = Log::open(&root).map_err(failed)?;
    let mut command = Command::new(this_program()?);
    command.args(["up", "--detached", "--data"]).arg(&root);
    if until_idle {
        command.arg("--until-idle");
    }
    match listen {
        Some(Listen::At(address)) => drop(command.args(["--listen", &address.to_string()])),
        Some(Listen::Off) => drop(command.args(["--listen", "off"])),
        None => {}
    }
    command.stdin(Stdio::null()).current_dir(&root);
    command.stdout(log.file.try_clone().map_err(failed)?);
    command.stderr(log.file.try_clone().map_err(failed)?);
    let mut daemon = command.spawn().map_err(failed)?;
    if !is_up(&mut daemon, &root).map_err(failed)? {
        return Err(log.why());
    }
    let (pid, log) = (daemon.id(), log.path.display().to_string());
    let place = Place::of(&root, pid);
    if out.is_json() {
        let (url, login) = place.map(|place| (place.url, place.login)).unzip();
        out.document(&json!({"up": root, "pid": pid, "log": log, "url": url, "login": login}))?;
    } else {
        out.line(&format!("up on {}, process {pid}", root.display()))?;
        if let Some(place) = place {
            out.line(&format!("sign in once at {}", place.login))?;
        }
        out.line(&format!("what it says is in {log}; `adjutant down` stops it"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Waits until a daemon is up, or has found nothing to do; says whether it did not fail.
fn is_up(daemon: &mut Child, root: &Path) -> io::Result<bool> {
    loop {
        if let Some(ended) = daemon.try_wait()? {
            return Ok(ended.success());
        }
        let holds = Holder::of(root).is_some_and(|holder| holder.pid == daemon.id());
        if holds && Guest::enter(root).is_some() {
            return Ok(true);
        }
        std::thread::sleep(PAUSE);
    }
}

/// The log, and where it ended when the daemon was started.
struct Log {
    path: PathBuf,
    file: File,
    before: u64,
}

impl Log {
    fn open(root: &Path) -> io::Result<Self> {
        let path = root.join(LOG);
        if path.metadata().is_ok_and(|log| log.len() > LOG_BYTES_MAX) {
            std::fs::rename(&path, root.join(LOG_BEFORE))?;
        }
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).create(true).mode(0o600).open(&path)?;
        let before = file.metadata()?.len();
        Ok(Self { path, file, before })
    }

    /// Returns what the daemon said before it failed.
    fn why(mut self) -> Failure {
        let mut text = String::new();
        // Without it, the failure has no cause to name.
        let _ = self
            .file
            .seek(SeekFrom::Start(self.before))
            .and_then(|_| self.file.read_to_string(&mut text));
        let words = text.lines().map(|line| {
            let line = line.trim_start();
            line.strip_prefix("error: ").or(line.strip_prefix("caused by: ")).unwrap_or(line)
        });
        Failure::broken_because("cannot start a daemon", words)
            .hint(format!("what it said is in {}", self.path.display()))
    }
}
