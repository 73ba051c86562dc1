//! This node's state as a member of a fleet: leadership, name, pending node
//! requests and granted runs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use adjutant_core::World;
use adjutant_core::schedule::{
    NodeContact, RunKey, RunStartState, current_run, has_runs, node_for_effect, runs_on,
    tasks_to_inspect,
};
use adjutant_model::run::RunLiveness;
use adjutant_model::{Effect, NodeId, Task, TaskId};
use adjutant_store::{
    FleetNetwork, FleetStore, PendingEffect, StoreError, StoreVersion, monotonic_now,
};
use parking_lot::{Mutex, MutexGuard};

use super::NodeIdentity;
use super::membership_agreement::{
    AgreedTimes, MembershipAgreement, MembershipError, PreviousOwner, RemainingRuns,
};
use super::node_name_claims::NodeNameClaims;
use super::outputs::OutputTracker;
use crate::engine::node_request::NodeRequest;
use crate::engine::{Engine, LeaderGate};
use crate::tick::{LivenessSource, jitter};

/// How many replies are remembered for retries.
const ANSWERS_MAX: usize = 1024;

/// How long the servers may be silent before this node counts as cut off, but at least a term. A
/// follower that can reach them is answered twice a second.
const CONTACT_LOST_AFTER: Duration = Duration::from_secs(10);

/// Whether this node should accept no more runs, and whether it has announced that.
#[derive(Debug, Default)]
pub struct DrainState {
    pub is_requested: AtomicBool,
    pub is_announced: AtomicBool,
}

pub struct FleetMember {
    pub net: Arc<dyn FleetNetwork>,
    pub identity: NodeIdentity,
    /// How long a run may continue without contact to the leader.
    pub ttl: Duration,
    pub gate: LeaderGate,
    pub agreement: MembershipAgreement,
    /// Why this node can no longer be a member, until the daemon has taken it.
    exclusion: Mutex<Option<MembershipError>>,
    is_excluded: AtomicBool,
    pub drain: DrainState,
    /// Requests an immediate check of this node's name, while the checking thread runs.
    pub name_checks: Mutex<Option<Sender<()>>>,
    /// The number of node requests this process has made.
    request_count: AtomicU64,
    /// Distinguishes the requests and claims of this process from those of an earlier one.
    process_token: String,
    /// Until when this node may lead, if it holds the lease but has not committed that yet.
    offered_until: Mutex<Option<Duration>>,
    term: Mutex<Option<LeaderState>>,
    granted: Mutex<Option<GrantedRuns>>,
    pub outputs: Mutex<OutputTracker>,
    /// A node request without a reply, which may or may not have been received.
    pub open_request: Mutex<Option<NodeRequest>>,
    /// When the servers last answered this node; `None` if that is not watched.
    last_contact: Mutex<Option<Duration>>,
    /// When the leader was last told of this node's runs, and which they were.
    pub last_report: Mutex<Option<(Duration, BTreeSet<RunKey>)>>,
}

/// State that only a leader has.
struct LeaderState {
    /// The commit that began the term: a node that retries a request must have seen it.
    version: StoreVersion,
    /// When the term began: every node gets its full time to report from then on.
    since: Duration,
    /// When each node last reported, and its runs.
    reports: BTreeMap<NodeId, (Duration, BTreeSet<RunKey>)>,
    replies: VecDeque<(String, String)>,
}

/// The runs of this node that may continue, and until when.
#[derive(Debug, Clone)]
pub struct GrantedRuns {
    /// By the monotonic clock of [`monotonic_now`].
    pub until: Duration,
    pub runs: BTreeSet<RunKey>,
}

impl FleetMember {
    pub fn new(
        net: Arc<dyn FleetNetwork>,
        identity: NodeIdentity,
        ttl: Duration,
        root: &Path,
    ) -> Self {
        let process_token = format!("{:016x}", jitter());
        let holder = NodeNameClaims::new(root, identity.node.clone(), process_token.clone());
        Self {
            agreement: MembershipAgreement::new(
                AgreedTimes::new(ttl, identity.term),
                identity.node.clone(),
                holder,
            ),
            exclusion: Mutex::default(),
            is_excluded: AtomicBool::new(false),
            drain: DrainState::default(),
            name_checks: Mutex::default(),
            net,
            identity,
            ttl,
            gate: LeaderGate::default(),
            request_count: AtomicU64::new(0),
            process_token,
            offered_until: Mutex::default(),
            term: Mutex::default(),
            granted: Mutex::default(),
            outputs: Mutex::default(),
            open_request: Mutex::default(),
            last_contact: Mutex::default(),
            last_report: Mutex::default(),
        }
    }

