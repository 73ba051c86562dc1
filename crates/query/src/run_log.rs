//! The output of runs: where it is, and its end.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use adjutant_model::TaskId;
use adjutant_run_files::attempt_files::{AttemptFolder, LOG};
use adjutant_runs::supervisor::{LocalRunState, local_run_state};
use adjutant_store::file::DataFolder;

use crate::failure::CommandFailure;
use crate::fleet_log::FleetRunLog;
use crate::run::{attempt_numbers, attempts_folder};
use crate::task::task_path;

/// The output of a run.
#[derive(Clone)]
pub struct RunLogSource {
    pub attempt: u32,
    pub location: LogLocation,
    /// Whether the run is over, so that the output is complete.
    pub is_over: bool,
}

/// Where the output of a run is.
#[derive(Clone)]
pub enum LogLocation {
    /// The run's folder on this machine.
    Local(PathBuf),
    Remote(Arc<FleetRunLog>),
}

impl RunLogSource {
    /// Finds the output of a run on this machine: of this attempt, or of the last one.
    pub fn find(
        folder: &DataFolder,
        id: &TaskId,
        attempt: Option<u32>,
    ) -> Result<Self, CommandFailure> {
        let (attempt, place) = find_attempt(folder, id, attempt)?;
        let over = |life| matches!(life, LocalRunState::Gone | LocalRunState::Over);
        let is_over = local_run_state(&place).is_ok_and(over);
        Ok(Self { attempt, location: LogLocation::Local(place.path().to_owned()), is_over })
    }
}

/// Returns the end of the output of a task's last run.
pub fn read_tail(
    folder: &DataFolder,
    id: &TaskId,
    bytes_max: u64,
) -> Result<String, CommandFailure> {
    let (_, attempt) = find_attempt(folder, id, None)?;
    let read = || -> io::Result<Vec<u8>> {
        let Some(mut file) = open_if_exists(&attempt.join(LOG))? else { return Ok(vec![]) };
        let from = file.metadata()?.len().saturating_sub(bytes_max);
        file.seek(io::SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(bytes_max).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes =
        read().map_err(|e| CommandFailure::broken(format!("cannot read the log of {id}"), &e))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Finds the folder of an attempt; `None` means the last one.
pub fn find_attempt(
    folder: &DataFolder,
    id: &TaskId,
    wanted: Option<u32>,
) -> Result<(u32, AttemptFolder), CommandFailure> {
    let attempts = attempts_folder(folder.root(), id);
    let numbers = attempt_numbers(folder.root(), id).into_iter();
    let place = |number: u32| AttemptFolder::new(&attempts.join(number.to_string()));
    let ran = |number: &u32| place(*number).was_started() || place(*number).join(LOG).exists();
    let found = numbers.filter(|number| wanted.is_none_or(|wanted| wanted == *number));
    if let Some(number) = found.filter(ran).max() {
        return Ok((number, place(number)));
    }
    if task_path(folder, id).is_none() {
        return Err(CommandFailure::not_found(id, "cannot show the log"));
    }
    let attempt = format!("cannot show the log of {id}");
    Err(match wanted {
        Some(wanted) => CommandFailure::no_log(
            attempt,
            &format!("there is no log of attempt {wanted} on this machine"),
        ),
        None => CommandFailure::no_log(attempt, "no agent has worked on it on this machine")
            .with_hint(format!("`adjutant why {id}` says why it does not start")),
    })
}

/// Opens a file; `None` if it does not exist.
pub fn open_if_exists(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
