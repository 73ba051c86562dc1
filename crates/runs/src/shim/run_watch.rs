//! Supervises a run from its start until no process of it is left.

use std::convert::Infallible;
use std::io;
use std::process::Child;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use adjutant_config::Kind;
use adjutant_process::clock::{Clock, SystemClock};
use adjutant_process::process_table::{self, ProcessIdentity};
use adjutant_run_files::attempt_files::{
    AttemptFolder, ExitRecord, ProcessExit, SyncLevel, retry_while_full,
};
use adjutant_run_files::sandbox_spec::CommandSandbox;
use adjutant_run_files::shim_spec::{ShimSpec, StopTarget};
use rustix::process::Pid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::control_socket::ControlSocket;
use super::heartbeat_file::HeartbeatWriter;
use super::lease_file::LeaseDeadline;
use super::message_scanner::WantedMessages;
use super::outbox::OutboxWriter;
use super::output_log::OutputLog;
use super::output_pump::{self, OutputSink};
use super::reaper::{LeftProcesses, ReapEvent};
use super::report_file::{self, ReportFile};
use super::run_socket::{RunSocket, WatchNotifier};
use super::{agent_launch, reaper};
use crate::agent::{AgentSelfReport, AgentStreamParser, LocalNow, TOKEN_VARIABLE};
use crate::sandbox::bubblewrap;

pub(super) enum WatchEvent {
    Reaped(ReapEvent),
    /// A control request or a signal asks to stop the run.
    Stop {
        reason: String,
        /// Whether the agent gets one grace period to exit by itself before it is asked to.
        leave: bool,
    },
    /// The outbox has a new message.
    Message,
    /// The agent sent a heartbeat.
    Heartbeat,
    /// The agent's stream has reported new telemetry.
    Telemetry(Box<AgentSelfReport>),
}

#[derive(Clone, Copy)]
enum RunPhase {
    Working,
    /// The agent has reported, and may exit by itself until this time.
    Leaving(Instant),
    /// The processes were asked to end, and are killed at this time.
    Asked(Instant),
    /// The remaining processes are killed repeatedly.
    Killing {
        /// When to kill again.
        next: Instant,
        /// The pause that led to `next`; it doubles each time.
        pause: Duration,
    },
}

/// The longest pause between two attempts to kill the remaining processes.
const KILL_PAUSE_MAX: Duration = Duration::from_millis(500);
/// How long an agent may continue while it reports that it cannot work: some retry for hours.
const TROUBLE_PATIENCE: Duration = Duration::from_mins(1);
/// How often to check that the folder of the run still exists.
const FOLDER_CHECK_PAUSE: Duration = Duration::from_secs(5);
/// How often the watchers are told that the run is supervised.
const PULSE_PAUSE: Duration = Duration::from_secs(2);
/// How long to wait before checking again for a message that waits for disk space.
const DRAIN_PAUSE: Duration = Duration::from_millis(20);

pub(super) struct RunWatch {
    folder: AttemptFolder,
    sink: Arc<OutputSink>,
    heartbeat: HeartbeatWriter,
    socket: ControlSocket,
    /// Open until the exit is recorded.
    run_socket: RunSocket,
    tell: Sender<WatchEvent>,
    notifier: WatchNotifier,
    events: Receiver<WatchEvent>,
    /// Why the shim is ending the run; `None` if the agent ends by itself.
    cause: Option<ProcessExit>,
    exit: Option<ProcessExit>,
    phase: RunPhase,
    reason: String,
    timeout_at: Option<Instant>,
    beat_at: Instant,
    report: Option<ReportFile>,
    report_poll_at: Instant,
    /// When to check next that the folder of the run still exists.
    folder_check_at: Instant,
    /// When to tell the watchers next that the run is supervised.
    pulse_at: Instant,
    /// The lease of a run in a fleet, and when to read it again.
    lease: Option<(LeaseDeadline, Instant)>,
    /// Since when the agent reports that it cannot work.
    trouble_since: Option<Instant>,
}

