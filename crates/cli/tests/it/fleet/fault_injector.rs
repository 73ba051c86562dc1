//! Random faults for a fleet of five nodes and three servers, and the recovery from them.

use std::time::{Duration, Instant};

use adjutant_store::monotonic_now;
use adjutant_testkit::cluster::NatsCluster;
use adjutant_testkit::seeded_rng::SeededRng;

use crate::fleet::agent_diary::FreezePeriod;
use crate::fleet::node::Node;
use crate::fleet::node_link::NodeLink;

/// The time between two faults.
const PAUSE: Duration = Duration::from_secs(3);
/// How long a fault lasts: longer than a lease with `heartbeat_ttl = "4s"` and the extra quarter.
const AWAY: Duration = Duration::from_secs(7);
/// How many faults may be active at once.
const AWAY_MAX: usize = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// A server is killed; never two at once.
    Server,
    /// A node is killed, with all its processes.
    Dead,
    /// A node is frozen with all its processes, for longer than its lease.
    Frozen,
    /// The node in its own network is cut off.
    Cut,
}

/// An active fault.
struct ActiveFault {
    kind: FaultKind,
    /// The index of the node or server.
    which: usize,
    since: Instant,
    froze: Duration,
}

pub(crate) struct ChaosFleet {
    pub(crate) nodes: Vec<Node>,
    pub(crate) cluster: NatsCluster,
    /// The link of the first node to the servers.
    pub(crate) wire: NodeLink,
}

/// Injects one fault after the other: first each kind once, in random order, then random ones.
pub(crate) struct FaultInjector {
    dice: SeededRng,
    due: Vec<FaultKind>,
    next: Instant,
    away: Vec<ActiveFault>,
    /// The faults so far, in words.
    pub(crate) told: Vec<String>,
    pub(crate) frozen: Vec<FreezePeriod>,
}

impl FaultKind {
    const ALL: [Self; 4] = [Self::Server, Self::Dead, Self::Frozen, Self::Cut];
}

impl FaultInjector {
    pub(crate) fn new(mut dice: SeededRng) -> Self {
        let mut due = FaultKind::ALL.to_vec();
        for last in (1..due.len()).rev() {
            due.swap(last, dice.below(last + 1));
        }
        let next = Instant::now() + PAUSE;
        Self { dice, due, next, away: vec![], told: vec![], frozen: vec![] }
    }

    /// Says whether every kind of fault has occurred.
    pub(crate) fn are_all_told(&self) -> bool {
        self.due.is_empty()
    }

    /// Returns the nodes that no fault affects.
    pub(crate) fn there<'n>(&self, nodes: &'n [Node]) -> Vec<&'n Node> {
        self.safe(nodes.len()).into_iter().map(|node| &nodes[node]).collect()
    }

    /// Ends the faults that lasted long enough, and injects the next one when it is due.
    pub(crate) fn go_on(&mut self, scene: &mut ChaosFleet) {
        let away = std::mem::take(&mut self.away);
        let (back, still) = away.into_iter().partition(|away| away.since.elapsed() > AWAY);
        self.away = still;
        self.bring_back(back, scene);
        if Instant::now() >= self.next && self.away.len() < AWAY_MAX {
            self.strike(scene);
            self.next = Instant::now() + PAUSE;
        }
    }

    /// Ends all faults. Frozen nodes stay frozen for the full time first.
    pub(crate) fn end(&mut self, scene: &mut ChaosFleet) {
        let all = std::mem::take(&mut self.away);
        let left = |away: &ActiveFault| AWAY.saturating_sub(away.since.elapsed());
        let frozen = all.iter().filter(|away| away.kind == FaultKind::Frozen);
        std::thread::sleep(frozen.map(left).max().unwrap_or_default());
        self.bring_back(all, scene);
    }

    fn safe(&self, nodes: usize) -> Vec<usize> {
        let is_gone = |node: &usize| {
            self.away.iter().any(|away| away.kind != FaultKind::Server && away.which == *node)
        };
        (0..nodes).filter(|node| !is_gone(node)).collect()
    }

    fn can_happen(&self, kind: FaultKind) -> bool {
        match kind {
            FaultKind::Server => self.away.iter().all(|away| away.kind != FaultKind::Server),
            FaultKind::Dead | FaultKind::Frozen => true,
            FaultKind::Cut => self.safe(1) == [0],
        }
    }

    fn choose(&mut self) -> FaultKind {
        let due = self.due.iter().position(|kind| self.can_happen(*kind));
        if let Some(place) = due {
            return self.due.remove(place);
        }
        let can: Vec<FaultKind> =
            FaultKind::ALL.into_iter().filter(|kind| self.can_happen(*kind)).collect();
        *self.dice.choose(&can)
    }

    /// Prefers a node that has runs, because more can go wrong there.
    fn victim(&mut self, nodes: &[Node]) -> usize {
        let safe = self.safe(nodes.len());
        let at_work = |node: &usize| nodes[*node].processes().len() > 2;
        let busy: Vec<usize> = safe.iter().copied().filter(at_work).collect();
        *self.dice.choose(if busy.is_empty() { &safe } else { &busy })
    }

    fn strike(&mut self, scene: &mut ChaosFleet) {
        let kind = self.choose();
        let which = match kind {
            FaultKind::Server => self.dice.below(scene.cluster.len()),
            FaultKind::Dead | FaultKind::Frozen => self.victim(&scene.nodes),
            FaultKind::Cut => 0,
        };
        let words = match kind {
            FaultKind::Server => {
                scene.cluster.kill_server(which);
                format!("server {which} killed")
            }
            FaultKind::Dead => {
                scene.nodes[which].kill();
                format!("node {which} killed")
            }
            FaultKind::Frozen => {
                scene.nodes[which].freeze();
                format!("node {which} frozen")
            }
            FaultKind::Cut => {
                scene.wire.cut();
                format!("node 0 cut off, by {}", scene.wire.means())
            }
        };
        self.told.push(words);
        self.away.push(ActiveFault { kind, which, since: Instant::now(), froze: monotonic_now() });
    }

    fn bring_back(&mut self, back: Vec<ActiveFault>, scene: &mut ChaosFleet) {
        for ActiveFault { kind, which, froze, .. } in back {
            match kind {
                FaultKind::Server => scene.cluster.restart_server(which),
                FaultKind::Dead => scene.nodes[which].up(),
                FaultKind::Frozen => {
                    scene.nodes[which].thaw();
                    self.frozen.push(FreezePeriod::until_now(&scene.nodes[which], froze));
                }
                FaultKind::Cut => scene.wire.mend(),
            }
        }
    }
}
