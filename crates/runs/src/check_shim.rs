//! The shim of a check: the process above one command that may execute what an agent wrote.
//!
//! It starts the command in its sandbox, ends it at its time limit or when the caller is gone, and
//! answers when no process of it is left. The caller holds the shim's standard input open, so the
//! kernel tells the shim when the caller was killed.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use adjutant_model::run::RunExit;
use adjutant_process::process_table::{self, ProcessIdentity};
use adjutant_process::test_runner::bounded_output::BoundedOutput;
use adjutant_run_files::check_spec::{CheckReply, CheckSpec};
use adjutant_run_files::live_shims::register_live_shim;
use adjutant_run_files::sandbox_spec::CommandSandbox;
use rustix::process::Pid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::sandbox::{SandboxedCommand, StartedCommand};
use crate::shim::reaper::{ReapEvent, reap};

/// The first pause between two attempts to kill the remaining processes; it doubles each time.
const KILL_PAUSE: Duration = Duration::from_millis(5);
const KILL_PAUSE_MAX: Duration = Duration::from_millis(500);

enum CheckEvent {
    Reaped(ReapEvent),
    /// The caller is gone, or a signal asks the shim to end.
    Stop,
}

/// The result of a command, with its output as bytes.
struct CheckOutcome {
    exit: RunExit,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

/// Runs a check's shim: reads one spec from standard input, and answers on standard output when no
/// process of the command is left.
pub fn run() -> io::Result<()> {
    // Fails only for the leader of a process group, and then there is no session to leave.
    let _ = rustix::process::setsid();
    let mut input = BufReader::new(io::stdin());
    let mut line = Vec::new();
    input.read_until(b'\n', &mut line)?;
    let spec: CheckSpec = serde_json::from_slice(&line)?;
    let outcome = supervise(&spec, input).unwrap_or_else(|error| CheckOutcome {
        exit: RunExit::NotStarted(error.to_string()),
        stdout: vec![],
        stderr: vec![],
    });
    send_reply(&outcome)
}

fn send_reply(CheckOutcome { exit, stdout, stderr }: &CheckOutcome) -> io::Result<()> {
    let reply = CheckReply {
        exit: exit.clone(),
        stdout_bytes: stdout.len() as u64,
        stderr_bytes: stderr.len() as u64,
    };
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, &reply)?;
    out.write_all(b"\n")?;
    out.write_all(stdout)?;
    out.write_all(stderr)?;
    out.flush()
}

fn supervise(spec: &CheckSpec, caller: impl Read + Send + 'static) -> io::Result<CheckOutcome> {
    process_table::become_subreaper()?;
    // Before the command starts: none of its processes may ever count as outside.
    let registration = spec.registration.as_ref();
    let record = registration.map(|it| register_live_shim(&it.data_root, &it.record));
    let _record = record.transpose()?;
    let (tell, events) = channel();
    listen_to_signals(tell.clone())?;
    // Removed when the command has ended; the command cannot write to any other temporary folder.
    let temporary = match &spec.sandbox {
        CommandSandbox::None | CommandSandbox::Strict(_) => None,
        CommandSandbox::Landlock { .. } => Some(tempfile::tempdir()?),
    };
    let deadline = Instant::now() + Duration::from_millis(spec.timeout_ms);
    let temporary_path = temporary.as_ref().map(tempfile::TempDir::path);
    let StartedCommand { mut child, proxy, cgroup } = start(spec, temporary_path)?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (stdout, stderr) = (stdout.map(BoundedOutput::read), stderr.map(BoundedOutput::read));
    watch_caller(caller, tell.clone());
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.expect("a process has a number");
    std::thread::spawn(move || reap(pid, |event| drop(tell.send(CheckEvent::Reaped(event)))));
    let exit = wait_to_end(&events, deadline);
    drop((proxy, cgroup));
    let bytes = |output: Option<BoundedOutput>| output.map(BoundedOutput::finish);
    Ok(CheckOutcome {
        exit,
        stdout: bytes(stdout).unwrap_or_default(),
        stderr: bytes(stderr).unwrap_or_default(),
    })
}

/// Starts the command with the shim's own environment, which the caller has made. This thread must
/// live as long as the command.
fn start(spec: &CheckSpec, temporary: Option<&std::path::Path>) -> io::Result<StartedCommand> {
    let mut environment: BTreeMap<_, _> = std::env::vars_os().collect();
    let mut sandbox = spec.sandbox.clone();
    if let (CommandSandbox::Landlock { writable }, Some(temporary)) = (&mut sandbox, temporary) {
        environment.insert("TMPDIR".into(), temporary.into());
        if !reaches_cache(writable) {
            // Many tools fail if they cannot write to their cache.
            environment.insert("XDG_CACHE_HOME".into(), temporary.join("cache").into());
        }
        writable.push(temporary.to_owned());
    }
    let command = SandboxedCommand {
        program: "sh".into(),
        arguments: vec!["-c".into(), spec.command.clone().into()],
        environment,
        folder: spec.folder.clone(),
        stdin: Stdio::null(),
        attempt: None,
    };
    command.spawn(&sandbox)
}

