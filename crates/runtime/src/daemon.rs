//! The daemon: gives out work, looks after runs and takes in what comes, until it is told to stop.
//!
//! It holds no rule. What happens outside becomes a request to the engine, and what the engine owes
//! to the outside is done here. It may be killed at any moment: agents go on, and the next daemon
//! finds them, what they said meanwhile, and what was owed.

mod among;
mod backlog;
mod confined;
mod glance;
mod hold;
mod jobs;
mod news;
mod once;
mod orders;
mod place;
mod processes;
mod step;
mod watch;
mod work;

#[cfg(test)]
mod golden_tests;

use std::any::Any;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use adjutant_core::pipeline::StoryId;
use adjutant_core::schedule::{is_idle, next_time};
use adjutant_core::{Policy, World};
use adjutant_store::StoreError;
use adjutant_store::file::Folder;
use thiserror::Error;

pub use glance::{Ended, Glance, Running, Waiting};
pub use hold::{Held, Holder, NotHeld};
pub use news::Handle;
pub use once::{catch_up, tick, tick_dry};
pub use place::Place;
pub use step::STORY_VARIABLE;
pub use work::EVIDENCE;

use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::crew::Give;
use crate::door::Porter;
use crate::engine::Engine;
use crate::eyes::Eyes;
use crate::fleet::{Fleet, Name, Unfit};
use crate::notifier::{Letter, Notifier, Setup, Where};
use crate::service::{Client, Service, Unanswered};
use crate::story::keeper::{self, Keeper};
use crate::supervisor::Supervisor;
use crate::token::Secret;
use among::Among;
use backlog::Backlog;
use jobs::Jobs;
use news::{News, Signals};
use processes::Processes;

/// A kind of trouble: what is in the way changes from one attempt to the next, be it the same.
type Trouble = std::mem::Discriminant<StoreError>;

type Crew = crate::crew::Crew<Client, Processes>;

/// How long changes of files are gathered before they are looked at.
const FILES_PAUSE: Duration = Duration::from_millis(100);

/// The most that is taken in at once of what runs did. A message has at most 1 MiB, so that this
/// bounds the memory.
const HEARD_MAX: usize = 16;

