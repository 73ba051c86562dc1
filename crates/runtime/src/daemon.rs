//! The daemon: gives out work, looks after runs and takes in what comes, until it is told to stop.
//!
//! It holds no rule. What happens outside becomes a request to the engine, and what the engine owes
//! to the outside is done here. It may be killed at any moment: agents go on, and the next daemon
//! finds them, what they said meanwhile, and what was owed.

mod glance;
mod hold;
mod news;
mod once;
mod orders;
mod processes;
mod watch;

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use adjutant_core::schedule::{is_idle, next_time};
use adjutant_store::file::Folder;
use adjutant_store::{FileStore, StoreError};
use thiserror::Error;

pub use glance::{Glance, Running, Waiting};
pub use hold::{Held, Holder, NotHeld};
pub use news::Handle;
pub use once::tick;
pub use orders::order;

use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::crew::Give;
use crate::door::Porter;
use crate::engine::Engine;
use crate::service::{Client, Service, Unanswered};
use crate::supervisor::Supervisor;
use crate::token::Secret;
use news::{News, Signals};
use processes::Processes;

type Crew = crate::crew::Crew<Client, Processes>;

/// How long changes of files are gathered before they are looked at.
const FILES_PAUSE: Duration = Duration::from_millis(100);

/// How often to try again what could not be committed.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// What a daemon is started with.
pub struct Options {
    /// The folder it runs on.
    pub folder: Folder,
    /// What its configuration says.
    pub config: Config,
    /// The program that has the commands `shim` and `script-agent`: this one.
    pub program: PathBuf,
    /// When to leave.
    pub until: Until,
    /// How long at most between two glances; none where only changes are shown.
    pub glances: Option<Duration>,
}

/// When a daemon leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// When it is told to.
    Told,
    /// When there is nothing left to do.
    Idle,
}

