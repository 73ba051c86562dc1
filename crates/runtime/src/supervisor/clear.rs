//! Ends what a shim left behind that was killed itself.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use adjutant_core::TaskId;
use rustix::fs::{FlockOperation, flock};
use rustix::process::Signal;

use super::Run;
use super::find::{Life, life};
use crate::agent::TOKEN_VARIABLE;
use crate::process::{self, Process};
use crate::shim::files::{Ended, Exit, Folder, LOG, Record, Sync};
use crate::shim::report::Report;
use crate::shim::{log, outbox};

/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(10);

/// How much of a log is read for its last lines.
const TAIL_BYTES: i64 = 4 << 10;

/// Ends everything a run has left, and writes down that it is over. Does nothing if its shim
/// lives. Idempotent.
///
/// A shim that was killed may hold its lock for a moment longer than it can be seen, and another
/// one may be at this already: both are waited for.
pub(super) fn clear(folder: &Folder, run: &Run, token: &str) -> io::Result<()> {
    if life(folder)? != Life::Gone {
        return Ok(());
    }
    let lock = folder.lock_file()?;
    flock(&lock, FlockOperation::LockExclusive)?;
    // Held by us now, so that a record that cannot be read does not count as a living shim.
    if folder.has_ended() || folder.record().is_ok_and(|record| record.is_none_or(|r| r.is_alive()))
    {
        return Ok(());
    }
    let record = folder.record().ok().flatten();
    end_all(record.as_ref(), token);
    take_report(folder, record.as_ref())?;
    // What a power cut takes back is found and written again: nothing of the run is left by then.
    let ended = Ended::of(run.fence, run.attempt, Exit::Lost, tail(folder));
    folder.write_exit(&ended, Sync::Later)
}

/// Ends a run of which nothing is left on disk: its shim is told to, as it would be by its socket,
/// and what a shim that is gone left is killed.
pub(super) fn end_without_folder(record: Option<&Record>, token: &str) {
    let shim = record.filter(|record| record.is_alive()).map(Record::shim);
    if let Some(shim) = shim {
        // Somebody may have suspended it.
        shim.send(Signal::TERM);
        shim.send(Signal::CONT);
        while shim.is_alive() {
            std::thread::sleep(PAUSE);
        }
    }
    end_all(record, token);
}

/// Ends what works on a task and is known by its environment alone: a run whose folder was taken
/// away while nobody looked.
pub(super) fn end_strays(root: &Path, task: &TaskId) {
    let root = root.to_string_lossy();
    let strays = || {
        let ours = process::marked("ADJUTANT_DATA", &root);
        let of_task = process::marked("ADJUTANT_TASK_ID", task.as_str());
        ours.into_iter().filter(|process| of_task.contains(process)).collect::<Vec<_>>()
    };
    while !strays().is_empty() {
        process::kill(strays);
        std::thread::sleep(PAUSE);
    }
}

/// Takes the document the run has left, as its shim would have.
fn take_report(folder: &Folder, record: Option<&Record>) -> io::Result<()> {
    let report = record.and_then(|record| record.report.as_ref());
    match Report::of(report, folder).and_then(|report| report.last()) {
        Some(said) => outbox::add_late(folder, said),
        None => Ok(()),
    }
}

/// Kills until nothing is found any more, twice: one that is just about to become another program
/// has no environment for a moment. Nobody is there to read what they would still say, so that
/// they are not asked first.
fn end_all(record: Option<&Record>, token: &str) {
    if record.is_some_and(|record| record.boot_id != process::boot_id()) {
        return;
    }
    let mut quiet = 0;
    while quiet < 2 {
        process::kill(|| left(record, token));
        std::thread::sleep(PAUSE);
        quiet = if left(record, token).is_empty() { quiet + 1 } else { 0 };
    }
}

/// Finds what has the token of the run in its environment, the agent, and whatever is below them.
fn left(record: Option<&Record>, token: &str) -> Vec<Process> {
    let mut found = process::marked(TOKEN_VARIABLE, token);
    let agent = record.and_then(Record::process);
    found.extend(agent.filter(|agent| agent.is_alive()));
    let roots: Vec<i32> = found.iter().map(|process| process.pid).collect();
    found.extend(process::descendants(&roots).into_iter().filter(|process| process.is_alive()));
    found
}

fn tail(folder: &Folder) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = std::fs::File::open(folder.join(LOG))?;
        let length = i64::try_from(file.metadata()?.len()).unwrap_or(i64::MAX);
        file.seek(SeekFrom::End(-length.min(TAIL_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES.unsigned_abs()).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    log::tail(&read().unwrap_or_default())
}