    /// Agrees with the other nodes on protocol, times and this node's name. Returns who
    /// had the name before.
    pub fn join(&self, world: &World) -> Result<PreviousOwner, MembershipError> {
        self.agreement.join(&*self.net, self.remaining_runs(world))
    }

    /// Keeps a name that belonged to another folder, unless that folder has runs after all.
    pub fn keep_name(&self, was: &str, world: &World) -> Result<(), MembershipError> {
        self.agreement.confirm_name(&*self.net, was, self.remaining_runs(world))
    }

    fn remaining_runs(&self, world: &World) -> RemainingRuns {
        if has_runs(world, &self.identity.node) {
            RemainingRuns::Present
        } else {
            RemainingRuns::Absent
        }
    }

    /// Returns whether this node was confirmed to have its name after `then`. If not, requests a
    /// check, and the daemon is woken when its result is known.
    pub fn confirm_name_after(&self, then: Duration) -> bool {
        let had = self.agreement.was_confirmed_after(then);
        if let Some(doubts) = lock(&self.name_checks).as_ref().filter(|_| !had) {
            let _ = doubts.send(());
        }
        had
    }

    /// Checks that this node still has its name. Returns false if it does not.
    pub fn check_name(&self) -> bool {
        self.record_check(self.agreement.check_name(&*self.net))
    }

    /// Checks that this node's times still match those of the fleet. Returns false if they do not.
    pub fn check_times(&self) -> bool {
        self.record_check(self.agreement.check_times(&*self.net))
    }

    fn record_check(&self, looked: Result<(), MembershipError>) -> bool {
        let fits = looked.is_ok();
        if let Err(unfit) = looked {
            *lock(&self.exclusion) = Some(unfit);
            self.is_excluded.store(true, Ordering::Release);
            self.step_down();
        }
        fits
    }

    /// Returns whether this node can no longer be a member.
    pub fn is_excluded(&self) -> bool {
        self.is_excluded.load(Ordering::Acquire)
    }

    /// Returns once why this node can no longer be a member.
    pub fn ensure_member(&self) -> Result<(), MembershipError> {
        lock(&self.exclusion).take().map_or(Ok(()), Err)
    }

    /// Records that the servers of the fleet have answered.
    pub fn note_contact(&self) {
        *lock(&self.last_contact) = Some(monotonic_now());
    }

    /// Returns how long the servers have not answered, if that is so long that this node is cut off.
    pub fn cut_off_for(&self) -> Option<Duration> {
        let last = (*lock(&self.last_contact))?;
        // A leader asks the servers three times in a term.
        let limit = CONTACT_LOST_AFTER.max(self.identity.term);
        Some(monotonic_now().saturating_sub(last)).filter(|silence| *silence > limit)
    }

    pub fn node(&self) -> &NodeId {
        &self.identity.node
    }

    pub fn gate(&self) -> &LeaderGate {
        &self.gate
    }

    /// Returns whether this node leads and has committed that it does.
    pub fn is_leader(&self) -> bool {
        self.gate.is_open() && lock(&self.term).is_some()
    }

    /// Offers leadership to the engine, which accepts it when it is next free.
    pub fn offer_leadership(&self, until: Duration) {
        *lock(&self.offered_until) = Some(until);
    }

    /// Takes the offer, if it has not expired.
    fn take_offer(&self) -> Option<Duration> {
        lock(&self.offered_until).take().filter(|until| monotonic_now() < *until)
    }

    /// Accepts an offer of leadership, and commits that first. Returns whether this node leads.
    pub fn accept_leadership<S: FleetStore>(
        &self,
        engine: &mut Engine<S>,
    ) -> Result<bool, StoreError> {
        if let Some(until) = self.take_offer() {
            self.gate.open_until(until);
            let began = engine.take_over(&self.identity.node);
            if began.is_err() {
                self.gate.close();
            }
            self.start_term(began?);
        }
        Ok(self.is_leader())
    }

    /// Starts a term with the commit that announced it.
    fn start_term(&self, version: StoreVersion) {
        let (since, heard) = (monotonic_now(), BTreeMap::new());
        let answers = VecDeque::new();
        *lock(&self.term) = Some(LeaderState { version, since, reports: heard, replies: answers });
    }

    /// Extends the term, if this node leads.
    pub fn extend_term(&self, until: Duration) {
        if lock(&self.term).is_some() {
            self.gate.open_until(until);
        }
    }

    /// Stops leading and drops any offer.
    pub fn step_down(&self) {
        self.gate.close();
        *lock(&self.offered_until) = None;
        *lock(&self.term) = None;
    }

    /// Returns a unique id for a node request.
    pub fn next_request_id(&self) -> String {
        let count = self.request_count.fetch_add(1, Ordering::Relaxed);
        self.request_id(count)
    }

