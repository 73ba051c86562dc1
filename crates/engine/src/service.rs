//! Runs the engine in a thread of its own, so that many callers can ask at once and share a commit.

mod engine_thread;
mod group_timing;
mod served_engine;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use adjutant_core::World;
use adjutant_model::run::RunLiveness;
use adjutant_model::{NodeId, Policy, TaskId};
use adjutant_store::{EffectId, FleetStore, PendingEffect, Store, StoreError, StoreVersion};
use engine_thread::{EngineThread, serve};
use group_timing::GroupTiming;
use parking_lot::Mutex;
use served_engine::ServedEngine;
use thiserror::Error;

use crate::engine::node_request::{NodeReply, NodeRequest, RequestTarget};
use crate::engine::{Engine, EngineAnswer, EngineRequest};
use crate::fleet::{self, FleetMember};
use crate::prepared_request::{PreparedRequest, WorldReader, prepare, prepare_all};
use crate::request_inspector::RequestInspector;
use crate::run_answers::{AwaitedMessage, RunAnswers};
use crate::story_requests::{decision_task, story_task};
use crate::tick::TickOutcome;
use crate::world_snapshot::WorldSnapshot;

pub use served_engine::FleetEngine;

/// The most requests that share one commit.
const GROUP_MAX: usize = 256;

/// A running engine thread.
pub struct EngineService {
    thread: JoinHandle<Result<(), StoreError>>,
    client: EngineHandle,
}

/// A handle to the engine. Clones share the same engine.
#[derive(Clone)]
pub struct EngineHandle {
    queue: Sender<EngineCall>,
    inspector: Option<Arc<RequestInspector>>,
    listeners: CommitListeners,
    meters: ActivityMeters,
    version: Arc<AtomicU64>,
    announced: Arc<AnnouncedCommits>,
    /// This node's membership, in a fleet.
    member: Option<Arc<FleetMember>>,
    run_answers: Arc<RunAnswers>,
}

/// Announced commits that the engine has not followed yet.
#[derive(Default)]
struct AnnouncedCommits {
    /// Whether the engine was asked to follow and has not started.
    is_requested: AtomicBool,
    /// The highest version announced.
    version: AtomicU64,
}

impl AnnouncedCommits {
    /// Records commits up to `version`. Returns whether the engine must be asked to follow.
    fn announce(&self, version: StoreVersion) -> bool {
        self.version.fetch_max(version.0, Ordering::AcqRel);
        !self.is_requested.swap(true, Ordering::AcqRel)
    }

    /// Marks the request as started, and returns the version to follow up to.
    fn take_target(&self) -> StoreVersion {
        self.is_requested.store(false, Ordering::Release);
        StoreVersion(self.version.load(Ordering::Acquire))
    }
}

/// Something the engine did, for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineActivity {
    /// A commit, with the duration of the turn.
    Committed(Duration),
    Ticked,
}

type ActivityMeters = Arc<Mutex<Vec<Box<dyn Fn(EngineActivity) + Send>>>>;

/// Called after every commit.
type CommitListeners = Arc<Mutex<Vec<Box<dyn Fn() + Send>>>>;

/// Gets the world, or the reason why it cannot be read.
type WorldCallback = Box<dyn FnOnce(Result<&World, EngineError>) + Send>;

/// What the engine thread is asked to do.
enum EngineCall {
    Request(QueuedRequest),
    /// Several requests in one commit, all or nothing.
    RequestBatch(Vec<PreparedRequest>, SyncSender<Result<Vec<EngineAnswer>, Arc<StoreError>>>),
    ReadWorld(WorldCallback),
    WorldSnapshot(SyncSender<Result<WorldSnapshot, EngineError>>),
    /// Apply edits to the files of these tasks, or of all tasks.
    CheckFiles(Option<Vec<TaskId>>, SyncSender<Result<(), Arc<StoreError>>>),
    PendingEffects(SyncSender<Result<Vec<PendingEffect>, EngineError>>),
    Tick(BTreeMap<TaskId, RunLiveness>, SyncSender<Result<TickOutcome, Arc<StoreError>>>),
    /// Effects that were performed.
    Settle(Vec<EffectId>),
    /// A request of another node of the fleet.
    NodeRequest(Box<NodeRequest>, SyncSender<NodeReply>),
    /// Apply announced commits of other nodes.
    FollowAnnounced,
    Fleet(FleetCall),
    SetPolicy(Box<Policy>),
}