/// How often to try again what a person has to help with: a merge into files that are changed, say.
const WORK_PAUSE: Duration = Duration::from_secs(5);

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
    /// The one story it gives out work for; none where it gives out everything.
    pub only: Option<StoryId>,
    /// What it needs to be one of many; none where it is alone.
    pub fleet: Option<Fleet>,
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
    /// It cannot be one of the fleet.
    #[error("cannot be a node of this fleet")]
    Unfit(#[from] Unfit),
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

/// What a daemon lets people see.
#[derive(Debug, Clone, Copy)]
pub enum Sight<'a> {
    /// How things stand.
    Glance(&'a Glance),
    /// Something cannot be done now, for this reason, and is tried again until it can.
    Stuck(&'a str),
    /// What could not be done is done.
    Free,
    /// What somebody wants to be told here.
    Told(&'a Letter),
}

/// How a daemon left.
#[derive(Debug)]
pub struct Left {
    /// What it was told.
    pub leaving: Leaving,
    /// How many runs go on without it.
    pub runs: usize,
    /// Why the folder could not be left tidy, if it could not. Nothing is lost.
    pub untidy: Option<StoreError>,
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
    backlog: Backlog,
    /// The runs that were shown last.
    shown: Vec<Running>,
    /// The kind of trouble that keeps it from going on, as it was last told.
    stuck: Option<Trouble>,
    watch: Option<watch::Watch>,
    stories: Keeper,
    /// Its place among others, where there are others.
    among: Option<Among>,
    porter: Porter,
    notifier: Notifier,
    /// Whoever else lets people in.
    ways_in: Vec<Box<dyn Any + Send>>,
    service: Service,
}

impl Daemon {
    /// Starts on a folder that `held` says is ours.
    pub fn start(options: Options, _held: &Held) -> Result<Self, DaemonError> {
        let io = |attempt| move |source| DaemonError::Io { attempt, source };
        let Options { folder, config, program, until, glances, only, fleet } = options;
        let root = folder.root().to_owned();
        let secret = Secret::open(&root).map_err(io("read the secret of the folder"))?;
        let policy = Policy { only, ..config.policy() };
        let (base, mut among) = Among::of(&folder, fleet, config.scheduler.heartbeat_ttl.0)?;
        let (name, secret) = match &among {
            Some(among) => (among.join(&base.1.world)?, among.share(&root, &secret)?),
            None => (Name::Ours, secret),
        };
        let (store, loaded) = base;
        let targets = Where::new(config.clone(), &root, &folder.workspace());
        let told = Setup { targets, policy: policy.clone(), mark: secret.mark() };
        let engine = Engine::start(store, loaded, Box::new(SystemClock), policy.clone())?
            .knowing(Some(secret.clone()));
        let mut engine = match &among {
            Some(among) => engine.gated(among.gate()),
            None => engine,
        };
        if let (Some(among), Name::Anothers(was)) = (&among, name) {
            among.keep_name(&was, &mut engine)?;
        }
        let (supervisor, events) = Supervisor::new(&root, program.clone(), secret);
        let news = News::gather(events, Signals::listen().map_err(io("listen for signals"))?)
            .map_err(io("start a thread"))?;
        let node = among.as_ref().map(|among| among.member().node().clone());
        let eyes = Eyes::new(root.clone(), folder.workspace()).on(node.clone());
        let (bell, rings) = keeper::bell();
        let (stories_bell, changed) = (bell.clone(), news.bell());
        let tell = move || {
            changed();
            stories_bell.ring();
        };
        let place_in = among.as_ref().map(|among| (among.member(), root.clone()));
        let service = Service::start_in(engine, place_in, tell).seeing(eyes);
        let client = service.client();
        let place = keeper::Place {
            home: folder.workspace(),
            data: root.clone(),
            poll: config.scheduler.poll.0,
            node,
        };
        let stories = Keeper::start(place, client.clone(), (bell, rings), news.bell());
        let stories = stories.map_err(io("start a thread"))?;
        let notifier = Notifier::start(told, &client, news.bell());
        let notifier = notifier.map_err(io("start a thread"))?;
        if let Some(among) = &mut among {
            among.begin(&client, policy, Box::new(news.bell()))?;
        }
        let porter = Porter::open(&root, client.clone()).map_err(io("open the door"))?;
        let ttl = config.scheduler.heartbeat_ttl.0;
        let poll = config.scheduler.poll.0.min(ttl / 4).max(Duration::from_millis(10));
        let poll = glances.map_or(poll, |glances| glances.min(poll));
        // Without it, what people do is noticed at the next poll.
        let watch = watch::Watch::start(&root, news.files()).ok();
        let (slots, leaving) = (config.scheduler.concurrency, Leaving::No);
        let jobs = Jobs::beside(news.bell());
        let hands = Processes::new(folder, config, program, supervisor, client.clone(), jobs)
            .granted_by(among.as_ref().map(Among::member));
        let crew = Crew::new(client.clone(), hands);
        let (backlog, stuck) = (Backlog::default(), None);
        Ok(Self {
            client,
            crew,
            news,
            until,
            poll,
            slots,
            leaving,
            backlog,
            shown: vec![],
            stuck,
            watch,
            stories,
            among,
            porter,
            notifier,
            ways_in: vec![],
            service,
        })
    }

    /// Returns a way to ask its engine.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Keeps something that asks the engine, for as long as there is one to ask.
    pub fn attach(&mut self, way_in: Box<dyn Any + Send>) {
        self.ways_in.push(way_in);
    }

    /// Returns a way to tell it to leave.
    pub fn handle(&self) -> Handle {
        self.news.handle()
    }

    /// Works until it is time to leave. `show` is called whenever something may have changed.
    pub fn run(mut self, show: &mut dyn FnMut(Sight<'_>)) -> Result<Left, DaemonError> {
        self.crew.adopt_all()?;
        loop {
            let patience = match self.turn(show) {
                Ok(Some(patience)) => {
                    self.go_on(show);
                    patience
                }
                Ok(None) => break,
                // A full disk, say: tried again until it can be done, or nobody wants it any more.
                Err(DaemonError::Engine(error)) if passes(&error) => {
                    self.wait_out(&error, show);
                    if self.is_nothing_left() {
                        break;
                    }
                    RETRY_PAUSE
                }
                Err(error) => return Err(error),
            };
            self.wait(patience)?;
        }
        Ok(self.leave())
    }

    /// Leaves. What was answered is safe in the journal by now, so that a folder that cannot be
    /// left tidy is no failure.
    fn leave(self) -> Left {
        let Self { client, crew, news, watch, stories, among, porter, ways_in, service, .. } = self;
        let (notifier, leaving, runs) = (self.notifier, self.leaving, crew.here().count());
        // The engine goes on until nobody asks it any more.
        drop((ways_in, notifier, watch, stories, among, porter, crew, news, client));
        Left { leaving, runs, untidy: service.stop().err() }
    }

    /// Works once, and returns how long to wait then; none when it is time to leave.
    fn turn(&mut self, show: &mut dyn FnMut(Sight<'_>)) -> Result<Option<Duration>, DaemonError> {
        // Whoever says so leaves at once; the next daemon hears what is unheard.
        if self.leaving == Leaving::Now {
            return Ok(None);
        }
        self.work()?;
        for call in self.notifier.calls() {
            show(Sight::Told(&call.letter));
            call.confirm();
        }
        let glance = Glance::take(&self.client, &self.crew, &self.shown, self.slots, self.leaving)?;
        show(Sight::Glance(&glance));
        self.shown = glance.running;
        if self.is_time_to_leave()? {
            return Ok(None);
        }
        self.patience().map(Some)
    }

    /// Does everything there is to do now.
    fn work(&mut self) -> Result<(), DaemonError> {
        if let Some(among) = &self.among {
            among.still_fits()?;
        }
        self.work_off()?;
        self.crew.work(self.gives())?;
        if let Some(among) = &self.among {
            return Ok(among.tend(&self.client, &mut self.crew)?);
        }
        // Nobody asks which runs have ended.
        drop(self.crew.take_ended());
        Ok(())
    }

    /// Says whether work is given out. Among others a node that leaves goes on with that, and with
    /// saying that it is there, or its runs would be over before they end and nobody given any.
    fn gives(&self) -> Give {
        let others = |among: &Among| among.leaves();
        match self.leaving {
            Leaving::No => Give::Work,
            Leaving::Draining | Leaving::Stopping if self.among.as_ref().is_some_and(others) => {
                Give::Work
            }
            Leaving::Draining | Leaving::Stopping | Leaving::Now => Give::Nothing,
        }
    }

    /// Says once what cannot be done now.
    fn wait_out(&mut self, error: &Unanswered, show: &mut dyn FnMut(Sight<'_>)) {
        let trouble = match error {
            Unanswered::Store(error) => std::mem::discriminant(&**error),
            Unanswered::Stopped => std::mem::discriminant(&StoreError::Stopped),
        };
        if self.stuck.replace(trouble) != Some(trouble) {
            show(Sight::Stuck(&in_one_line(error)));
        }
    }

    fn go_on(&mut self, show: &mut dyn FnMut(Sight<'_>)) {
        if self.stuck.take().is_some() {
            show(Sight::Free);
        }
    }

    /// Waits for news, and takes in all there is, what runs did in one commit. What cannot be
    /// committed now waits its turn: what was printed is not lost, and whoever says that it is time
    /// to go is heard.
    fn wait(&mut self, patience: Duration) -> Result<(), DaemonError> {
        let behind = !self.backlog.has_heard_all();
        let mut next = self.news.wait(patience);
        if next.is_none() && self.watch.is_none() {
            self.backlog.look_at(None);
        }
        let mut heard = 0;
        while let Some(one) = next {
            match one {
                news::One::Changed => {}
                news::One::Files(tasks) => self.backlog.look_at(tasks),
                news::One::Run(event) => {
                    self.backlog.hear(event);
                    heard += 1;
                }
                news::One::Signal(signal) => self.obey(signal),
            }
            // Somebody who never stops talking must not keep everybody else from their work.
            next = if heard < HEARD_MAX { self.news.next() } else { None };
        }
        // What came before still waits, and is tried again with all that came since.
        if behind { Ok(()) } else { self.hear() }
    }

    /// Takes in what runs did, if that can be now.
    fn hear(&mut self) -> Result<(), DaemonError> {
        match self.work_off() {
            Err(error) if passes(&error) => Ok(()),
            heard => Ok(heard?),
        }
    }

    /// Works off what is left, and lets in as many events of runs as were taken in.
    fn work_off(&mut self) -> Result<(), Unanswered> {
        let heard = self.backlog.heard();
        self.backlog.work_off(&self.client, &mut self.crew)?;
        self.news.admit(heard);
        Ok(())
    }

    fn obey(&mut self, signal: news::Signal) {
        self.leaving = match (signal, self.leaving) {
            (news::Signal::Interrupt, Leaving::No) => Leaving::Draining,
            (news::Signal::Interrupt, Leaving::Draining)
            | (news::Signal::Quit, Leaving::No | Leaving::Draining | Leaving::Stopping) => {
                self.backlog.stop_all();
                Leaving::Stopping
            }
            (news::Signal::Interrupt | news::Signal::Terminate, _)
            | (news::Signal::Quit, Leaving::Now) => Leaving::Now,
        };
    }

    /// Says whether it is to leave and nothing keeps it, whatever cannot be done now.
    fn is_nothing_left(&self) -> bool {
        match self.leaving {
            Leaving::Now => true,
            Leaving::Draining => {
                self.crew.is_empty() && !self.crew.is_busy() && self.stories.is_idle()
            }
            Leaving::Stopping => self.crew.is_empty(),
            Leaving::No => false,
        }
    }

    fn is_time_to_leave(&self) -> Result<bool, DaemonError> {
        Ok(match self.leaving {
            Leaving::Now | Leaving::Draining | Leaving::Stopping => self.is_nothing_left(),
            Leaving::No
                if self.until == Until::Idle && self.crew.is_empty() && !self.crew.is_busy() =>
            {
                let now = SystemClock.now();
                let look = move |world: &World| (is_idle(world, now), world.last_event());
                let (idle, last) = self.client.view(look)?;
                idle && self.stories.is_at_rest(last) && !self.notifier.is_busy()
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
        let poll = if self.crew.is_waiting() { self.poll.min(WORK_PAUSE) } else { self.poll };
        Ok(next.map_or(poll, |time| until(time).min(poll)))
    }
}

/// Says whether what could not be done may be done later.
fn passes(error: &Unanswered) -> bool {
    match error {
        Unanswered::Store(error) => !matches!(**error, StoreError::Stopped | StoreError::Newer(_)),
        Unanswered::Stopped => false,
    }
}

pub(crate) fn in_one_line(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

/// Waits, until a moment that may have passed.
fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now())
}