/// Why a daemon could not start, or had to stop.
#[derive(Debug, Error)]
pub enum DaemonError {
    /// The folder cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The engine stopped.
    #[error("the engine has stopped")]
    Engine(#[from] Unanswered),
    /// Something about the system went wrong.
    #[error("cannot {attempt}")]
    Io {
        /// What was tried.
        attempt: &'static str,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

/// How far a daemon is on its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaving {
    /// It is here to stay.
    No,
    /// It gives out nothing more, and waits for the runs there are.
    Draining,
    /// It stops the runs there are, and waits until they are over.
    Stopping,
    /// It leaves; runs go on without it.
    Now,
}

/// A daemon on a folder.
pub struct Daemon {
    client: Client,
    crew: Crew,
    news: News,
    until: Until,
    poll: Duration,
    slots: u32,
    leaving: Leaving,
    watch: Option<watch::Watch>,
    porter: Porter,
    service: Service,
}

impl Daemon {
    /// Starts on a folder that `held` says is ours.
    pub fn start(options: Options, _held: &Held) -> Result<Self, DaemonError> {
        let io = |attempt| move |source| DaemonError::Io { attempt, source };
        let Options { folder, config, program, until, glances } = options;
        let root = folder.root().to_owned();
        let secret = Secret::open(&root).map_err(io("read the secret of the folder"))?;
        let (store, loaded) = FileStore::open(&folder)?;
        let engine = Engine::start(store, loaded, Box::new(SystemClock), config.policy())?
            .knowing(Some(secret.clone()));
        let (supervisor, events) = Supervisor::new(&root, program.clone(), secret);
        let news = News::gather(events, Signals::listen().map_err(io("listen for signals"))?)
            .map_err(io("start a thread"))?;
        let service = Service::start_told(engine, news.bell());
        let client = service.client();
        let porter = Porter::open(&root, client.clone()).map_err(io("open the door"))?;
        let ttl = config.scheduler.heartbeat_ttl.0;
        let poll = config.scheduler.poll.0.min(ttl / 4).max(Duration::from_millis(10));
        let poll = glances.map_or(poll, |glances| glances.min(poll));
        // Without it, what people do is noticed at the next poll.
        let watch = watch::Watch::start(&root, news.files()).ok();
        let (slots, leaving) = (config.scheduler.concurrency, Leaving::No);
        let crew = Crew::new(client.clone(), Processes { folder, config, program, supervisor });
        Ok(Self { client, crew, news, until, poll, slots, leaving, watch, porter, service })
    }

    /// Returns a way to tell it to leave.
    pub fn handle(&self) -> Handle {
        self.news.handle()
    }

    /// Works until it is time to leave. `show` is called whenever something may have changed.
    pub fn run(mut self, show: &mut dyn FnMut(&Glance)) -> Result<Leaving, DaemonError> {
        self.crew.adopt_all()?;
        loop {
            let patience = match self.turn(show) {
                Ok(Some(patience)) => patience,
                Ok(None) => break,
                // A full disk, say: tried again until it can be done, or nobody wants it any more.
                Err(DaemonError::Engine(error)) if passes(&error) => match self.leaving {
                    Leaving::Now => break,
                    Leaving::No | Leaving::Draining | Leaving::Stopping => RETRY_PAUSE,
                },
                Err(error) => return Err(error),
            };
            self.wait(patience)?;
        }
        let Self { client, crew, news, watch, porter, service, leaving, .. } = self;
        drop((watch, porter, crew, news, client));
        service.stop()?;
        Ok(leaving)
    }

    /// Works once, and returns how long to wait then; none when it is time to leave.
    fn turn(&mut self, show: &mut dyn FnMut(&Glance)) -> Result<Option<Duration>, DaemonError> {
        self.work()?;
        show(&Glance::take(&self.client, &self.crew, self.slots, self.leaving)?);
        if self.is_time_to_leave()? {
            return Ok(None);
        }
        self.patience().map(Some)
    }

    /// Does everything there is to do now.
    fn work(&mut self) -> Result<(), DaemonError> {
        let give = if self.leaving == Leaving::No { Give::Work } else { Give::Nothing };
        Ok(self.crew.work(give)?)
    }

    /// Waits for news, and takes in all there is.
    fn wait(&mut self, patience: Duration) -> Result<(), DaemonError> {
        let mut next = self.news.wait(patience);
        while let Some(one) = next {
            match one {
                news::One::Changed => {}
                news::One::Files(tasks) => self.client.look_at_files(tasks)?,
                news::One::Run(event) => self.hear(&event)?,
                news::One::Signal(signal) => self.obey(signal)?,
            }
            next = self.news.next();
        }
        Ok(())
    }

    /// Takes in what a run did. What cannot be committed now, on a full disk say, is tried again
    /// until it can: a message that was printed is not lost.
    fn hear(&mut self, event: &crate::supervisor::Event) -> Result<(), DaemonError> {
        loop {
            match self.crew.hear(event) {
                Err(error) if passes(&error) => {}
                heard => return Ok(heard?),
            }
            std::thread::sleep(RETRY_PAUSE);
            if self.leaving == Leaving::Now {
                return Ok(());
            }
        }
    }

    fn obey(&mut self, signal: news::Signal) -> Result<(), DaemonError> {
        self.leaving = match (signal, self.leaving) {
            (news::Signal::Interrupt, Leaving::No) => Leaving::Draining,
            (news::Signal::Interrupt, Leaving::Draining)
            | (news::Signal::Quit, Leaving::No | Leaving::Draining | Leaving::Stopping) => {
                let stopped = self.crew.stop_all();
                stopped.map_err(|source| DaemonError::Io { attempt: "stop a run", source })?;
                Leaving::Stopping
            }
            (news::Signal::Interrupt | news::Signal::Terminate, _)
            | (news::Signal::Quit, Leaving::Now) => Leaving::Now,
        };
        Ok(())
    }

    fn is_time_to_leave(&self) -> Result<bool, DaemonError> {
        Ok(match self.leaving {
            Leaving::Now => true,
            Leaving::Draining | Leaving::Stopping => self.crew.is_empty(),
            Leaving::No if self.until == Until::Idle && self.crew.is_empty() => {
                self.client.view(|world| is_idle(world, SystemClock.now()))?
            }
            Leaving::No => false,
        })
    }

    /// Returns how long nothing needs to be done if nothing happens.
    fn patience(&self) -> Result<Duration, DaemonError> {
        let next = self.client.view(|world| next_time(world, SystemClock.now()))?;
        let until = |time: adjutant_core::Time| {
            let left = time.as_millis().saturating_sub(SystemClock.now().as_millis());
            Duration::from_millis(u64::try_from(left).unwrap_or(0)) + Duration::from_millis(1)
        };
        Ok(next.map_or(self.poll, |time| until(time).min(self.poll)))
    }
}

/// Says whether what could not be done may be done later.
fn passes(error: &Unanswered) -> bool {
    match error {
        Unanswered::Store(error) => !matches!(**error, StoreError::Stopped),
        Unanswered::Stopped => false,
    }
}

/// Waits, until a moment that may have passed.
fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now())
}
