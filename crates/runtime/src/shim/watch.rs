//! Watches over a run from its start until nothing of it is left.

use std::convert::Infallible;
use std::io;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rustix::process::Pid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::beat::Heart;
use super::door::Door;
use super::files::{Ended, Exit, Folder, Sync};
use super::lease::Deadline;
use super::lines::Wanted;
use super::log::Log;
use super::outbox::Outbox;
use super::pump::{self, Sink};
use super::report::{self, Report};
use super::spec::{Asks, Lines, Spec};
use super::{launch, reaper};
use crate::agent::{Ear, Now, TOKEN_VARIABLE, Told};
use crate::clock::{Clock, SystemClock};
use crate::config::Kind;
use crate::process::{self, Process};

/// What the watch hears of.
pub(super) enum Event {
    /// The agent ended.
    Exited {
        /// How.
        exit: Exit,
        /// What it left behind.
        left: Left,
    },
    /// Nothing is left below the shim.
    NoneLeft,
    /// Somebody wants the run stopped.
    Stop {
        /// Why.
        reason: String,
        /// Whether it gets the time of a grace to leave by itself first.
        leave: bool,
    },
    /// There is a message in the outbox.
    Message,
    /// The agent told something of itself.
    Told(Box<Told>),
}

/// Whether an agent left anything behind.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// It did not, and that is certain.
    Nothing,
    /// It may have; who looks will see.
    Perhaps,
}

/// How far a run is.
#[derive(Clone, Copy)]
enum Phase {
    /// The agent works.
    Working,
    /// The agent has reported and may leave by itself until then.
    Leaving(Instant),
    /// Everything was asked to end, and is killed then.
    Asked(Instant),
    /// What is left is killed, again and again.
    Killing {
        /// When to look again.
        next: Instant,
        /// How long to wait after that.
        pause: Duration,
    },
}

/// The longest pause between two attempts to kill what is left.
const PAUSE_MAX: Duration = Duration::from_millis(500);
/// How long an agent may be at it that says it cannot work: some try again for hours.
const TROUBLE_PATIENCE: Duration = Duration::from_mins(1);
/// How often to see whether the folder of the run is still there.
const HOME_PAUSE: Duration = Duration::from_secs(5);
/// How long to wait before looking again at a message that waits for room.
const DRAIN_PAUSE: Duration = Duration::from_millis(20);

/// Why a run is stopped that nobody lets go on.
const LEASE_OVER: &str = "its lease is over";

/// Watches over a run.
pub(super) struct Watch {
    folder: Folder,
    sink: Arc<Sink>,
    heart: Heart,
    door: Door,
    tell: Sender<Event>,
    events: Receiver<Event>,
    /// Whether news of messages is on its way, so that a flood of them is told of once.
    news: Arc<AtomicBool>,
    /// Why the run is being ended, if it is not by itself.
    cause: Option<Exit>,
    exit: Option<Exit>,
    phase: Phase,
    reason: String,
    timeout_at: Option<Instant>,
    beat_at: Instant,
    report: Option<Report>,
    look_at: Instant,
    /// When to see next whether the folder of the run is still there.
    home_at: Instant,
    /// Until when the run may go on, where somebody says so, and when to look at that again.
    lease: Option<(Deadline, Instant)>,
    /// Since when the agent says that it cannot work.
    trouble: Option<Instant>,
}

impl Watch {
    /// Opens everything the run needs, and beats for the first time.
    pub(super) fn prepare(spec: &Spec, folder: &Folder) -> io::Result<Self> {
        let log = Log::open(folder, spec.limits.log_bytes)?;
        let secret = spec.environment.set.get(TOKEN_VARIABLE).map_or("", String::as_str);
        let sink = Arc::new(Sink::new(log, Outbox::open(folder)?, secret));
        let (tell, events) = channel();
        let door = Door::open(tell.clone(), Arc::clone(&sink), folder)?;
        listen_to_signals(tell.clone())?;
        let mut heart = Heart::of(spec, folder);
        heart.beat(spec);
        let now = Instant::now();
        Ok(Self {
            folder: folder.clone(),
            sink,
            heart,
            door,
            tell,
            events,
            news: Arc::default(),
            cause: None,
            exit: None,
            phase: Phase::Working,
            reason: String::new(),
            timeout_at: spec.limits.timeout_ms.map(|ms| later(now, ms)),
            beat_at: later(now, spec.limits.beat_ms),
            report: Report::of(spec.report.as_ref(), folder),
            look_at: now + report::PAUSE,
            home_at: now + HOME_PAUSE,
            lease: lease(spec, folder),
            trouble: None,
        })
    }

