//! Cleans up after a shim that was killed: ends its processes and records the exit.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use adjutant_model::TaskId;
use adjutant_process::process_table::{self, ProcessIdentity};
use adjutant_run_files::attempt_files::{
    AttemptFolder, ExitRecord, ProcessExit, ShimRecord, SyncLevel,
};
use rustix::fs::{FlockOperation, flock};
use rustix::process::Signal;

use super::RunRef;
use super::find_runs::{LocalRunState, local_run_state};
use super::shim_watchdog::EndWithoutShim;
use crate::agent::TOKEN_VARIABLE;
use crate::shim::report_file::ReportFile;
use crate::shim::{outbox, output_log};

/// How long to wait before searching again.
const PAUSE: Duration = Duration::from_millis(10);

/// How long a shim whose folder is gone may take to end its run, in addition to the grace period.
const FOLDERLESS_PATIENCE: Duration = Duration::from_secs(10);

/// How much of a log is read for its last lines.
const TAIL_BYTES: u64 = 4 << 10;

/// Ends every process that a run has left, and records its exit. Does nothing if the
/// shim lives. Idempotent.
///
/// Waits for the lock: a killed shim may hold it for a moment after it has left the process table,
/// and another supervisor may be cleaning up already.
pub(super) fn clean_up_run(folder: &AttemptFolder, run: &RunRef, token: &str) -> io::Result<()> {
    clean_up_as(folder, run, token, ProcessExit::Lost, "")
}

/// Ends a run whose shim does not answer, and records its exit. The processes below the shim go
/// first: if this process dies meanwhile, the next supervisor finds them below the shim.
pub(super) fn end_without_shim(
    folder: &AttemptFolder,
    run: &RunRef,
    token: &str,
    end: EndWithoutShim,
) -> io::Result<()> {
    if end.record.boot_id == process_table::boot_id() {
        process_table::kill_tree(end.record.shim_process());
    }
    if let Ok(Some(ended)) = folder.exit()
        && ended.exit == ProcessExit::Signal(Signal::KILL.as_raw())
    {
        // The shim woke up and saw the agent being killed, but not why.
        let tail = [end.note, &ended.tail].join("\n");
        let ended = ExitRecord { exit: end.exit, tail: tail.trim_end().to_owned(), ..ended };
        return folder.write_exit(&ended, SyncLevel::Later);
    }
    clean_up_as(folder, run, token, end.exit, end.note)
}

fn clean_up_as(
    folder: &AttemptFolder,
    run: &RunRef,
    token: &str,
    exit: ProcessExit,
    note: &str,
) -> io::Result<()> {
    if local_run_state(folder)? != LocalRunState::Gone {
        return Ok(());
    }
    let lock = folder.lock_file()?;
    flock(&lock, FlockOperation::LockExclusive)?;
    // This process holds the lock now, so an unreadable record does not mean that a shim lives.
    if folder.has_ended() || folder.record().is_ok_and(|record| record.is_none_or(|r| r.is_alive()))
    {
        return Ok(());
    }
    let record = folder.record().ok().flatten();
    kill_remaining(record.as_ref(), token);
    take_report(folder, record.as_ref())?;
    folder.remove_run_socket();
    // If a power cut undoes this, it is written again: no process of the run is left by then.
    let lines = [note.to_owned(), log_tail(folder)];
    let tail = lines.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
    let ended = ExitRecord::from_numbers(run.fence, run.attempt, exit, tail);
    folder.write_exit(&ended, SyncLevel::Later)
}

/// Ends a run whose folder is gone: asks its shim by a signal, and kills what a dead shim left, or
/// one that does not answer.
pub(super) fn end_without_folder(record: Option<&ShimRecord>, token: &str) {
    let shim = record.filter(|record| record.is_alive()).map(ShimRecord::shim_process);
    if let Some(shim) = shim {
        // CONT wakes a shim that was suspended.
        shim.send_signal(Signal::TERM);
        shim.send_signal(Signal::CONT);
        let grace_ms = record.and_then(|record| record.deadlines).map_or(0, |it| it.grace_ms);
        let kill_at = Instant::now() + Duration::from_millis(grace_ms) + FOLDERLESS_PATIENCE;
        while shim.is_alive() && Instant::now() < kill_at {
            shim.wait(PAUSE);
        }
        process_table::kill_tree(shim);
    }
    kill_remaining(record, token);
}

/// Ends processes that work on a task and are known by their environment alone: the folder of their
/// run was removed while no daemon ran.
pub(super) fn end_strays(root: &Path, task: &TaskId) {
    let root = root.to_string_lossy();
    let strays = || {
        let ours = process_table::find_by_variable("ADJUTANT_DATA", &root);
        let of_task = process_table::find_by_variable("ADJUTANT_TASK_ID", task.as_str());
        ours.into_iter().filter(|process| of_task.contains(process)).collect::<Vec<_>>()
    };
    while !strays().is_empty() {
        process_table::kill_all(strays);
        std::thread::sleep(PAUSE);
    }
}

/// Takes the report document that the run has left, as its shim would have.
fn take_report(folder: &AttemptFolder, record: Option<&ShimRecord>) -> io::Result<()> {
    let report = record.and_then(|record| record.report.as_ref());
    match ReportFile::from_spec(report, folder).and_then(|report| report.final_message()) {
        Some(message) => outbox::add_for_dead_shim(folder, message),
        None => Ok(()),
    }
}

/// Kills until two searches in a row find no process: a process has no environment for a
/// moment while it executes another program. Does not ask first, because nothing reads their
/// output any more.
fn kill_remaining(record: Option<&ShimRecord>, token: &str) {
    if record.is_some_and(|record| record.boot_id != process_table::boot_id()) {
        return;
    }
    let mut quiet = 0;
    while quiet < 2 {
        process_table::kill_all(|| find_remaining(record, token));
        std::thread::sleep(PAUSE);
        quiet = if find_remaining(record, token).is_empty() { quiet + 1 } else { 0 };
    }
}

/// Finds the processes with the run's token in their environment, the agent, and the
/// descendants of both. A daemon also finds every orphan of a shim that it has started.
fn find_remaining(record: Option<&ShimRecord>, token: &str) -> Vec<ProcessIdentity> {
    let mut found = process_table::find_by_variable(TOKEN_VARIABLE, token);
    let agent = record.and_then(ShimRecord::agent_process);
    found.extend(agent.filter(|agent| agent.is_alive()));
    found.extend(process_table::adopted_orphans());
    let roots: Vec<i32> = found.iter().map(|process| process.pid).collect();
    found.extend(
        process_table::descendants(&roots).into_iter().filter(|process| process.is_alive()),
    );
    found
}

fn log_tail(folder: &AttemptFolder) -> String {
    output_log::last_lines(&output_log::read_end(folder, TAIL_BYTES).unwrap_or_default())
}
