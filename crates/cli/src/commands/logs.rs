//! `adjutant logs`: what an agent printed, and what it prints.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use adjutant_core::{Task, TaskId};
use adjutant_runtime::shim::files::{Folder, LOG, LOG_BEFORE};
use adjutant_runtime::supervisor::{Life, life};
use adjutant_store::Net;
use serde_json::json;

use crate::data::Data;
use crate::error::Failure;
use crate::fleet;
use crate::output::{Output, clean_lines};

/// Show what the agent of a task printed
#[derive(Debug, clap::Args)]
pub(crate) struct Logs {
    /// The task
    id: String,
    /// Go on and show what is added, until the run is over
    #[arg(long, short)]
    follow: bool,
    /// Of this attempt [default: the last one]
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
}

/// How long to wait before looking for more.
const PAUSE: Duration = Duration::from_millis(100);

/// The same where another machine is asked.
const PAUSE_AWAY: Duration = Duration::from_secs(1);

/// How long a run may take to say who looks after it.
const STARTING: Duration = Duration::from_secs(10);

impl Logs {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        let id = data.task_id(&self.id)?;
        let (attempt, folder) = match find(data, &id, self.attempt) {
            Err(_) if data.is_shared() => return self.show_elsewhere(data, &id, out),
            found => found?,
        };
        let failed = |error| Failure::broken(format!("cannot read the log of {id}"), &error);
        let mut log = Log::open(&folder).map_err(failed)?;
        let mut print = Print { out, attempt, rest: Vec::new() };
        let began = Instant::now();
        loop {
            // Asked before it is read: what a run printed is all there when it is over.
            let over = !self.follow || is_over(&folder, began).map_err(failed)?;
            while let Some(bytes) = log.next().map_err(failed)? {
                print.push(&bytes)?;
            }
            if over {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        print.end()?;
        Ok(ExitCode::SUCCESS)
    }

    /// Shows what an agent printed on another node of the fleet.
    fn show_elsewhere(&self, data: &Data, id: &TaskId, out: &Output) -> Result<ExitCode, Failure> {
        let known = data.world(out)?.task(id).cloned();
        let known = known.ok_or_else(|| Failure::not_found(id, "cannot show the log"))?;
        let Some(attempt) = self.attempt.or(known.attempt()) else {
            let attempt = format!("cannot show the log of {id}");
            return Err(Failure::no_log(attempt, "no agent has worked on it")
                .hint(format!("`adjutant why {id}` says what holds it back")));
        };
        let servers = fleet::connect(data)?;
        let net: &dyn Net = &servers;
        let mut print = Print { out, attempt, rest: Vec::new() };
        let mut from = 0;
        loop {
            let task = data.world(out)?.task(id).cloned();
            let is_open =
                |task: &Task| task.trials.open.as_ref().is_some_and(|run| run.attempt == attempt);
            let over = !self.follow || !task.as_ref().is_some_and(is_open);
            let (at, bytes) = net.read_log(id, attempt, from)?;
            print.push(&bytes)?;
            from = at + bytes.len() as u64;
            if over {
                break;
            }
            std::thread::sleep(PAUSE_AWAY);
        }
        print.end()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the end of what the last run of a task printed.
pub(crate) fn tail(data: &Data, id: &TaskId, bytes_max: u64) -> Result<String, Failure> {
    let (_, folder) = find(data, id, None)?;
    let read = || -> io::Result<Vec<u8>> {
        let Some(mut file) = open(&folder.join(LOG))? else { return Ok(vec![]) };
        let from = file.metadata()?.len().saturating_sub(bytes_max);
        file.seek(io::SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(bytes_max).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().map_err(|e| Failure::broken(format!("cannot read the log of {id}"), &e))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Finds the folder of an attempt, or of the last one.
pub(crate) fn find(
    data: &Data,
    id: &TaskId,
    wanted: Option<u32>,
) -> Result<(u32, Folder), Failure> {
    let attempts = data.folder.root().join("runs").join(id.as_str()).join("attempts");
    let entries = std::fs::read_dir(&attempts).into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let folder = |number: u32| Folder::at(&attempts.join(number.to_string()));
    let ran = |number: &u32| folder(*number).was_started() || folder(*number).join(LOG).exists();
    let found = numbers.filter(|number| wanted.is_none_or(|wanted| wanted == *number));
    if let Some(number) = found.filter(ran).max() {
        return Ok((number, folder(number)));
    }
    if data.task_path(id).is_none() {
        return Err(Failure::not_found(id, "cannot show the log"));
    }
    let attempt = format!("cannot show the log of {id}");
    Err(match wanted {
        Some(wanted) => Failure::no_log(attempt, &format!("there was no attempt {wanted} here")),
        None => Failure::no_log(attempt, "no agent has worked on it here")
            .hint(format!("`adjutant why {id}` says what holds it back")),
    })
}

fn is_over(folder: &Folder, began: Instant) -> io::Result<bool> {
    Ok(match life(folder)? {
        Life::Alive => false,
        Life::Unknown => began.elapsed() > STARTING,
        Life::Gone | Life::Over => true,
    })
}

/// The log of a run, across its files.
struct Log {
    path: PathBuf,
    files: VecDeque<File>,
}

impl Log {
    /// Opens what there is, the latest first, so that nothing is missed if a file is put aside
    /// meanwhile.
    fn open(folder: &Folder) -> io::Result<Self> {
        let path = folder.join(LOG);
        let mut files = VecDeque::new();
        files.extend(open(&path)?);
        if let Some(before) = open(&folder.join(LOG_BEFORE))? {
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

    /// Returns the next piece; none if there is no more for now.
    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
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
            } else if !self.has_another()? {
                return Ok(None);
            }
        }
    }

    /// Opens the file that took the place of the last one, if one did. Whoever put the last one
    /// aside writes no more to it, so that it is read once more and then left.
    fn has_another(&mut self) -> io::Result<bool> {
        let Some(latest) = open(&self.path)? else { return Ok(false) };
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

fn open(path: &std::path::Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The longest line that is held back until it is whole.
const LINE_BYTES_MAX: usize = 1 << 16;

/// Prints a log: as it is for a program, line by line where somebody could be fooled by it.
struct Print<'a> {
    out: &'a Output,
    attempt: u32,
    rest: Vec<u8>,
}

impl Print<'_> {
    fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if !self.out.is_json() && !self.out.is_terminal() {
            return self.out.bytes(bytes);
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.rest.extend_from_slice(piece);
            if self.rest.pop_if(|last| *last == b'\n').is_some() || self.rest.len() > LINE_BYTES_MAX
            {
                self.line()?;
            }
        }
        Ok(())
    }

    fn line(&mut self) -> Result<(), Failure> {
        let text = String::from_utf8_lossy(&self.rest).into_owned();
        self.rest.clear();
        if self.out.is_json() {
            return self.out.document(&json!({"attempt": self.attempt, "line": text}));
        }
        self.out.line(&clean_lines(text.trim_end_matches('\r')))
    }

    /// Prints what was printed without the end of a line.
    fn end(&mut self) -> Result<(), Failure> {
        if self.rest.is_empty() { Ok(()) } else { self.line() }
    }
}
