//! Three threads of a node: one takes the right to decide when nobody has it and keeps it, one says
//! that the node is there and learns who else is, and one minds what all agreed on.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use adjutant_core::Policy;
use adjutant_store::net::Held;
use adjutant_store::{Lead as Right, StoreError, steady};

use super::member::{Member, lock};
use super::roster::{AgentWire, COUNTS, Known, NodeInfo, SAY};
use crate::clock::{Clock, SystemClock};
use crate::service::Client;

/// How often a node looks whether somebody decides.
const LOOK: Duration = Duration::from_millis(500);

/// After how many commits a copy of everything is kept, so that whoever joins need not follow from
/// the beginning.
const SNAPSHOT: u64 = 5_000;

/// Has the daemon look at what has changed.
pub(crate) type Bell = Box<dyn Fn() + Send>;

/// A node among others, for as long as this lives.
pub(crate) struct Lead {
    member: Arc<Member>,
    crier: Sender<()>,
    stop: Vec<Sender<()>>,
    threads: Vec<JoinHandle<()>>,
    _going: Vec<Held>,
}

impl Lead {
    /// Begins to take part: hears of commits, answers the others, says that it is there, and
    /// decides when it is this node's turn.
    pub(crate) fn begin(
        member: &Arc<Member>,
        client: &Client,
        policy: Policy,
        bell: Bell,
    ) -> Result<Self, StoreError> {
        client.go_by(alone(member, client, &policy));
        let news = member.net.on_commit(Box::new(client.follow_bell()))?;
        let asked = client.clone();
        let answers =
            member.net.answer(member.node(), Box::new(move |question| asked.answer(&question)))?;
        let (stop_leading, told_leading) = channel();
        let (crier, told_saying) = channel();
        let (doubt, doubts) = channel();
        let (own, asks) = (Arc::clone(member), client.clone());
        let leads = named("lead", move || lead(&own, &asks, &told_leading));
        let (own, asks) = (Arc::clone(member), client.clone());
        let says = named("crier", move || cry(&own, &asks, &policy, &told_saying));
        *lock(&member.doubts) = Some(doubt);
        let own = Arc::clone(member);
        let minds = named("pact", move || mind(&own, &doubts, &bell));
        Ok(Self {
            member: Arc::clone(member),
            crier,
            stop: vec![stop_leading],
            threads: vec![leads, says, minds],
            _going: vec![news, answers],
        })
    }