/// What only the engine of a fleet node is asked to do.
enum FleetCall {
    /// Apply commits of other nodes, announced or not.
    PollCommits,
    /// Accept the leadership that this node was offered.
    TakeOver,
    StoreJoinArchive,
}

struct QueuedRequest {
    request: Box<PreparedRequest>,
    answer: SyncSender<Result<EngineAnswer, Arc<StoreError>>>,
}

#[derive(Debug, Clone, Error)]
pub enum EngineError {
    /// The store could not commit the request.
    #[error("the request could not be committed")]
    Store(#[source] Arc<StoreError>),
    #[error("the engine has stopped")]
    Stopped,
}

impl EngineService {
    pub fn start<S: Store + Send + 'static>(engine: Engine<S>) -> Self {
        Self::start_with_listener(engine, || {})
    }

    /// Starts the engine, and calls `tell` after every commit of this or another process.
    pub fn start_with_listener<S: Store + Send + 'static>(
        engine: Engine<S>,
        tell: impl Fn() + Send + 'static,
    ) -> Self {
        Self::spawn(engine, None, tell)
    }

    /// Starts the engine of a fleet node, and calls `tell` after every commit.
    pub fn start_in_fleet<S: FleetStore + Send + 'static>(
        engine: FleetEngine<S>,
        tell: impl Fn() + Send + 'static,
    ) -> Self {
        let member = Arc::clone(&engine.member);
        Self::spawn(engine, Some(member), tell)
    }

    fn spawn(
        served: impl ServedEngine + Send + 'static,
        member: Option<Arc<FleetMember>>,
        tell: impl Fn() + Send + 'static,
    ) -> Self {
        let (queue, calls) = channel();
        let (version, announced) =
            (Arc::<AtomicU64>::default(), Arc::<AnnouncedCommits>::default());
        let serving = EngineThread {
            served,
            version: Arc::clone(&version),
            announced: Arc::clone(&announced),
            group_timing: GroupTiming::default(),
        };
        let named = thread::Builder::new().name("engine".to_owned());
        let listeners = CommitListeners::default();
        let called = Arc::clone(&listeners);
        let tell = move || {
            tell();
            called.lock().iter().for_each(|listener| listener());
        };
        let meters = ActivityMeters::default();
        let counted = Arc::clone(&meters);
        let count = move |activity: EngineActivity| {
            let meters = counted.lock();
            meters.iter().for_each(|meter| meter(activity));
        };
        let thread = named.spawn(move || serve(serving, &calls, &tell, &count));
        Self {
            thread: thread.expect("a thread can be started"),
            client: EngineHandle {
                queue,
                inspector: None,
                listeners,
                meters,
                version,
                announced,
                member,
                run_answers: Arc::default(),
            },
        }
    }

    /// Makes callers inspect the workspace of the run that reports.
    #[must_use]
    pub fn with_inspector(mut self, inspector: RequestInspector) -> Self {
        self.client.inspector = Some(Arc::new(inspector));
        self
    }

    pub fn handle(&self) -> EngineHandle {
        self.client.clone()
    }

    /// Stops once every other handle is dropped, and leaves the store ready for a fast start.
    pub fn stop(self) -> Result<(), StoreError> {
        drop(self.client);
        self.thread.join().unwrap_or(Err(StoreError::Stopped))
    }
}

impl EngineHandle {
    /// Sends a request, and waits until the answer is durable.
    pub fn ask(&self, request: impl Into<EngineRequest>) -> Result<EngineAnswer, EngineError> {
        self.submit(request)?.wait()
    }

    /// Sends a request without waiting for its answer. Parsing it and reading the project's files
    /// are slow, and only the caller waits for that.
    pub fn submit(&self, request: impl Into<EngineRequest>) -> Result<PendingAnswer, EngineError> {
        let request = request.into();
        let (answer, answered) = sync_channel(1);
        if let Some(done) = self.ask_story_node(&request) {
            let _ = answer.send(done);
            return Ok(PendingAnswer { answered });
        }
        let request = Box::new(prepare(request, self.inspector.as_deref(), self));
        self.call(EngineCall::Request(QueuedRequest { request, answer }))?;
        Ok(PendingAnswer { answered })
    }