impl RunWatch {
    /// Opens everything that the run needs, and writes the first heartbeat.
    pub(super) fn prepare(spec: &ShimSpec, folder: &AttemptFolder) -> io::Result<Self> {
        let log = OutputLog::open(folder, spec.limits.log_bytes)?;
        let token = spec.environment.set.get(TOKEN_VARIABLE).map_or("", String::as_str);
        let outbox = OutboxWriter::open(folder)?;
        let sink = Arc::new(OutputSink::new(log, outbox, token, &spec.secrets));
        let (tell, events) = channel();
        let door = ControlSocket::open(tell.clone(), Arc::clone(&sink), folder)?;
        let notifier = WatchNotifier::new(tell.clone());
        let run_socket = RunSocket::open(spec, folder, Arc::clone(&sink), notifier.clone())?;
        listen_to_signals(tell.clone())?;
        let mut heart = HeartbeatWriter::new(spec, folder);
        heart.write_heartbeat(spec);
        let now = Instant::now();
        Ok(Self {
            folder: folder.clone(),
            sink,
            heartbeat: heart,
            socket: door,
            run_socket,
            tell,
            notifier,
            events,
            cause: None,
            exit: None,
            phase: RunPhase::Working,
            reason: String::new(),
            timeout_at: spec.limits.timeout_ms.map(|ms| add_millis(now, ms)),
            beat_at: add_millis(now, spec.limits.beat_ms),
            report: ReportFile::from_spec(spec.report.as_ref(), folder),
            report_poll_at: now + report_file::POLL_PAUSE,
            folder_check_at: now + FOLDER_CHECK_PAUSE,
            pulse_at: now + PULSE_PAUSE,
            lease: open_lease(spec, folder),
            trouble_since: None,
        })
    }

    /// Supervises until no process of the run is left, then records how it ended.
    pub(super) fn run_to_end(mut self, spec: &ShimSpec, mut child: Child) -> io::Result<()> {
        agent_launch::feed_order(&mut child, &self.folder);
        let printing = self.pump(spec, &mut child);
        let agent = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let agent = agent.expect("a process has a number");
        let tell = self.tell.clone();
        std::thread::spawn(move || {
            reaper::reap(agent, |event| drop(tell.send(WatchEvent::Reaped(event))));
        });
        while !self.handle_next_event(spec, agent) {}
        self.finish(spec, &printing)
    }

    /// Starts the threads that copy the output. The returned channel closes when all
    /// output was copied.
    fn pump(&self, spec: &ShimSpec, child: &mut Child) -> Receiver<Infallible> {
        let (pumping, printing) = channel();
        if let Some(stdout) = child.stdout.take() {
            let (sink, notifier) = (Arc::clone(&self.sink), self.notifier.clone());
            let looks_for = WantedMessages {
                aof: spec.lines,
                document: self.report.as_ref().map(ReportFile::kind),
            };
            let notify = move || notifier.notify_message();
            let pumping = pumping.clone();
            let hear = self.stream_listener(spec);
            std::thread::spawn(move || {
                output_pump::pump_stdout(stdout, &sink, looks_for, notify, hear);
                drop(pumping);
            });
        }
        if let Some(stderr) = child.stderr.take() {
            let sink = Arc::clone(&self.sink);
            std::thread::spawn(move || {
                output_pump::pump_stderr(stderr, &sink);
                drop(pumping);
            });
        }
        printing
    }

