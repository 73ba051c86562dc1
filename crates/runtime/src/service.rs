//! The engine in a thread of its own, so that many can ask at once and share one commit.

mod gather;
mod serving;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use adjutant_core::run::Life;
use adjutant_core::{Policy, TaskId, World};
use adjutant_store::{EffectId, Owed, Store, StoreError, Version};
use thiserror::Error;

use crate::engine::{Answered, Engine, Request, story_task};
use crate::eyes::Eyes;
use crate::fleet::{self, Member, Question, Reply, To};
use crate::mirror::Mirror;
use crate::story::desk;
use crate::tick::Ticked;
use gather::Gather;
use serving::{Serving, serve};

/// The most requests that share one commit.
const GROUP_MAX: usize = 256;

/// The engine, running.
pub struct Service {
    thread: JoinHandle<Result<(), StoreError>>,
    client: Client,
}

/// A way to ask the engine. Clones ask the same one.
#[derive(Clone)]
pub struct Client {
    queue: Sender<Call>,
    eyes: Option<Arc<Eyes>>,
    listeners: Listeners,
    meters: Meters,
    version: Arc<AtomicU64>,
    behind: Arc<Behind>,
    /// The place of this node among others, where there are others.
    member: Option<Arc<Member>>,
}

/// What was heard of commits and not yet followed.
#[derive(Default)]
struct Behind {
    /// Whether the engine was asked to follow and has not begun.
    asked: AtomicBool,
    /// The last version of which something was heard.
    heard: AtomicU64,
}

impl Behind {
    /// Takes note of commits up to a version, and says whether the engine is to be asked.
    fn hear(&self, version: Version) -> bool {
        self.heard.fetch_max(version.0, Ordering::AcqRel);
        !self.asked.swap(true, Ordering::AcqRel)
    }

    /// Begins to follow, and returns how far there is something to follow.
    fn begin(&self) -> Version {
        self.asked.store(false, Ordering::Release);
        Version(self.heard.load(Ordering::Acquire))
    }
}

/// Something the engine did, for those who count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pulse {
    /// It took its turn and committed something, which took so long.
    Committed(Duration),
    /// It gave out work and cleared up.
    Ticked,
}

/// Those who count what the engine does.
type Meters = Arc<Mutex<Vec<Box<dyn Fn(Pulse) + Send>>>>;

/// Those who are told whenever something was committed.
type Listeners = Arc<Mutex<Vec<Box<dyn Fn() + Send>>>>;

/// Looks at the world, or learns why it cannot be seen.
type Look = Box<dyn FnOnce(Result<&World, Unanswered>) + Send>;

/// What the engine is asked for.
enum Call {
    /// Something that may change the world.
    Request(Waiting),
    /// Several things in one commit.
    Together(Vec<Request>, SyncSender<Result<Vec<Answered>, Arc<StoreError>>>),
    /// A look at the world.
    View(Look),
    /// A copy of the world that others can look at.
    Mirror(SyncSender<Result<Mirror, Unanswered>>),
    /// A look at what people did to files: of these tasks, or of all.
    Files(Option<Vec<TaskId>>, SyncSender<Result<(), Arc<StoreError>>>),
    /// The effects that are owed.
    Owed(SyncSender<Result<Vec<Owed>, Unanswered>>),
    /// A tick, with what is known of the runs there are.
    Tick(BTreeMap<TaskId, Life>, SyncSender<Result<Ticked, Arc<StoreError>>>),
    /// Effects that have been done.
    Settle(Vec<EffectId>),
    /// Something another node of the fleet asks for.
    Asked(Box<Question>, SyncSender<Reply>),
    /// What others committed, and was heard of, is to be taken in.
    Follow,
    /// What others committed is to be taken in, heard of or not.
    Look,
    /// This node may decide, and is to say so.
    TakeOver,
    /// A copy of everything is to be kept where others can join by it.
    Snapshot,
    /// Other settings count from now on.
    GoBy(Box<Policy>),
}

struct Waiting {
    request: Request,
    answer: SyncSender<Result<Answered, Arc<StoreError>>>,
}

/// Why a request has no answer.
#[derive(Debug, Clone, Error)]
pub enum Unanswered {
    /// The store could not keep it.
    #[error("the request could not be committed")]
    Store(#[source] Arc<StoreError>),
    /// The engine is not running any more.
    #[error("the engine has stopped")]
    Stopped,
}

impl Service {
    /// Starts the engine.
    pub fn start<S: Store + Send + 'static>(engine: Engine<S>) -> Self {
        Self::start_told(engine, || {})
    }