    /// Sends several requests that are committed together or not at all, and waits until the
    /// answers are durable.
    pub fn ask_all(&self, requests: Vec<EngineRequest>) -> Result<Vec<EngineAnswer>, EngineError> {
        if let [one] = &requests[..]
            && let Some(done) = self.ask_story_node(one)
        {
            return done.map(|answered| vec![answered]).map_err(EngineError::Store);
        }
        let awaited: Vec<_> = requests.iter().map(AwaitedMessage::from_request).collect();
        let requests = prepare_all(requests, self.inspector.as_deref(), self);
        let (tell, answered) = sync_channel(1);
        self.call(EngineCall::RequestBatch(requests, tell))?;
        let answered = answered.recv().map_err(|_| EngineError::Stopped)?;
        let answered = answered.map_err(EngineError::Store)?;
        for (message, answer) in awaited.into_iter().zip(&answered) {
            if let Some(message) = message {
                self.run_answers.post(message, answer.clone());
            }
        }
        Ok(answered)
    }

    /// Returns the answers to messages that runs have sent through their sockets.
    pub(crate) fn run_answers(&self) -> &RunAnswers {
        &self.run_answers
    }

    /// Has an operator's command on a story performed by the node that has the story's files.
    /// Returns None if that is this node, or outside a fleet.
    fn ask_story_node(
        &self,
        request: &EngineRequest,
    ) -> Option<Result<EngineAnswer, Arc<StoreError>>> {
        let member = self.member.as_ref()?;
        let id = decision_task(&request.request)?.clone();
        let home = move |world: &World| {
            let task = world.task(&id).filter(|task| story_task(world, &task.id).is_some())?;
            task.home().cloned()
        };
        let node = self.view(home).ok().flatten().filter(|node| node != member.node())?;
        let done = fleet::send_to_node(member, &node, request).map_err(Arc::new);
        // The next reader must see the result.
        self.poll_commits();
        Some(done)
    }

    /// Calls `listener` after every commit. It must be fast: the engine waits for it.
    pub fn on_commit(&self, listener: impl Fn() + Send + 'static) {
        self.listeners.lock().push(Box::new(listener));
    }

    /// Calls `meter` for everything the engine does. It must be fast: the engine waits for it.
    pub fn on_activity(&self, meter: impl Fn(EngineActivity) + Send + 'static) {
        self.meters.lock().push(Box::new(meter));
    }

    /// Returns a copy of the committed world that can be read without asking the engine.
    pub fn world_snapshot(&self) -> Result<WorldSnapshot, EngineError> {
        let (tell, snapshot) = sync_channel(1);
        self.call(EngineCall::WorldSnapshot(tell))?;
        snapshot.recv().map_err(|_| EngineError::Stopped)?
    }