    /// Returns the function that parses the agent's event stream. Telemetry is on disk before the
    /// watch gets its event.
    fn stream_listener(&self, spec: &ShimSpec) -> impl FnMut(&[u8]) + use<> {
        let kind = spec.reads.as_deref().and_then(Kind::parse);
        let new = |kind| {
            AgentStreamParser::new(kind, spec.session.clone())
                .with_version_warning(spec.untried.clone())
        };
        let mut parser = kind.map(new);
        let (folder, tell) = (self.folder.clone(), self.tell.clone());
        if let Some(parser) = &parser {
            // The existence of the file says that the stream is parsed.
            let _ = folder.write_telemetry(parser.self_report());
        }
        move |bytes| {
            let ahead = jiff::Zoned::now().offset().seconds().into();
            let now =
                LocalNow { secs: SystemClock.now().as_millis() / 1_000, utc_offset_secs: ahead };
            if let Some(telemetry) = parser.as_mut().and_then(|parser| parser.push(bytes, now)) {
                let _ = folder.write_telemetry(&telemetry);
                let _ = tell.send(WatchEvent::Telemetry(Box::new(telemetry)));
            }
        }
    }

    /// Stops an agent that has used up its budget, and notes since when an agent cannot work.
    fn handle_telemetry(&mut self, spec: &ShimSpec, agent: Pid, telemetry: &AgentSelfReport) {
        let over = |limit: Option<u64>, used: u64| limit.is_some_and(|limit| used >= limit);
        let (tokens, cost) = (spec.limits.budget_tokens, spec.limits.budget_cost);
        let spent = over(tokens, telemetry.used.tokens()) || over(cost, telemetry.used.cost);
        if spent && matches!(self.phase, RunPhase::Working) {
            self.ask_to_end(spec, agent, Some(ProcessExit::OverBudget));
        }
        self.trouble_since = match self.trouble_since {
            _ if !telemetry.is_in_trouble() => None,
            None => Some(Instant::now()),
            since => since,
        };
    }

    fn trouble_at(&self, spec: &ShimSpec) -> Option<Instant> {
        let own = spec.limits.idle_timeout_ms.map_or(TROUBLE_PATIENCE, Duration::from_millis);
        self.trouble_since.map(|since| since + own.min(TROUBLE_PATIENCE))
    }

