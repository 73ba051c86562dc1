//! The background threads of a node: one acquires and renews leadership, one announces the node and
//! learns about others, one checks that the membership agreement still holds, and one tells readers of
//! the folder when the servers do not answer.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use adjutant_engine::fleet::member::{FleetMember, lock};
use adjutant_engine::fleet::roster::{
    ANNOUNCE_INTERVAL, AgentWire, KnownNodes, NODE_TTL, NodeInfo,
};
use adjutant_engine::service::EngineHandle;
use adjutant_model::answer::Reason;
use adjutant_model::request::{RefusedAccess, Request};
use adjutant_model::{Actor, Policy, Time};
use adjutant_process::clock::{Clock, SystemClock};
use adjutant_run_files::lost_contact::LostContact;
use adjutant_store::fleet_network::{RefusedMessages, SubscriptionGuard};
use adjutant_store::{LeadershipLease as Right, StoreError, monotonic_now};
use parking_lot::Mutex;

/// How often a follower tries to become leader.
const LEAD_RETRY: Duration = Duration::from_millis(500);

/// The number of commits between two join archives, so that a new node need not follow
/// from the first commit.
const JOIN_ARCHIVE_COMMITS: u64 = 5_000;

/// How often to look whether the servers answer.
const CONTACT_INTERVAL: Duration = Duration::from_secs(1);

/// The shortest time between two entries of the event log about refused messages.
const REFUSALS_INTERVAL: Duration = Duration::from_mins(1);

/// Wakes the daemon to look for changes.
pub(crate) type DaemonWaker = Box<dyn Fn() + Send>;

/// A node's membership in a fleet; ends when dropped.
pub(crate) struct NodeThreads {
    member: Arc<FleetMember>,
    announce_now: Sender<()>,
    /// This node's own settings.
    policy: Arc<Mutex<Policy>>,
    stop: Vec<Sender<()>>,
    threads: Vec<JoinHandle<()>>,
    _subscriptions: Vec<SubscriptionGuard>,
}

impl NodeThreads {
    /// Joins in: follows commits, answers other nodes, announces this node, and leads when
    /// it gets the lease.
    pub(crate) fn start(
        member: &Arc<FleetMember>,
        client: &EngineHandle,
        policy: Policy,
        bell: DaemonWaker,
        root: &Path,
    ) -> Result<Self, StoreError> {
        member.note_contact();
        client.set_policy(single_node_policy(member, client, &policy));
        let news = member.net.on_commit(Box::new(client.commit_callback()))?;
        let asked = client.clone();
        let answers = member.net.serve_requests(
            member.node(),
            Box::new(move |node, question| asked.answer_node(node, &question)),
        )?;
        let (stop_leading, told_leading) = channel();
        let (crier, told_saying) = channel();
        let (doubt, doubts) = channel();
        let (own, asks) = (Arc::clone(member), client.clone());
        let leads = spawn_named("lead", move || hold_leadership(&own, &asks, &told_leading));
        let (own, asks) = (Arc::clone(member), client.clone());
        let policy = Arc::new(Mutex::new(policy));
        let current = Arc::clone(&policy);
        let says =
            spawn_named("crier", move || announce_regularly(&own, &asks, &current, &told_saying));
        *lock(&member.name_checks) = Some(doubt);
        let own = Arc::clone(member);
        let minds = spawn_named("pact", move || watch_agreement(&own, &doubts, &bell));
        let (stop_watching, told_watching) = channel();
        let (own, root) = (Arc::clone(member), root.to_owned());
        let watches = spawn_named("contact", move || report_contact(&own, &root, &told_watching));
        Ok(Self {
            member: Arc::clone(member),
            announce_now: crier,
            policy,
            stop: vec![stop_leading, stop_watching],
            threads: vec![leads, says, minds, watches],
            _subscriptions: vec![news, answers],
        })
    }

    /// Replaces the settings of this node, and announces them at once.
    pub(crate) fn set_policy(&self, policy: Policy) {
        *self.policy.lock() = policy;
        let _ = self.announce_now.send(());
    }