    /// Starts the engine, and calls `tell` whenever something was committed, by whomever.
    pub fn start_told<S: Store + Send + 'static>(
        engine: Engine<S>,
        tell: impl Fn() + Send + 'static,
    ) -> Self {
        Self::start_in(engine, None, tell)
    }

    /// The same, for one of many: `fleet` is what it knows of the others, and its data folder.
    pub(crate) fn start_in<S: Store + Send + 'static>(
        engine: Engine<S>,
        fleet: Option<(Arc<Member>, PathBuf)>,
        tell: impl Fn() + Send + 'static,
    ) -> Self {
        let (queue, calls) = channel();
        let member = fleet.as_ref().map(|(member, _)| Arc::clone(member));
        let (version, behind) = (Arc::<AtomicU64>::default(), Arc::<Behind>::default());
        let serving = Serving {
            engine,
            fleet,
            version: Arc::clone(&version),
            behind: Arc::clone(&behind),
            gather: Gather::default(),
        };
        let named = thread::Builder::new().name("engine".to_owned());
        let listeners = Listeners::default();
        let told = Arc::clone(&listeners);
        let tell = move || {
            tell();
            told.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(|told| told());
        };
        let meters = Meters::default();
        let counted = Arc::clone(&meters);
        let count = move |pulse: Pulse| {
            let meters = counted.lock().unwrap_or_else(PoisonError::into_inner);
            meters.iter().for_each(|meter| meter(pulse));
        };
        let thread = named.spawn(move || serve(serving, &calls, &tell, &count));
        Self {
            thread: thread.expect("a thread can be started"),
            client: Client { queue, eyes: None, listeners, meters, version, behind, member },
        }
    }

    /// Has whoever asks look at the workspace of the run that reports, from now on.
    #[must_use]
    pub fn seeing(mut self, eyes: Eyes) -> Self {
        self.client.eyes = Some(Arc::new(eyes));
        self
    }

    /// Returns a way to ask it.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Stops when everybody else has stopped asking, and leaves the store at rest.
    pub fn stop(self) -> Result<(), StoreError> {
        drop(self.client);
        self.thread.join().unwrap_or(Err(StoreError::Stopped))
    }
}

impl Client {
    /// Asks, and waits until the answer is durable.
    pub fn ask(&self, request: Request) -> Result<Answered, Unanswered> {
        self.put(request)?.wait()
    }

    /// Asks, and lets the caller wait when it likes.
    pub fn put(&self, request: Request) -> Result<Asked, Unanswered> {
        let (answer, answered) = sync_channel(1);
        if let Some(done) = self.elsewhere(&request) {
            let _ = answer.send(done);
            return Ok(Asked { answered });
        }
        let request = self.see(request);
        self.call(Call::Request(Waiting { request, answer }))?;
        Ok(Asked { answered })
    }

    /// Asks for several things, of which all are kept or none, and waits until that is durable.
    pub fn ask_all(&self, requests: Vec<Request>) -> Result<Vec<Answered>, Unanswered> {
        if let [one] = &requests[..]
            && let Some(done) = self.elsewhere(one)
        {
            return done.map(|answered| vec![answered]).map_err(Unanswered::Store);
        }
        let requests = requests.into_iter().map(|request| self.see(request)).collect();
        let (tell, answered) = sync_channel(1);
        self.call(Call::Together(requests, tell))?;
        let answered = answered.recv().map_err(|_| Unanswered::Stopped)?;
        answered.map_err(Unanswered::Store)
    }

    /// Adds what is seen in the workspace of the run that reports. That takes its time, and only
    /// who asks waits for it.
    fn see(&self, request: Request) -> Request {
        let Some(eyes) = &self.eyes else { return request };
        let request = self.ask_stories(eyes, request);
        eyes.inform(request, |claim| {
            let eyes = Arc::clone(eyes);
            // An engine that has stopped says so to the request itself.
            self.view(move |world| eyes.sight(&claim, world)).ok().flatten()
        })
    }

    /// Has a person's word on a story done by the node that has its files. None if that is this one,
    /// or if there is no other.
    fn elsewhere(&self, request: &Request) -> Option<Result<Answered, Arc<StoreError>>> {
        let member = self.member.as_ref()?;
        let id = desk::word_on(request)?.clone();
        let home = move |world: &World| {
            let task = world.task(&id).filter(|task| story_task(world, &task.id).is_some())?;
            task.home().cloned()
        };
        let node = self.view(home).ok().flatten().filter(|node| node != member.node())?;
        let done = fleet::bring(member, &node, request).map_err(Arc::new);
        // Whoever looks next sees what came of it.
        self.look();
        Some(done)
    }

    /// Has somebody told from now on whenever something was committed. It must not take long: the
    /// engine waits for it.
    pub fn listen(&self, told: impl Fn() + Send + 'static) {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(told));
    }