    /// Waits for the next event and handles it. Returns whether the run has ended.
    fn handle_next_event(&mut self, spec: &ShimSpec, agent: Pid) -> bool {
        let wait = self.next_at(spec).saturating_duration_since(Instant::now());
        match self.events.recv_timeout(wait) {
            Ok(WatchEvent::Reaped(ReapEvent::Exited { exit, left })) => {
                self.handle_exit(spec, agent, exit, left);
            }
            Ok(WatchEvent::Reaped(ReapEvent::NoneLeft)) => return none_left(spec, agent),
            Ok(WatchEvent::Stop { reason, leave }) => self.handle_stop(spec, agent, reason, leave),
            Ok(WatchEvent::Message) => {
                self.notifier.take_message();
                self.socket.notify_watchers();
            }
            Ok(WatchEvent::Heartbeat) => {
                self.notifier.take_heartbeat();
                self.heartbeat.write_heartbeat(spec);
            }
            Ok(WatchEvent::Telemetry(telemetry)) => self.handle_telemetry(spec, agent, &telemetry),
            // The watch holds a sender itself, so the channel is never disconnected.
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        self.handle_timers(spec, agent);
        false
    }

    /// Returns when something is due next.
    fn next_at(&self, spec: &ShimSpec) -> Instant {
        let (timeout, idle) = match self.phase {
            RunPhase::Working => {
                let idle = self.idle_at(spec).into_iter().chain(self.trouble_at(spec)).min();
                (self.timeout_at, idle)
            }
            RunPhase::Leaving(at) | RunPhase::Asked(at) | RunPhase::Killing { next: at, .. } => {
                (Some(at), None)
            }
        };
        let look = self.report.as_ref().map(|_| self.report_poll_at);
        let first = self.beat_at.min(self.folder_check_at).min(self.pulse_at);
        let lease = self.lease_at();
        [timeout, idle, look, lease].into_iter().flatten().fold(first, Instant::min)
    }

    /// Returns when the lease must be read again, unless the run is being ended already.
    fn lease_at(&self) -> Option<Instant> {
        let asks = matches!(self.phase, RunPhase::Working | RunPhase::Leaving(_));
        self.lease.as_ref().filter(|_| asks).map(|(_, at)| *at)
    }

    /// Returns whether the lease has expired. Reads the lease file again if it may have.
    fn is_lease_over(&mut self, spec: &ShimSpec, now: Instant) -> bool {
        if self.lease_at().is_none_or(|at| now < at) {
            return false;
        }
        let Some((deadline, at)) = &mut self.lease else { return false };
        *at = deadline.stop_time(lease_grace(spec));
        Instant::now() >= *at
    }

    fn idle_at(&self, spec: &ShimSpec) -> Option<Instant> {
        spec.limits.idle_timeout_ms.map(|ms| add_millis(self.sink.last_heartbeat(), ms))
    }

    /// Does everything that is due.
    fn handle_timers(&mut self, spec: &ShimSpec, agent: Pid) {
        let now = Instant::now();
        if now >= self.beat_at {
            self.heartbeat.write_heartbeat(spec);
            self.beat_at = add_millis(now, spec.limits.beat_ms);
        }
        if now >= self.report_poll_at {
            self.report_poll_at = now + report_file::POLL_PAUSE;
            self.poll_report();
        }
        if now >= self.folder_check_at {
            self.folder_check_at = now + FOLDER_CHECK_PAUSE;
            self.check_folder(spec, agent);
        }
        if self.is_lease_over(spec, now) {
            self.ask_to_end(
                spec,
                agent,
                Some(ProcessExit::Stopped(LeaseDeadline::EXPIRED.to_owned())),
            );
        }
        match self.phase {
            RunPhase::Working if self.timeout_at.is_some_and(|at| now >= at) => {
                self.ask_to_end(spec, agent, Some(ProcessExit::TimedOut));
            }
            RunPhase::Working if self.idle_at(spec).is_some_and(|at| now >= at) => {
                self.ask_to_end(spec, agent, Some(ProcessExit::Idle));
            }
            RunPhase::Working if self.trouble_at(spec).is_some_and(|at| now >= at) => {
                self.ask_to_end(spec, agent, Some(ProcessExit::Idle));
            }
            RunPhase::Leaving(at) if now >= at => {
                let reason = std::mem::take(&mut self.reason);
                self.ask_to_end(spec, agent, Some(ProcessExit::Stopped(reason)));
            }
            RunPhase::Asked(at) if now >= at => self.kill(spec, agent, Duration::from_millis(5)),
            RunPhase::Killing { next, pause } if now >= next => {
                self.kill(spec, agent, (pause * 2).min(KILL_PAUSE_MAX));
            }
            RunPhase::Working
            | RunPhase::Leaving(_)
            | RunPhase::Asked(_)
            | RunPhase::Killing { .. } => {}
        }
        // Last, because it says that everything was done.
        if now >= self.pulse_at {
            self.pulse_at = now + PULSE_PAUSE;
            self.socket.send_pulse();
        }
    }

    /// Ends a run whose folder was removed: its results would be lost, and a later daemon could
    /// not find it.
    fn check_folder(&mut self, spec: &ShimSpec, agent: Pid) {
        // The folder is the shim's working directory; a folder that was only moved still exists.
        let gone = std::env::current_dir().is_err();
        if gone && matches!(self.phase, RunPhase::Working | RunPhase::Leaving(_)) {
            let why = "the folder of the run was removed".to_owned();
            self.ask_to_end(spec, agent, Some(ProcessExit::Stopped(why)));
        }
    }

    /// Takes the report document as soon as it is complete.
    fn poll_report(&mut self) {
        if let Some(said) = self.report.as_mut().and_then(ReportFile::poll) {
            self.sink.record_heartbeat();
            self.sink.add_message(said);
            self.socket.notify_watchers();
        }
    }

    /// Takes the report document, complete or not, now that no process of the run is left.
    fn take_final_report(&mut self) {
        let Some(report) = &mut self.report else { return };
        let left = report.final_message();
        let silent = left.is_none() && !self.sink.has_reported();
        let printed = silent.then(|| report.find_in_output(&self.sink.ending())).flatten();
        if let Some(said) = left.or(printed) {
            self.sink.add_message(said);
        }
    }

    /// Ends the processes that the agent has started, after its exit. Most agents leave none, and
    /// then the process table need not be searched.
    fn handle_exit(&mut self, spec: &ShimSpec, agent: Pid, exit: ProcessExit, left: LeftProcesses) {
        self.exit = Some(exit);
        let asks = matches!(self.phase, RunPhase::Working | RunPhase::Leaving(_));
        if asks && left == LeftProcesses::Unknown {
            self.ask_to_end(spec, agent, None);
        }
    }

    fn handle_stop(&mut self, spec: &ShimSpec, agent: Pid, reason: String, leave: bool) {
        match self.phase {
            RunPhase::Working if leave => {
                self.reason = reason;
                self.phase = RunPhase::Leaving(add_millis(Instant::now(), spec.limits.grace_ms));
            }
            RunPhase::Working | RunPhase::Leaving(_) if !leave => {
                self.ask_to_end(spec, agent, Some(ProcessExit::Stopped(reason)));
            }
            RunPhase::Working
            | RunPhase::Leaving(_)
            | RunPhase::Asked(_)
            | RunPhase::Killing { .. } => {}
        }
    }

    /// Asks the processes of the run to end.
    fn ask_to_end(&mut self, spec: &ShimSpec, agent: Pid, cause: Option<ProcessExit>) {
        self.cause = cause;
        process_table::ask_to_end(&match spec.asks {
            // An agent that has exited cannot shut down its processes.
            StopTarget::Agent if self.exit.is_none() => agent_process(spec, agent),
            StopTarget::Agent | StopTarget::All => processes_to_ask(spec, agent),
        });
        self.phase = RunPhase::Asked(add_millis(Instant::now(), spec.limits.grace_ms));
    }

    fn kill(&mut self, spec: &ShimSpec, agent: Pid, pause: Duration) {
        process_table::kill_all(|| remaining_processes(spec, agent));
        self.phase = RunPhase::Killing { next: Instant::now() + pause, pause };
    }

    /// Records the exit, then notifies the watchers.
    ///
    /// A watching daemon commits the exit within a moment, which makes it durable. Without a
    /// watcher that may take days, and a power cut must not undo the end of a run: so the last
    /// messages are synced first, and then the exit, which says that there are no more messages.
    fn finish(mut self, spec: &ShimSpec, printing: &Receiver<Infallible>) -> io::Result<()> {
        self.drain(spec, printing);
        self.take_final_report();
        self.sink.flush_refusals();
        self.sink.complete_messages();
        drop(self.run_socket);
        let sync = if self.socket.notify_watchers() { SyncLevel::Later } else { SyncLevel::Whole };
        if sync == SyncLevel::Whole {
            let _ = self.sink.sync();
        }
        let exit = self.cause.take().or(self.exit.take()).unwrap_or(ProcessExit::Lost);
        let ended = ExitRecord::new(spec, exit, self.sink.tail());
        retry_while_full(|| {
            self.socket.send_pulse();
            self.folder.write_exit(&ended, sync)
        })?;
        self.socket.notify_watchers();
        Ok(())
    }

    /// Waits for the last output, which ends with the last process that could print. If a process
    /// outside the run holds the pipe open, waits for one grace period only; but always waits for a
    /// message that needs disk space.
    fn drain(&self, spec: &ShimSpec, printing: &Receiver<Infallible>) {
        let grace_at = add_millis(Instant::now(), spec.limits.grace_ms.max(1_000));
        let mut patience = PULSE_PAUSE.min(grace_at.saturating_duration_since(Instant::now()));
        while let Err(RecvTimeoutError::Timeout) = printing.recv_timeout(patience) {
            self.socket.send_pulse();
            let left = grace_at.saturating_duration_since(Instant::now());
            if left.is_zero() && !self.sink.is_writing() {
                return;
            }
            patience = PULSE_PAUSE.min(left).max(DRAIN_PAUSE);
        }
    }
}

/// Adds milliseconds to a time, at most a year.
fn add_millis(from: Instant, ms: u64) -> Instant {
    const YEAR: Duration = Duration::from_hours(365 * 24);
    from + Duration::from_millis(ms).min(YEAR)
}

/// Returns the process of the agent.
fn agent_process(spec: &ShimSpec, agent: Pid) -> Vec<ProcessIdentity> {
    match &spec.sandbox {
        CommandSandbox::Strict(_) => {
            let inside = bubblewrap::processes_inside(agent.as_raw_nonzero().get());
            inside.into_iter().take(1).collect()
        }
        CommandSandbox::None | CommandSandbox::Landlock { .. } => {
            ProcessIdentity::find(agent.as_raw_nonzero().get()).into_iter().collect()
        }
    }
}

/// Returns the processes that can be asked to end.
fn processes_to_ask(spec: &ShimSpec, agent: Pid) -> Vec<ProcessIdentity> {
    match &spec.sandbox {
        CommandSandbox::Strict(_) => bubblewrap::processes_inside(agent.as_raw_nonzero().get()),
        CommandSandbox::None | CommandSandbox::Landlock { .. } => remaining_processes(spec, agent),
    }
}

/// Returns the remaining processes of the run.
#[cfg(target_os = "linux")]
fn remaining_processes(_: &ShimSpec, _: Pid) -> Vec<ProcessIdentity> {
    process_table::descendants(&[ProcessIdentity::current().pid])
}

/// Returns the processes of the run that can be found: descendants of the agent, and processes with
/// the run's token.
#[cfg(not(target_os = "linux"))]
fn left(spec: &ShimSpec, agent: Pid) -> Vec<ProcessIdentity> {
    let agent = agent.as_raw_nonzero().get();
    let mut found = process_table::descendants(&[agent]);
    found.extend(ProcessIdentity::of(agent));
    if let Some(token) = spec.environment.set.get(TOKEN_VARIABLE) {
        found.extend(process_table::find_by_variable(TOKEN_VARIABLE, token));
    }
    found
}

fn open_lease(spec: &ShimSpec, folder: &AttemptFolder) -> Option<(LeaseDeadline, Instant)> {
    let deadline = LeaseDeadline::open(folder.path())?;
    let at = deadline.stop_time(lease_grace(spec));
    Some((deadline, at))
}

/// Returns how long before its lease expires a run is asked to end: its grace period, but at most a
/// quarter of the heartbeat's validity.
fn lease_grace(spec: &ShimSpec) -> Duration {
    Duration::from_millis(spec.limits.grace_ms.min(spec.limits.ttl_ms / 4))
}

/// Returns whether the run has ended, now that the shim has no children.
#[cfg(target_os = "linux")]
fn none_left(_: &ShimSpec, _: Pid) -> bool {
    true
}

/// Kills the processes that can still be found. They are not asked first, because the shim is not
/// their parent and cannot wait for them.
#[cfg(not(target_os = "linux"))]
fn none_left(spec: &ShimSpec, agent: Pid) -> bool {
    while !remaining_processes(spec, agent).is_empty() {
        process_table::kill_all(|| remaining_processes(spec, agent));
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

/// Turns SIGTERM and SIGINT into a request to stop the run. Ignores SIGHUP: a closed terminal must
/// not end a run.
fn listen_to_signals(tell: Sender<WatchEvent>) -> io::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    std::thread::spawn(move || {
        for signal in signals.forever().filter(|signal| *signal != SIGHUP) {
            let reason = format!("the shim received signal {signal}");
            let _ = tell.send(WatchEvent::Stop { reason, leave: false });
        }
    });
    Ok(())
}