    /// Calls `look` with the current world, in the engine's thread.
    pub fn view<T: Send + 'static>(
        &self,
        look: impl FnOnce(&World) -> T + Send + 'static,
    ) -> Result<T, EngineError> {
        let (seen, view) = sync_channel(1);
        // The caller may have gone, and then needs no result.
        self.call(EngineCall::ReadWorld(Box::new(move |world| drop(seen.send(world.map(look))))))?;
        view.recv().map_err(|_| EngineError::Stopped)?
    }

    /// Applies edits to the files of these tasks, or of all tasks, and waits until that is done.
    pub fn check_task_files(&self, tasks: Option<Vec<TaskId>>) -> Result<(), EngineError> {
        let (tell, looked) = sync_channel(1);
        self.call(EngineCall::CheckFiles(tasks, tell))?;
        looked.recv().map_err(|_| EngineError::Stopped)?.map_err(EngineError::Store)
    }

    /// Runs the scheduler once. For a run that is not listed, only its heartbeat counts.
    pub fn tick(&self, lives: BTreeMap<TaskId, RunLiveness>) -> Result<TickOutcome, EngineError> {
        let (tell, ticked) = sync_channel(1);
        self.call(EngineCall::Tick(lives, tell))?;
        let ticked = ticked.recv().map_err(|_| EngineError::Stopped)?;
        ticked.map_err(EngineError::Store)
    }

    /// Returns the pending effects.
    pub fn pending_effects(&self) -> Result<Vec<PendingEffect>, EngineError> {
        let (tell, effects) = sync_channel(1);
        self.call(EngineCall::PendingEffects(tell))?;
        effects.recv().map_err(|_| EngineError::Stopped)?
    }

    /// Reports effects as performed. If the report is lost, performing them again finds them done.
    pub fn settle(&self, done: Vec<EffectId>) -> Result<(), EngineError> {
        self.call(EngineCall::Settle(done))
    }

    /// Answers the encoded request of another node, which signed it. Returns `None` if it speaks for
    /// a third node.
    pub fn answer_node(&self, node: &NodeId, request: &[u8]) -> Option<Vec<u8>> {
        let reply = match NodeRequest::decode(request) {
            Ok(request) if !request.is_of(node) => return None,
            Ok(request) if request.target == RequestTarget::Receiver => self.perform_here(request),
            Ok(request) => self.pass_to_engine(request),
            Err(error) => NodeReply::Failed(format!("the request cannot be read: {error}")),
        };
        Some(reply.encode())
    }

    /// Performs requests that must be done on this node.
    fn perform_here(&self, request: NodeRequest) -> NodeReply {
        let answers: Result<Vec<EngineAnswer>, EngineError> =
            request.requests.into_iter().map(|request| self.ask(request)).collect();
        match answers {
            Ok(answers) => {
                NodeReply::Done { version: self.version(), answers, runs: BTreeSet::new() }
            }
            Err(error) => NodeReply::Failed(adjutant_store::format_error_chain(&error)),
        }
    }

    fn pass_to_engine(&self, request: NodeRequest) -> NodeReply {
        let (tell, replied) = sync_channel(1);
        let asked = self.call(EngineCall::NodeRequest(Box::new(request), tell));
        asked.ok().and_then(|()| replied.recv().ok()).unwrap_or(NodeReply::NotLeader)
    }

    /// Makes the engine read other nodes' commits soon, without waiting.
    pub fn poll_commits(&self) {
        let _ = self.call(EngineCall::Fleet(FleetCall::PollCommits));
    }

    /// Returns a callback for announced commits, which makes the engine follow them while it runs.
    pub fn commit_callback(&self) -> impl Fn(StoreVersion) + Send + Sync + 'static {
        let (queue, behind) = (Mutex::new(self.queue.clone()), Arc::clone(&self.announced));
        move |version| {
            if behind.announce(version) {
                let _ = queue.lock().send(EngineCall::FollowAnnounced);
            }
        }
    }

    /// Makes the engine accept the leadership this node was offered.
    pub fn take_over(&self) {
        let _ = self.call(EngineCall::Fleet(FleetCall::TakeOver));
    }

    /// Makes the engine store a join archive.
    pub fn store_join_archive(&self) {
        let _ = self.call(EngineCall::Fleet(FleetCall::StoreJoinArchive));
    }

    pub fn set_policy(&self, policy: Policy) {
        let _ = self.call(EngineCall::SetPolicy(Box::new(policy)));
    }

    /// Returns the version of the engine's last commit.
    pub fn version(&self) -> StoreVersion {
        StoreVersion(self.version.load(Ordering::Acquire))
    }

    fn call(&self, call: EngineCall) -> Result<(), EngineError> {
        self.queue.send(call).map_err(|_| EngineError::Stopped)
    }
}

impl WorldReader for EngineHandle {
    fn look_at_world<T: Send + 'static>(
        &self,
        look: impl FnOnce(&World) -> T + Send + 'static,
    ) -> Option<T> {
        self.view(look).ok()
    }
}

/// A request that was sent.
pub struct PendingAnswer {
    answered: Receiver<Result<EngineAnswer, Arc<StoreError>>>,
}

impl PendingAnswer {
    /// Waits until the answer is durable.
    pub fn wait(self) -> Result<EngineAnswer, EngineError> {
        let answered = self.answered.recv().map_err(|_| EngineError::Stopped)?;
        answered.map_err(EngineError::Store)
    }
}