    pub fn request_id(&self, count: u64) -> String {
        format!("{}/{}-{count}", self.identity.node, self.process_token)
    }

    #[cfg(test)]
    pub fn request_count(&self) -> u64 {
        self.request_count.load(Ordering::Relaxed)
    }

    /// Returns the commit that began the current term.
    pub fn term_start(&self) -> Option<StoreVersion> {
        lock(&self.term).as_ref().map(|term| term.version)
    }

    /// Returns the reply that was given in this term to an earlier copy of the request.
    pub fn remembered_reply(&self, asked: &str) -> Option<String> {
        let term = lock(&self.term);
        let mut answers = term.iter().flat_map(|term| &term.replies);
        answers.find(|(id, _)| id == asked).map(|(_, answer)| answer.clone())
    }

    pub fn remember(&self, asked: String, answer: String) {
        if let Some(term) = &mut *lock(&self.term) {
            if term.replies.len() >= ANSWERS_MAX {
                term.replies.pop_front();
            }
            term.replies.push_back((asked, answer));
        }
    }

    /// Records that a node reported, with its runs.
    pub fn record_report(&self, node: NodeId, runs: BTreeSet<RunKey>) {
        if let Some(term) = &mut *lock(&self.term) {
            term.reports.insert(node, (monotonic_now(), runs));
        }
    }

    /// Lets these runs of this node continue until then.
    pub fn grant(&self, until: Duration, runs: BTreeSet<RunKey>) {
        *lock(&self.granted) = Some(GrantedRuns { until, runs });
    }

    /// Lets all runs of this node continue, while this node leads.
    pub fn grant_own_runs(&self, now: Duration, world: &World) {
        self.grant(now + self.ttl, runs_on(world, &self.identity.node));
    }

    pub fn granted(&self) -> Option<GrantedRuns> {
        lock(&self.granted).clone()
    }

    /// Returns whether this node must perform an effect: the node that has the last run of the task
    /// does, or else the leader.
    pub fn is_responsible_for(&self, pending: &PendingEffect, world: &World) -> bool {
        match node_for_effect(&pending.effect, world) {
            Some(node) => *node == self.identity.node,
            None => self.is_leader(),
        }
    }

    /// Combines what this node knows of its own runs with the reports of other nodes.
    pub fn fleet_liveness(
        &self,
        own: &BTreeMap<TaskId, RunLiveness>,
        world: &World,
        pending: &[PendingEffect],
    ) -> FleetLiveness {
        let mut lives = own.clone();
        let term = lock(&self.term);
        let Some(term) = &*term else { return FleetLiveness { lives, silent: BTreeSet::new() } };
        for id in tasks_to_inspect(world) {
            let Some(task) = world.task(&id) else { continue };
            let Some(node) = task.history.node.as_ref().filter(|node| **node != self.identity.node)
            else {
                continue;
            };
            if let Some(run) = current_run(task) {
                let life =
                    term.last_report(node).run_life(&run, start_status(pending, &run), self.ttl);
                lives.insert(id, life);
            }
        }
        let nodes = world.policy().nodes.keys().filter(|node| **node != self.identity.node);
        let away =
            nodes.filter(|node| term.last_report(node).is_silent(self.ttl)).cloned().collect();
        FleetLiveness { lives, silent: away }
    }
}

impl LeaderState {
    /// Returns how long ago a node reported, and its runs.
    fn last_report(&self, node: &NodeId) -> NodeContact<'_> {
        let ago = |at: Duration| monotonic_now().saturating_sub(at);
        match self.reports.get(node) {
            Some((at, runs)) => NodeContact::Last { ago: ago(*at), runs },
            None => NodeContact::Never { listening: ago(self.since) },
        }
    }
}

/// Which runs are alive on all nodes, and which nodes are silent.
pub struct FleetLiveness {
    lives: BTreeMap<TaskId, RunLiveness>,
    silent: BTreeSet<NodeId>,
}

impl LivenessSource for FleetLiveness {
    fn life(&self, task: &Task) -> RunLiveness {
        self.lives.life(task)
    }

    fn silent_nodes(&self) -> BTreeSet<NodeId> {
        self.silent.clone()
    }
}

/// Returns whether the start of a run is still pending.
fn start_status(pending: &[PendingEffect], run: &RunKey) -> RunStartState {
    let starts = |effect: &Effect| matches!(effect, Effect::StartRun { task, fence, .. } if (task, fence) == (&run.0, &run.1));
    if pending.iter().any(|pending| starts(&pending.effect)) {
        RunStartState::Pending
    } else {
        RunStartState::Done
    }
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}