    /// Watches until nothing of the run is left, and writes down how it ended.
    pub(super) fn until_over(mut self, spec: &Spec, mut child: Child) -> io::Result<()> {
        launch::feed(&mut child, &self.folder);
        let printing = self.pump(spec, &mut child);
        let agent = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let agent = agent.expect("a process has a number");
        let tell = self.tell.clone();
        std::thread::spawn(move || reaper::reap(agent, &tell));
        while !self.is_over(spec, agent) {}
        self.finish(spec, &printing)
    }

    /// Pumps what the agent prints. What is returned is cut off when all of it is in.
    fn pump(&self, spec: &Spec, child: &mut Child) -> Receiver<Infallible> {
        let (pumping, printing) = channel();
        if let Some(stdout) = child.stdout.take() {
            let (sink, tell) = (Arc::clone(&self.sink), self.tell.clone());
            let looks_for = Wanted {
                aof: spec.lines == Lines::Messages,
                document: self.report.as_ref().map(Report::kind),
            };
            let news = Arc::clone(&self.news);
            let told = move || {
                if !news.swap(true, Ordering::AcqRel) {
                    let _ = tell.send(Event::Message);
                }
            };
            let pumping = pumping.clone();
            let hear = self.ear(spec);
            std::thread::spawn(move || {
                pump::messages(stdout, &sink, looks_for, told, hear);
                drop(pumping);
            });
        }
        if let Some(stderr) = child.stderr.take() {
            let sink = Arc::clone(&self.sink);
            std::thread::spawn(move || {
                pump::output(stderr, &sink);
                drop(pumping);
            });
        }
        printing
    }

    /// Makes what listens to what the agent says of itself. What was told is on disk before the
    /// watch hears of it.
    fn ear(&self, spec: &Spec) -> impl FnMut(&[u8]) + use<> {
        let kind = spec.reads.as_deref().and_then(Kind::parse);
        let new = |kind| Ear::new(kind, spec.session.clone()).knowing(spec.untried.clone());
        let mut ear = kind.map(new);
        let (folder, tell) = (self.folder.clone(), self.tell.clone());
        if let Some(ear) = &ear {
            // That the file is there says that somebody listens.
            let _ = folder.write_told(ear.told());
        }
        move |bytes| {
            let ahead = jiff::Zoned::now().offset().seconds().into();
            let now = Now { secs: SystemClock.now().as_millis() / 1_000, ahead };
            if let Some(told) = ear.as_mut().and_then(|ear| ear.push(bytes, now)) {
                let _ = folder.write_told(&told);
                let _ = tell.send(Event::Told(Box::new(told)));
            }
        }
    }

    /// Stops an agent that has used up its budget, and one that cannot work and does not see it.
    fn told(&mut self, spec: &Spec, agent: Pid, told: &Told) {
        let over = |limit: Option<u64>, used: u64| limit.is_some_and(|limit| used >= limit);
        let (tokens, cost) = (spec.limits.budget_tokens, spec.limits.budget_cost);
        let spent = over(tokens, told.used.tokens()) || over(cost, told.used.cost);
        if spent && matches!(self.phase, Phase::Working) {
            self.ask(spec, agent, Some(Exit::OverBudget));
        }
        self.trouble = match self.trouble {
            _ if !told.is_in_trouble() => None,
            None => Some(Instant::now()),
            since => since,
        };
    }

    fn trouble_at(&self, spec: &Spec) -> Option<Instant> {
        let own = spec.limits.idle_timeout_ms.map_or(TROUBLE_PATIENCE, Duration::from_millis);
        self.trouble.map(|since| since + own.min(TROUBLE_PATIENCE))
    }