/// Returns whether some of the user's cache can be written to.
fn reaches_cache(writable: &[std::path::PathBuf]) -> bool {
    let named = std::env::var_os("XDG_CACHE_HOME").map(std::path::PathBuf::from);
    let home = || Some(std::path::PathBuf::from(std::env::var_os("HOME")?).join(".cache"));
    let Some(cache) = named.or_else(home) else { return false };
    writable.iter().any(|path| path.starts_with(&cache) || cache.starts_with(path))
}

/// Waits until no process is left below the shim, and returns how the command ended. Kills what is
/// left when the command has ended, at its time limit, and when the caller is gone.
fn wait_to_end(events: &Receiver<CheckEvent>, deadline: Instant) -> RunExit {
    let mut exit = None;
    let mut killing: Option<(Instant, Duration)> = None;
    loop {
        let next = killing.map_or(deadline, |(next, _)| next);
        match events.recv_timeout(next.saturating_duration_since(Instant::now())) {
            Ok(CheckEvent::Reaped(ReapEvent::NoneLeft)) => {
                kill_stragglers();
                return exit.unwrap_or(RunExit::Lost);
            }
            Ok(CheckEvent::Reaped(ReapEvent::Exited { exit: ended, .. })) => {
                exit.get_or_insert_with(|| RunExit::from(&ended));
            }
            Ok(CheckEvent::Stop) | Err(RecvTimeoutError::Timeout) => {
                exit.get_or_insert(RunExit::TimedOut);
            }
            // The reaper ends only after its last event.
            Err(RecvTimeoutError::Disconnected) => return exit.unwrap_or(RunExit::Lost),
        }
        let pause = killing.map_or(KILL_PAUSE, |(_, pause)| (pause * 2).min(KILL_PAUSE_MAX));
        process_table::kill_all(remaining_processes);
        killing = Some((Instant::now() + pause, pause));
    }
}

/// Kills what the reaper does not see: without a subreaper, orphans are no children of the shim.
fn kill_stragglers() {
    while !remaining_processes().is_empty() {
        process_table::kill_all(remaining_processes);
        std::thread::sleep(KILL_PAUSE);
    }
}

#[cfg(target_os = "linux")]
fn remaining_processes() -> Vec<ProcessIdentity> {
    process_table::descendants(&[ProcessIdentity::current().pid])
}

/// Returns the processes that can be found: descendants, and those with the mark of the check.
#[cfg(not(target_os = "linux"))]
fn remaining_processes() -> Vec<ProcessIdentity> {
    use adjutant_process::test_runner::limited_command::CHECK_VARIABLE;

    let own = ProcessIdentity::current();
    let mut found = process_table::descendants(&[own.pid]);
    if let Ok(mark) = std::env::var(CHECK_VARIABLE) {
        let marked = process_table::find_by_variable(CHECK_VARIABLE, &mark);
        found.extend(marked.into_iter().filter(|process| *process != own));
    }
    found
}

/// Tells the watch when the caller closes its end of the pipe, which the kernel does for a caller
/// that was killed.
fn watch_caller(mut caller: impl Read + Send + 'static, tell: Sender<CheckEvent>) {
    std::thread::spawn(move || {
        let _ = io::copy(&mut caller, &mut io::sink());
        let _ = tell.send(CheckEvent::Stop);
    });
}

fn listen_to_signals(tell: Sender<CheckEvent>) -> io::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    std::thread::spawn(move || {
        for _ in signals.forever() {
            let _ = tell.send(CheckEvent::Stop);
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use adjutant_model::TaskId;
    use adjutant_run_files::check_spec::ShimRegistration;
    use adjutant_run_files::live_shims::{LiveShim, ShimKind};
    use adjutant_test_support::golden::GoldenFolder;
    use adjutant_testkit::golden_samples::json_lines;

    use super::*;

    #[test]
    fn check_shim_messages_match_golden_files() {
        let plain = CheckSpec {
            command: "make test".into(),
            folder: "/home/a/project".into(),
            timeout_ms: 600_000,
            sandbox: CommandSandbox::None,
            registration: None,
        };
        let writable = vec!["/home/a/project/.adjutant/worktrees/TASK-2026-02-09-001".into()];
        let record = LiveShim {
            attempt: Some("/home/a/project/.adjutant/runs/TASK-2026-02-09-001/attempts/2".into()),
            task: TaskId::parse("TASK-2026-02-09-001").ok(),
            fence: Some(3),
            ..LiveShim::new(ShimKind::Check)
        };
        let data_root = "/home/a/project/.adjutant".into();
        let confined = CheckSpec {
            sandbox: CommandSandbox::Landlock { writable },
            registration: Some(ShimRegistration { data_root, record: record.clone() }),
            ..plain.clone()
        };
        let none = LiveShim::new(ShimKind::Check);
        let run = LiveShim { kind: ShimKind::Run, ..record.clone() };
        let reply = CheckReply { exit: RunExit::Code(2), stdout_bytes: 12, stderr_bytes: 0 };
        let mut golden = GoldenFolder::new("ipc/check-shim");
        golden.add("specs.jsonl", json_lines(&[plain, confined]));
        golden.add("replies.jsonl", json_lines(&[reply]));
        golden.add("live.jsonl", json_lines(&[record, none, run]));
        golden.check();
    }
}