    /// Announces that this node accepts no more work. Returns whether the announcement was made:
    /// until then this node, as leader, may still assign work to itself.
    pub(crate) fn announce_leaving(&self) -> bool {
        if !self.member.drain.is_requested.swap(true, Ordering::AcqRel) {
            let _ = self.announce_now.send(());
        }
        self.member.drain.is_announced.load(Ordering::Acquire)
    }
}

impl Drop for NodeThreads {
    fn drop(&mut self) {
        self.stop.clear();
        // A thread ends when its channel has no sender left.
        self.announce_now = channel().0;
        *lock(&self.member.name_checks) = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn spawn_named(name: &str, work: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    let thread = thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.expect("a thread can be started")
}

/// Waits for `pause`. Returns true if the thread must end.
fn wait_for_stop(stopped: &Receiver<()>, pause: Duration) -> bool {
    !matches!(stopped.recv_timeout(pause), Err(RecvTimeoutError::Timeout))
}

/// Tells readers of the folder while the servers do not answer. This needs its own thread: all others
/// wait for the servers.
fn report_contact(member: &FleetMember, root: &Path, stopped: &Receiver<()>) {
    let mut is_told = false;
    LostContact::clear(root);
    while !wait_for_stop(stopped, CONTACT_INTERVAL) {
        match member.cut_off_for() {
            Some(silence) if !is_told => {
                let silence = i64::try_from(silence.as_millis()).unwrap_or(i64::MAX);
                let since =
                    Time::from_millis(SystemClock.now().as_millis().saturating_sub(silence));
                let lost = LostContact { pid: std::process::id(), since: since.to_string() };
                is_told = lost.write(root).is_ok();
            }
            None if is_told => {
                LostContact::clear(root);
                is_told = false;
            }
            Some(_) | None => {}
        }
    }
    LostContact::clear(root);
}

fn hold_leadership(member: &FleetMember, client: &EngineHandle, stopped: &Receiver<()>) {
    let term = member.identity.term;
    let mut right: Option<Box<dyn Right>> = None;
    loop {
        right = match right {
            _ if member.gate.is_blocked() => {
                // Only to learn whether the servers answer.
                if member.net.current_leader(term).is_ok() {
                    member.note_contact();
                }
                release_leadership(member, right)
            }
            Some(right) => renew_leadership(member, right),
            // If the servers do not answer, the next round tries again.
            None => {
                let acquired = member.net.acquire_leadership(member.node(), term);
                acquired.inspect(|_| member.note_contact()).ok().flatten()
            }
        };
        if let Some(held) = &right
            && !member.is_leader()
        {
            member.offer_leadership(monotonic_now() + held.time_left());
            client.take_over();
        }
        let pause = if right.is_some() { term / 3 } else { LEAD_RETRY };
        if wait_for_stop(stopped, pause) {
            break;
        }
    }
    release_leadership(member, right);
}

/// Stops leading, and releases the lease.
fn release_leadership(
    member: &FleetMember,
    right: Option<Box<dyn Right>>,
) -> Option<Box<dyn Right>> {
    member.step_down();
    if let Some(right) = right {
        // If the release fails, another node takes over when the lease expires.
        let _ = right.release();
    }
    None
}

/// Renews the lease. Stops leading at once if the renewal is refused or comes too late.
fn renew_leadership(member: &FleetMember, mut right: Box<dyn Right>) -> Option<Box<dyn Right>> {
    match right.renew().inspect(|_| member.note_contact()) {
        Ok(true) => {
            member.extend_term(monotonic_now() + right.time_left());
            Some(right)
        }
        Err(_) if right.is_held() => Some(right),
        Ok(false) | Err(_) => {
            member.step_down();
            None
        }
    }
}

/// Returns the policy with this node as the only one: from the first decision on, work is assigned
/// to nodes by name, and the others are not known yet.
fn single_node_policy(member: &FleetMember, client: &EngineHandle, policy: &Policy) -> Policy {
    let info = node_info(member, client, policy, "");
    KnownNodes([(member.node().clone(), info)].into()).policy(policy.clone())
}

/// Announces this node regularly, and updates the policy from the nodes that are up.
fn announce_regularly(
    member: &FleetMember,
    client: &EngineHandle,
    policy: &Mutex<Policy>,
    stopped: &Receiver<()>,
) {
    let since = SystemClock.now().to_string();
    let (mut kept, mut refusals_at) = (client.version().0, monotonic_now());
    loop {
        let leaves = member.drain.is_requested.load(Ordering::Acquire);
        let policy = policy.lock().clone();
        let info = node_info(member, client, &policy, &since);
        let what = serde_json::to_vec(&info).unwrap_or_default();
        let said = member.net.announce(member.node(), what, NODE_TTL);
        if let (Ok(()), Ok(mut known)) = (said, KnownNodes::fetch(&*member.net)) {
            known.0.insert(member.node().clone(), info);
            client.set_policy(known.policy(policy));
            member.drain.is_announced.store(leaves, Ordering::Release);
        }
        log_refusals(member, client, &mut refusals_at);
        // Poll for commits whose announcement was lost.
        client.poll_commits();
        if member.is_leader() && client.version().0 >= kept + JOIN_ARCHIVE_COMMITS {
            kept = client.version().0;
            client.store_join_archive();
        }
        // A message means that something must be announced at once.
        if stopped.recv_timeout(ANNOUNCE_INTERVAL) == Err(RecvTimeoutError::Disconnected) {
            break;
        }
    }
    // If another node has taken the name, withdrawing would announce that node as gone.
    if !member.agreement.is_replaced() {
        let _ = member.net.withdraw(member.node(), NODE_TTL);
    }
}

/// Writes what was refused to the event log: the first refusals soon, and later ones once a minute,
/// so that strangers cannot flood it.
fn log_refusals(member: &FleetMember, client: &EngineHandle, next: &mut Duration) {
    if monotonic_now() < *next {
        return;
    }
    for RefusedMessages { detail, count } in member.net.take_refused() {
        let (by, reason) = (Actor::System, Reason::ForeignNode);
        let refused = RefusedAccess { by, task: None, reason, detail, count };
        // Without waiting: announcements must not be late, and the messages are refused anyway.
        drop(client.submit(Request::Refused(refused)));
        *next = monotonic_now() + REFUSALS_INTERVAL;
    }
}

/// Checks regularly that the other nodes still have the same agreement, and makes the daemon leave
/// if not. A message on `doubts` checks the name at once, and the daemon is woken when the result
/// is known. This needs its own thread: servers that do not answer must not delay announcements.
fn watch_agreement(member: &FleetMember, doubts: &Receiver<()>, bell: &DaemonWaker) {
    let (mut since, mut times_at) = (None, monotonic_now());
    loop {
        match doubts.recv_timeout(ANNOUNCE_INTERVAL) {
            Ok(()) => since = since.or_else(|| Some(monotonic_now())),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        // Handle all waiting doubts together.
        while doubts.try_recv().is_ok() {
            since = since.or_else(|| Some(monotonic_now()));
        }
        if !member.check_name() {
            return bell();
        }
        if since.is_some_and(|since| member.agreement.was_confirmed_after(since)) {
            since = None;
            bell();
        }
        if monotonic_now() >= times_at {
            if !member.check_times() {
                return bell();
            }
            times_at = monotonic_now() + ANNOUNCE_INTERVAL;
        }
    }
}

/// Returns whether this node accepts no work: it is leaving, or it cannot write.
fn accepts_no_work(member: &FleetMember) -> bool {
    member.gate.is_blocked() || member.drain.is_requested.load(Ordering::Acquire)
}

fn node_info(
    member: &FleetMember,
    client: &EngineHandle,
    policy: &Policy,
    since: &str,
) -> NodeInfo {
    let runs = member.granted().map_or(0, |granted| granted.runs.len());
    let agents = policy.agents.iter();
    NodeInfo {
        program: env!("CARGO_PKG_VERSION").to_owned(),
        since: since.to_owned(),
        labels: member.identity.labels.clone(),
        concurrency: if accepts_no_work(member) { 0 } else { policy.scheduler.concurrency },
        agents: agents
            .map(|(name, agent)| {
                (name.to_string(), AgentWire::with_project_settings(agent, policy))
            })
            .collect(),
        version: client.version().0,
        runs: u32::try_from(runs).unwrap_or(u32::MAX),
    }
}