    /// Waits for the next thing to happen and deals with it. Says whether the run is over.
    fn is_over(&mut self, spec: &Spec, agent: Pid) -> bool {
        let wait = self.next_at(spec).saturating_duration_since(Instant::now());
        match self.events.recv_timeout(wait) {
            Ok(Event::Exited { exit, left }) => self.exited(spec, agent, exit, left),
            Ok(Event::NoneLeft) => return none_left(spec, agent),
            Ok(Event::Stop { reason, leave }) => self.stop(spec, agent, reason, leave),
            Ok(Event::Message) => {
                self.news.store(false, Ordering::Release);
                self.door.tell();
            }
            Ok(Event::Told(told)) => self.told(spec, agent, &told),
            // The watch holds a sender itself, so that they cannot all be gone.
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        self.on_time(spec, agent);
        false
    }

    /// Returns when something is due next.
    fn next_at(&self, spec: &Spec) -> Instant {
        let (timeout, idle) = match self.phase {
            Phase::Working => {
                let idle = self.idle_at(spec).into_iter().chain(self.trouble_at(spec)).min();
                (self.timeout_at, idle)
            }
            Phase::Leaving(at) | Phase::Asked(at) | Phase::Killing { next: at, .. } => {
                (Some(at), None)
            }
        };
        let look = self.report.as_ref().map(|_| self.look_at);
        let first = self.beat_at.min(self.home_at);
        let lease = self.lease_at();
        [timeout, idle, look, lease].into_iter().flatten().fold(first, Instant::min)
    }

    /// Returns when the run may have to end because its lease is over.
    fn lease_at(&self) -> Option<Instant> {
        let asks = matches!(self.phase, Phase::Working | Phase::Leaving(_));
        self.lease.as_ref().filter(|_| asks).map(|(_, at)| *at)
    }

    /// Says whether the lease of the run is over, and looks when it may be.
    fn is_lease_over(&mut self, spec: &Spec, now: Instant) -> bool {
        if self.lease_at().is_none_or(|at| now < at) {
            return false;
        }
        let Some((deadline, at)) = &mut self.lease else { return false };
        *at = deadline.at(grace_of_lease(spec));
        Instant::now() >= *at
    }

    fn idle_at(&self, spec: &Spec) -> Option<Instant> {
        spec.limits.idle_timeout_ms.map(|ms| later(self.sink.heard(), ms))
    }

    /// Does what is due.
    fn on_time(&mut self, spec: &Spec, agent: Pid) {
        let now = Instant::now();
        if now >= self.beat_at {
            self.heart.beat(spec);
            self.beat_at = later(now, spec.limits.beat_ms);
        }
        if now >= self.look_at {
            self.look_at = now + report::PAUSE;
            self.look();
        }
        if now >= self.home_at {
            self.home_at = now + HOME_PAUSE;
            self.see_home(spec, agent);
        }
        if self.is_lease_over(spec, now) {
            self.ask(spec, agent, Some(Exit::Stopped(LEASE_OVER.to_owned())));
        }
        match self.phase {
            Phase::Working if self.timeout_at.is_some_and(|at| now >= at) => {
                self.ask(spec, agent, Some(Exit::TimedOut));
            }
            Phase::Working if self.idle_at(spec).is_some_and(|at| now >= at) => {
                self.ask(spec, agent, Some(Exit::Idle));
            }
            Phase::Working if self.trouble_at(spec).is_some_and(|at| now >= at) => {
                self.ask(spec, agent, Some(Exit::Idle));
            }
            Phase::Leaving(at) if now >= at => {
                let reason = std::mem::take(&mut self.reason);
                self.ask(spec, agent, Some(Exit::Stopped(reason)));
            }
            Phase::Asked(at) if now >= at => self.kill(spec, agent, Duration::from_millis(5)),
            Phase::Killing { next, pause } if now >= next => {
                self.kill(spec, agent, (pause * 2).min(PAUSE_MAX));
            }
            Phase::Working | Phase::Leaving(_) | Phase::Asked(_) | Phase::Killing { .. } => {}
        }
    }

    /// Ends a run whose folder somebody took away: nothing of what it does can come to anything, and
    /// there may never be anybody again who looks for it.
    fn see_home(&mut self, spec: &Spec, agent: Pid) {
        // The shim works in that folder; one that was moved is still there.
        let gone = std::env::current_dir().is_err();
        if gone && matches!(self.phase, Phase::Working | Phase::Leaving(_)) {
            let why = "the folder of the run was taken away".to_owned();
            self.ask(spec, agent, Some(Exit::Stopped(why)));
        }
    }

    /// Takes the run's document as soon as it is whole.
    fn look(&mut self) {
        if let Some(said) = self.report.as_mut().and_then(Report::look) {
            self.sink.touch();
            self.sink.message(said);
            self.door.tell();
        }
    }

    /// Takes the run's document, such as it is, now that nothing of the run is left.
    fn look_last(&mut self) {
        let Some(report) = &mut self.report else { return };
        let left = report.last();
        let silent = left.is_none() && !self.sink.has_reported();
        let printed = silent.then(|| report.printed(&self.sink.ending())).flatten();
        if let Some(said) = left.or(printed) {
            self.sink.message(said);
        }
    }

    /// The agent is gone; what it started goes too. Most leave nothing, and then the table of
    /// processes, which is long, is not looked through.
    fn exited(&mut self, spec: &Spec, agent: Pid, exit: Exit, left: Left) {
        self.exit = Some(exit);
        let asks = matches!(self.phase, Phase::Working | Phase::Leaving(_));
        if asks && left == Left::Perhaps {
            self.ask(spec, agent, None);
        }
    }

    fn stop(&mut self, spec: &Spec, agent: Pid, reason: String, leave: bool) {
        match self.phase {
            Phase::Working if leave => {
                self.reason = reason;
                self.phase = Phase::Leaving(later(Instant::now(), spec.limits.grace_ms));
            }
            Phase::Working | Phase::Leaving(_) if !leave => {
                self.ask(spec, agent, Some(Exit::Stopped(reason)));
            }
            Phase::Working | Phase::Leaving(_) | Phase::Asked(_) | Phase::Killing { .. } => {}
        }
    }

    /// Asks everything to end.
    fn ask(&mut self, spec: &Spec, agent: Pid, cause: Option<Exit>) {
        self.cause = cause;
        process::ask(&match spec.asks {
            // One that is gone can ask nobody.
            Asks::Agent if self.exit.is_none() => {
                Process::of(agent.as_raw_nonzero().get()).into_iter().collect()
            }
            Asks::Agent | Asks::All => left(spec, agent),
        });
        self.phase = Phase::Asked(later(Instant::now(), spec.limits.grace_ms));
    }

    fn kill(&mut self, spec: &Spec, agent: Pid, pause: Duration) {
        process::kill(|| left(spec, agent));
        self.phase = Phase::Killing { next: Instant::now() + pause, pause };
    }

    /// Writes the end down before anyone is told of it.
    ///
    /// Whoever listens takes the end in within a moment, and makes that safe. Where nobody does,
    /// it may be days until somebody comes, and no power cut may undo a run that has ended: its
    /// last messages are made safe, and then its end, which says that there are no more.
    fn finish(mut self, spec: &Spec, printing: &Receiver<Infallible>) -> io::Result<()> {
        self.drain(spec, printing);
        self.look_last();
        let sync = if self.door.tell() { Sync::Later } else { Sync::Whole };
        if sync == Sync::Whole {
            let _ = self.sink.sync();
        }
        let exit = self.cause.take().or(self.exit.take()).unwrap_or(Exit::Lost);
        self.folder.write_exit_with_room(&Ended::new(spec, exit, self.sink.tail()), sync)?;
        self.door.tell();
        Ok(())
    }

    /// Waits for the last of the output, which ends with the last process that could print. Should
    /// somebody outside the run have got hold of the pipe, the grace is all there is; a message
    /// that waits for room on the disk is waited for.
    fn drain(&self, spec: &Spec, printing: &Receiver<Infallible>) {
        let mut patience = Duration::from_millis(spec.limits.grace_ms.max(1_000));
        while let Err(RecvTimeoutError::Timeout) = printing.recv_timeout(patience) {
            if !self.sink.is_writing() {
                return;
            }
            patience = DRAIN_PAUSE;
        }
    }
}

/// Returns the time so much later; what lies beyond all clocks is a year away.
fn later(from: Instant, ms: u64) -> Instant {
    const YEAR: Duration = Duration::from_hours(365 * 24);
    from + Duration::from_millis(ms).min(YEAR)
}

/// Returns what is left of the run.
#[cfg(target_os = "linux")]
fn left(_: &Spec, _: Pid) -> Vec<Process> {
    process::descendants(&[Process::current().pid])
}

/// Returns what can be found of the run: what stands below the agent, and what has its token.
#[cfg(not(target_os = "linux"))]
fn left(spec: &Spec, agent: Pid) -> Vec<Process> {
    let agent = agent.as_raw_nonzero().get();
    let mut found = process::descendants(&[agent]);
    found.extend(Process::of(agent));
    if let Some(token) = spec.environment.set.get(TOKEN_VARIABLE) {
        found.extend(process::marked(TOKEN_VARIABLE, token));
    }
    found
}

fn lease(spec: &Spec, folder: &Folder) -> Option<(Deadline, Instant)> {
    let deadline = Deadline::of(folder.path())?;
    let at = deadline.at(grace_of_lease(spec));
    Some((deadline, at))
}

/// Returns how long before the end of its lease a run is asked to end: its grace, but never most of
/// the time it has.
fn grace_of_lease(spec: &Spec) -> Duration {
    Duration::from_millis(spec.limits.grace_ms.min(spec.limits.ttl_ms / 4))
}

/// Says whether there is truly nothing left, now that there is nothing to wait for.
#[cfg(target_os = "linux")]
fn none_left(_: &Spec, _: Pid) -> bool {
    true
}

/// Kills what can still be found of the run. Nobody waits for it here, so that it is not asked.
#[cfg(not(target_os = "linux"))]
fn none_left(spec: &Spec, agent: Pid) -> bool {
    while !left(spec, agent).is_empty() {
        process::kill(|| left(spec, agent));
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

/// Whoever asks the shim to end asks for the run to be stopped. That a terminal went away says
/// nothing.
fn listen_to_signals(tell: Sender<Event>) -> io::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    std::thread::spawn(move || {
        for signal in signals.forever().filter(|signal| *signal != SIGHUP) {
            let reason = format!("the shim got signal {signal}");
            let _ = tell.send(Event::Stop { reason, leave: false });
        }
    });
    Ok(())
}
