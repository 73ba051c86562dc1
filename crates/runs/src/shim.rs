//! The shim: a small process between the daemon and an agent, one per run.
//!
//! The shim owns the agent's pipes and its log, becomes the parent of processes the agent leaves
//! behind, writes heartbeats while the agent lives, and records the exit before it ends itself.
//! The daemon can die at any moment without the agent noticing: everything the shim reports is
//! in files, and its socket only says that there is something to read. The shim does not know
//! what a message means.
//!
//! Time is that of the monotonic clock, which stops while the machine is suspended and does not
//! jump when the date is set: neither counts against a limit.

pub mod control_socket;
pub mod outbox;

mod agent_launch;
mod heartbeat_file;
pub mod lease_file;
mod message_scanner;
pub mod output_log;
mod output_pump;
pub(crate) mod reaper;
pub mod report_file;
mod run_socket;
mod run_watch;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use adjutant_model::{AgentId, TaskId};
use adjutant_process::process_table::{self, ProcessIdentity};
use adjutant_run_files::attempt_files::{
    self, AttemptFolder, ExitRecord, ProcessExit, ShimRecord, SyncLevel,
};
use adjutant_run_files::live_shims::{LiveShim, LiveShimGuard, ShimKind, register_live_shim};
use adjutant_run_files::shim_spec::ShimSpec;
use adjutant_store::monotonic_now;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::sandbox::StartedCommand;

/// The shim's answer to the process that started it, on one line of JSON.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ShimReply {
    Started,
    /// The run was started before, by this or another shim.
    Known,
    NotStarted(String),
    /// The disk is full. Nothing was started; a later start may succeed.
    NoRoom,
}

/// Runs a shim: reads one spec from standard input, answers on standard output, and stays until no
/// process of the run is left.
pub fn run() -> io::Result<()> {
    // Fails only for the leader of a process group, and then there is no session to leave.
    let _ = rustix::process::setsid();
    let spec: ShimSpec = serde_json::from_reader(io::stdin().lock())?;
    let folder = AttemptFolder::new(&spec.folder);
    let claimed = match lock_run(&folder) {
        Err(error) if attempt_files::is_disk_full(&error) => return send_reply(&ShimReply::NoRoom),
        claimed => claimed?,
    };
    let Some(_lock) = claimed else { return send_reply(&ShimReply::Known) };
    process_table::become_subreaper()?;
    let _live = match register_shim(&spec) {
        Err(error) if attempt_files::is_disk_full(&error) => return send_reply(&ShimReply::NoRoom),
        live => live?,
    };
    std::env::set_current_dir(folder.path())?;
    let record = ShimRecord::new(&spec, ProcessIdentity::current(), monotonic_now());
    // The name of the record must survive a power cut: otherwise the same attempt would be started
    // again, and would not count as an attempt. Its content need not, because the processes in it
    // are gone by then.
    match folder.write_record(&record, SyncLevel::Name) {
        Err(error) if attempt_files::is_disk_full(&error) => undo_start(&folder),
        written => written.and_then(|()| supervise(&spec, &folder, record)),
    }
}

/// Records this shim, so that every process below it is known to belong to the run.
fn register_shim(spec: &ShimSpec) -> io::Result<LiveShimGuard> {
    let shim = LiveShim {
        attempt: Some(spec.folder.clone()),
        task: TaskId::parse(&spec.task_id).ok(),
        agent: AgentId::parse(&spec.agent).ok(),
        fence: Some(spec.fence),
        nonce: spec.nonce,
        ..LiveShim::new(ShimKind::Run)
    };
    let folder = AttemptFolder::new(&spec.folder);
    register_live_shim(folder.data_folder(), &shim)
}

/// Locks the run, unless another shim has it or had it. The lock lasts as long as this process.
fn lock_run(folder: &AttemptFolder) -> io::Result<Option<File>> {
    let lock = folder.lock_file()?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    }
    Ok((!folder.was_started()).then_some(lock))
}

fn supervise(spec: &ShimSpec, folder: &AttemptFolder, record: ShimRecord) -> io::Result<()> {
    let started = run_watch::RunWatch::prepare(spec, folder)
        .and_then(|ready| agent_launch::start(spec, folder).map(|started| (ready, started)));
    let (watch, StartedCommand { child, proxy, cgroup }) = match started {
        Ok(started) => started,
        Err(error) => return record_not_started(spec, folder, &error),
    };
    let agent = ProcessIdentity::find(i32::try_from(child.id()).unwrap_or_default());
    // From here on no error may stop the watch, or the agent would be unsupervised. If its pid is
    // not recorded, its token still identifies it; after a power cut no pid is needed.
    let _ = folder.write_record(&record.with_agent(agent), SyncLevel::Later);
    let _ = send_reply(&ShimReply::Started);
    let ended = watch.run_to_end(spec, child);
    drop((proxy, cgroup));
    ended
}

/// Records that the agent could not be started.
fn record_not_started(
    spec: &ShimSpec,
    folder: &AttemptFolder,
    error: &io::Error,
) -> io::Result<()> {
    if attempt_files::is_disk_full(error) {
        return undo_start(folder);
    }
    let why = error.to_string();
    let ended = ExitRecord::new(spec, ProcessExit::NotStarted(why.clone()), String::new());
    // If a power cut undoes this, the run counts as lost: no agent ran in either case.
    match folder.write_exit(&ended, SyncLevel::Later) {
        Err(error) if attempt_files::is_disk_full(&error) => undo_start(folder),
        written => written.and_then(|()| send_reply(&ShimReply::NotStarted(why))),
    }
}

/// Removes the record, as if the run was never started: a full disk must not use up the attempt.
fn undo_start(folder: &AttemptFolder) -> io::Result<()> {
    folder.remove_record()?;
    send_reply(&ShimReply::NoRoom)
}

/// Answers, and closes the pipes. A missing reader is no reason to end a run.
fn send_reply(reply: &ShimReply) -> io::Result<()> {
    let line = serde_json::to_string(reply)?;
    let _ = writeln!(io::stdout(), "{line}").and_then(|()| io::stdout().flush());
    let null = File::options().read(true).write(true).open(Path::new("/dev/null"))?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok(())
}