    /// Has everybody know that this node wants nothing more. Says whether they do: until then it
    /// may still give something to itself.
    pub(crate) fn leaves(&self) -> bool {
        if !self.member.leaving.is_wanted.swap(true, Ordering::AcqRel) {
            let _ = self.crier.send(());
        }
        self.member.leaving.is_said.load(Ordering::Acquire)
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        self.stop.clear();
        // A thread goes when nobody is left who could tell it anything.
        self.crier = channel().0;
        *lock(&self.member.doubts) = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn named(name: &str, work: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    let thread = thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.expect("a thread can be started")
}

/// Waits. Says whether it is time to go.
fn is_over(told: &Receiver<()>, pause: Duration) -> bool {
    !matches!(told.recv_timeout(pause), Err(RecvTimeoutError::Timeout))
}

fn lead(member: &Member, client: &Client, told: &Receiver<()>) {
    let term = member.me.term;
    let mut right: Option<Box<dyn Right>> = None;
    loop {
        right = match right {
            _ if member.gate.is_ill() => give_up(member, right),
            Some(right) => keep(member, right),
            // Servers that do not answer are asked again.
            None => member.net.lead(member.node(), term).ok().flatten(),
        };
        if let Some(held) = &right
            && !member.decides()
        {
            member.offer(steady() + held.left());
            client.take_over();
        }
        let pause = if right.is_some() { term / 3 } else { LOOK };
        if is_over(told, pause) {
            break;
        }
    }
    give_up(member, right);
}

/// Decides no more, and says so.
fn give_up(member: &Member, right: Option<Box<dyn Right>>) -> Option<Box<dyn Right>> {
    member.step_down();
    if let Some(right) = right {
        // Who cannot say so is replaced when the time is up.
        let _ = right.release();
    }
    None
}

/// Asks for more time, and stops deciding at once where it is not granted in time.
fn keep(member: &Member, mut right: Box<dyn Right>) -> Option<Box<dyn Right>> {
    match right.renew() {
        Ok(true) => {
            member.go_on(steady() + right.left());
            Some(right)
        }
        Err(_) if right.is_held() => Some(right),
        Ok(false) | Err(_) => {
            member.step_down();
            None
        }
    }
}

/// From the first decision on, work is given to nodes by name: to this one, until it knows others.
fn alone(member: &Member, client: &Client, policy: &Policy) -> Policy {
    let info = describe(member, client, policy, "");
    Known([(member.node().clone(), info)].into()).policy(policy.clone())
}

/// Says that this node is there, and goes by who else is.
fn cry(member: &Member, client: &Client, policy: &Policy, told: &Receiver<()>) {
    let since = SystemClock.now().to_string();
    let mut kept = client.version().0;
    loop {
        let leaves = member.leaving.is_wanted.load(Ordering::Acquire);
        let info = describe(member, client, policy, &since);
        let what = serde_json::to_vec(&info).unwrap_or_default();
        let said = member.net.announce(member.node(), what, COUNTS);
        if let (Ok(()), Ok(mut known)) = (said, Known::of(&*member.net)) {
            known.0.insert(member.node().clone(), info);
            client.go_by(known.policy(policy.clone()));
            member.leaving.is_said.store(leaves, Ordering::Release);
        }
        // What was missed is made up for.
        client.look();
        if member.decides() && client.version().0 >= kept + SNAPSHOT {
            kept = client.version().0;
            client.snapshot();
        }
        // Whoever has something to be said has it said at once.
        if told.recv_timeout(SAY) == Err(RecvTimeoutError::Disconnected) {
            break;
        }
    }
    // Whoever has the name now is not said to have left.
    if !member.pact.is_replaced() {
        let _ = member.net.withdraw(member.node(), COUNTS);
    }
}

/// Looks whether the others still go by what was agreed on, and has the daemon leave if not: now and
/// then, and at once where somebody is in doubt, who is called when it is known. This has a thread
/// of its own, since servers that do not answer must not keep anybody from hearing that the node is
/// there.
fn mind(member: &Member, doubts: &Receiver<()>, bell: &Bell) {
    let (mut since, mut times_at) = (None, steady());
    loop {
        match doubts.recv_timeout(SAY) {
            Ok(()) => since = since.or_else(|| Some(steady())),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        // All who are in doubt by now are answered together.
        while doubts.try_recv().is_ok() {
            since = since.or_else(|| Some(steady()));
        }
        if !member.look_at_name() {
            return bell();
        }
        if since.is_some_and(|since| member.pact.was_seen_after(since)) {
            since = None;
            bell();
        }
        if steady() >= times_at {
            if !member.look_at_times() {
                return bell();
            }
            times_at = steady() + SAY;
        }
    }
}

/// Says whether this node is to be given nothing: it leaves, or could not write down that it was.
fn wants_nothing(member: &Member) -> bool {
    member.gate.is_ill() || member.leaving.is_wanted.load(Ordering::Acquire)
}

fn describe(member: &Member, client: &Client, policy: &Policy, since: &str) -> NodeInfo {
    let runs = member.granted().map_or(0, |granted| granted.runs.len());
    let agents = policy.agents.iter();
    NodeInfo {
        program: env!("CARGO_PKG_VERSION").to_owned(),
        since: since.to_owned(),
        labels: member.me.labels.clone(),
        concurrency: if wants_nothing(member) { 0 } else { policy.scheduler.concurrency },
        agents: agents
            .map(|(name, agent)| (name.to_string(), AgentWire::of(agent, policy)))
            .collect(),
        version: client.version().0,
        runs: u32::try_from(runs).unwrap_or(u32::MAX),
    }
}