    /// Has somebody count what the engine does from now on. It must not take long either.
    pub fn measure(&self, meter: impl Fn(Pulse) + Send + 'static) {
        self.meters.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(meter));
    }

    /// Returns the world as it is committed, to be looked at without asking the engine.
    pub fn mirror(&self) -> Result<Mirror, Unanswered> {
        let (tell, mirror) = sync_channel(1);
        self.call(Call::Mirror(tell))?;
        mirror.recv().map_err(|_| Unanswered::Stopped)?
    }

    /// Adds what the files of stories say, and does to them what a person says of a story.
    fn ask_stories(&self, eyes: &Eyes, request: Request) -> Request {
        if !desk::concerns(&request) {
            return request;
        }
        desk::inform(eyes.home(), request, |id| {
            let id = id.clone();
            self.view(move |world| story_task(world, &id)).ok().flatten()
        })
    }

    /// Looks at the world as it is now.
    pub fn view<T: Send + 'static>(
        &self,
        look: impl FnOnce(&World) -> T + Send + 'static,
    ) -> Result<T, Unanswered> {
        let (seen, view) = sync_channel(1);
        // Who asked may have gone; then nobody needs to know.
        self.call(Call::View(Box::new(move |world| drop(seen.send(world.map(look))))))?;
        view.recv().map_err(|_| Unanswered::Stopped)?
    }

    /// Has the engine look at what people did to the files of these tasks, or of all, and waits
    /// until that is taken in.
    pub fn look_at_files(&self, tasks: Option<Vec<TaskId>>) -> Result<(), Unanswered> {
        let (tell, looked) = sync_channel(1);
        self.call(Call::Files(tasks, tell))?;
        looked.recv().map_err(|_| Unanswered::Stopped)?.map_err(Unanswered::Store)
    }

    /// Does one tick. Of a run that is not listed, its heartbeat alone counts.
    pub fn tick(&self, lives: BTreeMap<TaskId, Life>) -> Result<Ticked, Unanswered> {
        let (tell, ticked) = sync_channel(1);
        self.call(Call::Tick(lives, tell))?;
        let ticked = ticked.recv().map_err(|_| Unanswered::Stopped)?;
        ticked.map_err(Unanswered::Store)
    }

    /// Returns the effects that are owed.
    pub fn owed(&self) -> Result<Vec<Owed>, Unanswered> {
        let (tell, owed) = sync_channel(1);
        self.call(Call::Owed(tell))?;
        owed.recv().map_err(|_| Unanswered::Stopped)?
    }

    /// Says that effects have been done. Should this be lost, they are found done the next time.
    pub fn settle(&self, done: Vec<EffectId>) -> Result<(), Unanswered> {
        self.call(Call::Settle(done))
    }

    /// Answers another node of the fleet.
    pub(crate) fn answer(&self, question: &[u8]) -> Vec<u8> {
        let reply = match Question::decode(question) {
            Ok(question) if question.to == To::Itself => self.see_to(question),
            Ok(question) => self.hear(question),
            Err(bad) => Reply::Failed(format!("{} of a question makes no sense", bad.0)),
        };
        reply.encode()
    }

    /// Does what another node asks of this one.
    fn see_to(&self, question: Question) -> Reply {
        let answers: Result<Vec<Answered>, Unanswered> =
            question.requests.into_iter().map(|request| self.ask(request)).collect();
        match answers {
            Ok(answers) => Reply::Done { version: self.version(), answers, runs: BTreeSet::new() },
            Err(error) => Reply::Failed(crate::daemon::in_one_line(&error)),
        }
    }

    fn hear(&self, question: Question) -> Reply {
        let (tell, told) = sync_channel(1);
        let asked = self.call(Call::Asked(Box::new(question), tell));
        asked.ok().and_then(|()| told.recv().ok()).unwrap_or(Reply::NotDeciding)
    }

    /// Has the engine look for what others committed, by and by.
    pub(crate) fn look(&self) {
        let _ = self.call(Call::Look);
    }

    /// Returns something that has the engine take in what others committed up to a version, for as
    /// long as there is an engine.
    pub(crate) fn follow_bell(&self) -> impl Fn(Version) + Send + Sync + 'static {
        let (queue, behind) = (Mutex::new(self.queue.clone()), Arc::clone(&self.behind));
        move |version| {
            if behind.hear(version) {
                let _ = queue.lock().unwrap_or_else(PoisonError::into_inner).send(Call::Follow);
            }
        }
    }

    /// Has the engine take up what this node was offered.
    pub(crate) fn take_over(&self) {
        let _ = self.call(Call::TakeOver);
    }

    /// Has the engine keep a copy of everything where others can join by it.
    pub(crate) fn snapshot(&self) {
        let _ = self.call(Call::Snapshot);
    }

    /// Has the engine go by other settings.
    pub(crate) fn go_by(&self, policy: Policy) {
        let _ = self.call(Call::GoBy(Box::new(policy)));
    }

    /// Returns the version the engine is at.
    pub(crate) fn version(&self) -> Version {
        Version(self.version.load(Ordering::Acquire))
    }

    fn call(&self, call: Call) -> Result<(), Unanswered> {
        self.queue.send(call).map_err(|_| Unanswered::Stopped)
    }
}

/// A request on its way.
pub struct Asked {
    answered: Receiver<Result<Answered, Arc<StoreError>>>,
}

impl Asked {
    /// Waits until the answer is durable.
    pub fn wait(self) -> Result<Answered, Unanswered> {
        let answered = self.answered.recv().map_err(|_| Unanswered::Stopped)?;
        answered.map_err(Unanswered::Store)
    }
}
