//! The shim: a small process between the daemon and an agent, one a run.
//!
//! It owns the agent's pipes and its log, is the parent of everything the agent leaves behind,
//! beats while the agent lives, and writes the exit down before it goes. The daemon can die at any
//! moment without the agent noticing: what the shim has to say is in files, and its socket only
//! says that there is something to read. What a message means is not known here.
//!
//! Time is that of the monotonic clock, which stands still while the machine is suspended and does
//! not jump when somebody sets the date: neither counts against a limit.

pub mod door;
pub mod files;
pub mod outbox;
pub mod spec;

mod beat;
mod launch;
pub(crate) mod lease;
mod lines;
pub(crate) mod log;
mod mask;
mod pump;
mod reaper;
pub(crate) mod report;
mod watch;

#[cfg(test)]
mod golden_tests;

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::process::{self, Process};
use files::{Ended, Exit, Folder, Record, Sync};
use spec::Spec;

/// What a shim answers to whoever started it, on one line of JSON.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reply {
    /// The agent runs.
    Started,
    /// The run was started before, by this or another shim.
    Known,
    /// The agent cannot be started.
    NotStarted(String),
    /// The disk has no room for what a run writes. Nothing was started, and may be later.
    NoRoom,
}

/// Runs a shim: reads one spec from standard input, answers on standard output, and stays until
/// nothing of the run is left.
pub fn run() -> io::Result<()> {
    // Fails only for the leader of a session or a group, and then there is nothing to leave.
    let _ = rustix::process::setsid();
    let spec: Spec = serde_json::from_reader(io::stdin().lock())?;
    let folder = Folder::at(&spec.folder);
    let claimed = match claim(&folder) {
        Err(error) if files::is_full(&error) => return answer(&Reply::NoRoom),
        claimed => claimed?,
    };
    let Some(_lock) = claimed else { return answer(&Reply::Known) };
    process::set_reaper()?;
    std::env::set_current_dir(folder.path())?;
    let record = Record::new(&spec, Process::current());
    // A run that has begun is known to have begun, whatever happens: after a power cut the same
    // attempt would else be given to an agent again, and never count. What the record says is of
    // no use by then, for every process in it is gone.
    match folder.write_record(&record, Sync::Name) {
        Err(error) if files::is_full(&error) => no_room(&folder),
        written => written.and_then(|()| supervise(&spec, &folder, record)),
    }
}

/// Takes the run, unless somebody has it or had it. Held for as long as this process lives.
fn claim(folder: &Folder) -> io::Result<Option<File>> {
    let lock = folder.lock_file()?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    }
    Ok((!folder.was_started()).then_some(lock))
}

fn supervise(spec: &Spec, folder: &Folder, record: Record) -> io::Result<()> {
    let started = watch::Watch::prepare(spec, folder)
        .and_then(|ready| launch::start(spec, folder).map(|child| (ready, child)));
    let (watch, child) = match started {
        Ok(started) => started,
        Err(error) => return give_up(spec, folder, &error),
    };
    let agent = Process::of(i32::try_from(child.id()).unwrap_or_default());
    // From here on nothing may stop the watch, or the agent would be alone. That its number is not
    // written down is no harm: it is known by its token as well. A power cut ends the agent, and
    // needs no number.
    let _ = folder.write_record(&record.with(agent), Sync::Later);
    let _ = answer(&Reply::Started);
    watch.until_over(spec, child)
}

/// Writes down that the agent never ran.
fn give_up(spec: &Spec, folder: &Folder, error: &io::Error) -> io::Result<()> {
    if files::is_full(error) {
        return no_room(folder);
    }
    let why = error.to_string();
    let ended = Ended::new(spec, Exit::NotStarted(why.clone()), String::new());
    // Should a power cut take this back, there was a run that left nothing: no agent either way.
    match folder.write_exit(&ended, Sync::Later) {
        Err(error) if files::is_full(&error) => no_room(folder),
        written => written.and_then(|()| answer(&Reply::NotStarted(why))),
    }
}

/// Leaves as if nobody had come: nothing ran, and a full disk is no fault of the attempt.
fn no_room(folder: &Folder) -> io::Result<()> {
    folder.forget_record()?;
    answer(&Reply::NoRoom)
}

/// Answers and lets go of the pipes. That nobody reads it is no reason to end a run.
fn answer(reply: &Reply) -> io::Result<()> {
    let line = serde_json::to_string(reply)?;
    let _ = writeln!(io::stdout(), "{line}").and_then(|()| io::stdout().flush());
    let null = File::options().read(true).write(true).open(Path::new("/dev/null"))?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok(())
}
