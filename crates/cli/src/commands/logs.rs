//! `adjutant logs`: shows and follows the output of an agent.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use adjutant_model::{Task, TaskId};
use adjutant_query::run_log::{find_attempt, open_if_exists};
use adjutant_run_files::attempt_files::{AttemptFolder, LOG, ROTATED_LOG};
use adjutant_runs::supervisor::{LocalRunState, local_run_state};
use adjutant_store::FleetNetwork;
use serde_json::json;

use crate::data::ProjectData;
use crate::fleet_connection;
use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, clean_lines};

/// Show the output of the agent that worked on a task
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant logs 042 --follow     print the output as it comes
  adjutant logs 042 --attempt 1  print the output of the first attempt")]
pub(crate) struct LogsArgs {
    /// The id of the task
    id: String,
    /// Print new output as it comes, until the run has ended
    #[arg(long, short)]
    follow: bool,
    /// Show the output of this attempt [default: the last]
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
}

/// The interval between two reads with `--follow`.
const PAUSE: Duration = Duration::from_millis(100);

/// The interval between two reads of a log on another node.
const REMOTE_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// How long a run may take until its shim is known.
const SHIM_START_TIMEOUT: Duration = Duration::from_secs(10);

impl LogsArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        let id = data.task_id(&self.id)?;
        let (attempt, folder) = match find_attempt(&data.folder, &id, self.attempt) {
            Err(_) if data.is_in_fleet() => return self.show_remote(data, &id, out),
            found => found?,
        };
        let failed = |error| CommandFailure::broken(format!("cannot read the log of {id}"), &error);
        let mut log = RunLogReader::open_if_exists(&folder).map_err(failed)?;
        let mut print = LogPrinter { out, attempt, pending: Vec::new() };
        let began = Instant::now();
        loop {
            // Ask before reading: when a run is over, all of its output is in the log.
            let over = !self.follow || is_over(&folder, began).map_err(failed)?;
            while let Some(bytes) = log.next_chunk().map_err(failed)? {
                print.push(&bytes)?;
            }
            if over {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        print.flush()?;
        Ok(ExitCode::SUCCESS)
    }

    /// Shows the log of a run on another node of the fleet.
    fn show_remote(
        &self,
        data: &ProjectData,
        id: &TaskId,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        let known = data.load_world(out)?.task(id).cloned();
        let known = known.ok_or_else(|| CommandFailure::not_found(id, "cannot show the log"))?;
        let Some(attempt) = self.attempt.or(known.attempt()) else {
            let attempt = format!("cannot show the log of {id}");
            return Err(CommandFailure::no_log(attempt, "no agent has worked on it")
                .with_hint(format!("`adjutant why {id}` says why it does not start")));
        };
        let servers = fleet_connection::connect(&data.folder, data.config())?;
        let net: &dyn FleetNetwork = &servers;
        let mut print = LogPrinter { out, attempt, pending: Vec::new() };
        let mut from = 0;
        loop {
            let task = data.load_world(out)?.task(id).cloned();
            let is_open =
                |task: &Task| task.history.open.as_ref().is_some_and(|run| run.attempt == attempt);
            let over = !self.follow || !task.as_ref().is_some_and(is_open);
            let (at, bytes) = net.read_log(id, attempt, from)?;
            print.push(&bytes)?;
            from = at + bytes.len() as u64;
            if over {
                break;
            }
            std::thread::sleep(REMOTE_POLL_INTERVAL);
        }
        print.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}

fn is_over(folder: &AttemptFolder, began: Instant) -> io::Result<bool> {
    Ok(match local_run_state(folder)? {
        LocalRunState::Alive => false,
        LocalRunState::Unknown => began.elapsed() > SHIM_START_TIMEOUT,
        LocalRunState::Gone | LocalRunState::Over => true,
    })
}

/// The log of a run, which may be rotated while it is read.
struct RunLogReader {
    path: PathBuf,
    files: VecDeque<File>,
}

impl RunLogReader {
    /// Opens the current file before the rotated one, so that a rotation in between loses nothing.
    fn open_if_exists(folder: &AttemptFolder) -> io::Result<Self> {
        let path = folder.join(LOG);
        let mut files = VecDeque::new();
        files.extend(open_if_exists(&path)?);
        if let Some(before) = open_if_exists(&folder.join(ROTATED_LOG))? {
            let is_new = match files.front() {
                Some(latest) => latest.metadata()?.ino() != before.metadata()?.ino(),
                None => true,
            };
            if is_new {
                files.push_front(before);
            }
        }
        Ok(Self { path, files })
    }

    /// Returns the next bytes; `None` if there are no more for now.
    fn next_chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(file) = self.files.front_mut() {
                let mut bytes = vec![0; 1 << 16];
                let read = file.read(&mut bytes)?;
                if read > 0 {
                    bytes.truncate(read);
                    return Ok(Some(bytes));
                }
            }
            if self.files.len() > 1 {
                self.files.pop_front();
            } else if !self.open_rotated()? {
                return Ok(None);
            }
        }
    }

    /// Opens the new file after a rotation. The shim writes no more to the old file, so that file
    /// is read to its end once more and then dropped.
    fn open_rotated(&mut self) -> io::Result<bool> {
        let Some(latest) = open_if_exists(&self.path)? else { return Ok(false) };
        let known = match self.files.back() {
            Some(file) => file.metadata()?.ino() == latest.metadata()?.ino(),
            None => false,
        };
        if !known {
            self.files.push_back(latest);
        }
        Ok(!known)
    }
}

/// A longer line is printed in pieces.
const LINE_BYTES_MAX: usize = 1 << 16;

/// Prints a log: unchanged for a program, and line by line with control characters
/// removed on a terminal.
struct LogPrinter<'a> {
    out: &'a CommandOutput,
    attempt: u32,
    pending: Vec<u8>,
}

impl LogPrinter<'_> {
    fn push(&mut self, bytes: &[u8]) -> Result<(), CommandFailure> {
        if !self.out.is_json() && !self.out.is_terminal() {
            return self.out.bytes(bytes);
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.pending.extend_from_slice(piece);
            if self.pending.pop_if(|last| *last == b'\n').is_some()
                || self.pending.len() > LINE_BYTES_MAX
            {
                self.line()?;
            }
        }
        Ok(())
    }

    fn line(&mut self) -> Result<(), CommandFailure> {
        let text = String::from_utf8_lossy(&self.pending).into_owned();
        self.pending.clear();
        if self.out.is_json() {
            return self.out.document(&json!({"attempt": self.attempt, "line": text}));
        }
        self.out.line(&clean_lines(text.trim_end_matches('\r')))
    }

    /// Prints the last line if it has no line break.
    fn flush(&mut self) -> Result<(), CommandFailure> {
        if self.pending.is_empty() { Ok(()) } else { self.line() }
    }
}
