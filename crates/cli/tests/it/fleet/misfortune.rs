//! What can happen to a fleet of five nodes and three servers, and being back from it.

use std::time::{Duration, Instant};

use adjutant_store::steady;
use adjutant_testkit::cluster::Cluster;
use adjutant_testkit::dice::Dice;

use crate::fleet::diary::Frozen;
use crate::fleet::node::Node;
use crate::fleet::wire::Wire;

/// The time between two misfortunes.
const PAUSE: Duration = Duration::from_secs(3);
/// How long somebody is away: longer than a lease of a fleet with `heartbeat_ttl = "4s"`, and the
/// quarter more.
const AWAY: Duration = Duration::from_secs(7);
/// How many may be away at once.
const AWAY_MAX: usize = 2;

/// What can happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A server is killed; never two at once.
    Server,
    /// A node is killed, with everything on it.
    Dead,
    /// A node is frozen, with everything on it, for longer than its lease.
    Frozen,
    /// The node with a network of its own is cut off.
    Cut,
}

/// Somebody it happened to.
struct Away {
    kind: Kind,
    /// Which node or server.
    which: usize,
    since: Instant,
    froze: Duration,
}

/// Everything it can happen to.
pub(crate) struct Scene {
    pub(crate) nodes: Vec<Node>,
    pub(crate) cluster: Cluster,
    /// What the first node is reached by.
    pub(crate) wire: Wire,
}

/// One misfortune after the other: first each of them once, in some order, and then whatever comes.
pub(crate) struct Misfortunes {
    dice: Dice,
    due: Vec<Kind>,
    next: Instant,
    away: Vec<Away>,
    /// What happened, in words.
    pub(crate) told: Vec<String>,
    /// When nodes were frozen.
    pub(crate) frozen: Vec<Frozen>,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Server, Self::Dead, Self::Frozen, Self::Cut];
}

impl Misfortunes {
    pub(crate) fn new(mut dice: Dice) -> Self {
        let mut due = Kind::ALL.to_vec();
        for last in (1..due.len()).rev() {
            due.swap(last, dice.below(last + 1));
        }
        let next = Instant::now() + PAUSE;
        Self { dice, due, next, away: vec![], told: vec![], frozen: vec![] }
    }

    /// Says whether everything that can happen has happened.
    pub(crate) fn are_all_told(&self) -> bool {
        self.due.is_empty()
    }

    /// Returns the nodes that nothing has happened to.
    pub(crate) fn there<'n>(&self, nodes: &'n [Node]) -> Vec<&'n Node> {
        self.safe(nodes.len()).into_iter().map(|node| &nodes[node]).collect()
    }

    /// Brings back whoever was away long enough, and lets the next thing happen if it is time.
    pub(crate) fn go_on(&mut self, scene: &mut Scene) {
        let away = std::mem::take(&mut self.away);
        let (back, still) = away.into_iter().partition(|away| away.since.elapsed() > AWAY);
        self.away = still;
        self.bring_back(back, scene);
        if Instant::now() >= self.next && self.away.len() < AWAY_MAX {
            self.strike(scene);
            self.next = Instant::now() + PAUSE;
        }
    }

    /// Brings everybody back. Whoever is frozen is so for as long as is due.
    pub(crate) fn end(&mut self, scene: &mut Scene) {
        let all = std::mem::take(&mut self.away);
        let left = |away: &Away| AWAY.saturating_sub(away.since.elapsed());
        let frozen = all.iter().filter(|away| away.kind == Kind::Frozen);
        std::thread::sleep(frozen.map(left).max().unwrap_or_default());
        self.bring_back(all, scene);
    }

    fn safe(&self, nodes: usize) -> Vec<usize> {
        let is_gone = |node: &usize| {
            self.away.iter().any(|away| away.kind != Kind::Server && away.which == *node)
        };
        (0..nodes).filter(|node| !is_gone(node)).collect()
    }

    fn can_happen(&self, kind: Kind) -> bool {
        match kind {
            Kind::Server => self.away.iter().all(|away| away.kind != Kind::Server),
            Kind::Dead | Kind::Frozen => true,
            Kind::Cut => self.safe(1) == [0],
        }
    }

    fn choose(&mut self) -> Kind {
        let due = self.due.iter().position(|kind| self.can_happen(*kind));
        if let Some(place) = due {
            return self.due.remove(place);
        }
        let can: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| self.can_happen(*kind)).collect();
        *self.dice.one_of(&can)
    }

    /// Returns a node, one that works if there is any: there is more to go wrong.
    fn victim(&mut self, nodes: &[Node]) -> usize {
        let safe = self.safe(nodes.len());
        let at_work = |node: &usize| nodes[*node].processes().len() > 2;
        let busy: Vec<usize> = safe.iter().copied().filter(at_work).collect();
        *self.dice.one_of(if busy.is_empty() { &safe } else { &busy })
    }

    fn strike(&mut self, scene: &mut Scene) {
        let kind = self.choose();
        let which = match kind {
            Kind::Server => self.dice.below(scene.cluster.len()),
            Kind::Dead | Kind::Frozen => self.victim(&scene.nodes),
            Kind::Cut => 0,
        };
        let words = match kind {
            Kind::Server => {
                scene.cluster.kill(which);
                format!("server {which} killed")
            }
            Kind::Dead => {
                scene.nodes[which].kill();
                format!("node {which} killed")
            }
            Kind::Frozen => {
                scene.nodes[which].freeze();
                format!("node {which} frozen")
            }
            Kind::Cut => {
                scene.wire.cut();
                format!("node 0 cut off, by {}", scene.wire.means())
            }
        };
        self.told.push(words);
        self.away.push(Away { kind, which, since: Instant::now(), froze: steady() });
    }

    fn bring_back(&mut self, back: Vec<Away>, scene: &mut Scene) {
        for Away { kind, which, froze, .. } in back {
            match kind {
                Kind::Server => scene.cluster.revive(which),
                Kind::Dead => scene.nodes[which].up(),
                Kind::Frozen => {
                    scene.nodes[which].thaw();
                    self.frozen.push(Frozen::until_now(&scene.nodes[which], froze));
                }
                Kind::Cut => scene.wire.mend(),
            }
        }
    }
}
