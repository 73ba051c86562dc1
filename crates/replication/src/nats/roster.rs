//! The roster of nodes: every node announces itself repeatedly, and the others remember
//! it for a while.
//!
//! The servers store none of this. A new node sends a roll call, and every node answers at once.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use adjutant_model::NodeId;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use parking_lot::Mutex;

use crate::nats::accepted_keys::SignedKind;
use crate::nats::error::FleetError;
use crate::nats::fleet::FleetConnection;
use crate::nats::node_signer::MessageRefusal;
use crate::nats::replay_guard::Freshness;

/// How long to wait for answers to a roll call.
const ROLL_CALL_WAIT: Duration = Duration::from_millis(700);

/// The longest challenge that is answered.
const CHALLENGE_BYTES_MAX: usize = 128;

/// The shortest time between two challenges.
const CHALLENGE_PAUSE: Duration = Duration::from_millis(500);

/// The nodes heard from, with their last announcement. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct NodeRoster {
    heard: Arc<Mutex<BTreeMap<NodeId, HeardNode>>>,
    /// This node's announcement, which also answers roll calls.
    own: Arc<Mutex<Option<(NodeId, Bytes)>>>,
    listens: Arc<OnceLock<()>>,
    /// When this node last asked a process that is not known yet to prove itself.
    asked: Arc<Mutex<Option<Instant>>>,
}

/// The last announcement of a node.
struct HeardNode {
    what: Bytes,
    at: Instant,
    /// Its place among the announcements of the node: the order of its session, and its number.
    place: (u64, u64),
}

impl NodeRoster {
    /// Announces this node.
    pub(crate) async fn announce(
        &self,
        fleet: &FleetConnection,
        node: &NodeId,
        what: Bytes,
    ) -> Result<(), FleetError> {
        self.subscribe_once(fleet).await?;
        *self.own.lock() = Some((node.clone(), what.clone()));
        publish_announcement(fleet, node, what, None).await
    }

    /// Announces that this node leaves.
    pub(crate) async fn withdraw(
        &self,
        fleet: &FleetConnection,
        node: &NodeId,
    ) -> Result<(), FleetError> {
        *self.own.lock() = None;
        publish_announcement(fleet, node, Bytes::new(), None).await?;
        let flushed = fleet.connect_client().flush().await;
        flushed.map_err(|error| fleet.unreachable("leave")(error.into()))
    }

    /// Returns the nodes heard from within `ttl`.
    pub(crate) async fn heard_within(
        &self,
        fleet: &FleetConnection,
        ttl: Duration,
    ) -> Result<Vec<(NodeId, Bytes)>, FleetError> {
        self.subscribe_once(fleet).await?;
        let mut heard = self.heard.lock();
        let is_up = |heard: &HeardNode| heard.at.elapsed() < ttl && !heard.what.is_empty();
        heard.retain(|_, heard| heard.at.elapsed() < ttl);
        let up = heard.iter().filter(|(_, heard)| is_up(heard));
        Ok(up.map(|(node, heard)| (node.clone(), heard.what.clone())).collect())
    }

    /// Subscribes once, then sends a roll call and waits for the answers.
    async fn subscribe_once(&self, fleet: &FleetConnection) -> Result<(), FleetError> {
        if self.listens.get().is_some() {
            return Ok(());
        }
        let failed = |error: async_nats::Error| fleet.unreachable("listen")(error);
        let client = fleet.connect_client();
        let nodes = client.subscribe(fleet.subject("nodes.*")).await;
        let roll = client.subscribe(fleet.subject("roll")).await;
        let (nodes, roll) = (
            nodes.map_err(|error| failed(error.into()))?,
            roll.map_err(|error| failed(error.into()))?,
        );
        if self.listens.set(()).is_err() {
            return Ok(());
        }
        let (this, of) = (self.clone(), fleet.clone());
        tokio::spawn(async move {
            let mut all = stream::select(nodes, roll);
            while let Some(message) = all.next().await {
                this.handle_message(&of, &message.subject, message.payload).await;
            }
        });
        let called = client.publish(fleet.subject("roll"), fleet.own_challenge().into()).await;
        called.map_err(|error| failed(error.into()))?;
        tokio::time::sleep(ROLL_CALL_WAIT).await;
        Ok(())
    }

    async fn handle_message(&self, fleet: &FleetConnection, subject: &str, what: Bytes) {
        if subject == fleet.subject("roll") {
            let own = self.own.lock().clone();
            // A roll call is not signed: all that it can do is to have this node announce itself.
            let challenge = String::from_utf8(what.to_vec()).ok();
            let challenge = challenge.filter(|text| text.len() <= CHALLENGE_BYTES_MAX);
            if let Some((node, what)) = own {
                // If this fails, the next regular announcement makes up for it.
                let _ = publish_announcement(fleet, &node, what, challenge).await;
            }
            return;
        }
        let name = subject.rsplit('.').next().unwrap_or_default();
        let Ok(node) = NodeId::parse(name) else { return };
        let Ok(read) = fleet.verify(subject, SignedKind::Message, &what) else { return };
        if read.header.node != node {
            let refusal = MessageRefusal::WrongSender(read.header.node);
            return fleet.record_refusal(subject, &refusal);
        }
        match fleet.freshness(subject, &read.header) {
            Freshness::Fresh { order } => {
                let place = (order, read.header.count);
                self.record(node, HeardNode { what: read.body.into(), at: Instant::now(), place });
            }
            Freshness::Unproven => self.challenge(fleet).await,
            Freshness::Replayed => {}
        }
    }

    /// Keeps the latest announcement of a node, also if others arrive after it.
    fn record(&self, node: NodeId, new: HeardNode) {
        let mut heard = self.heard.lock();
        if heard.get(&node).is_none_or(|before| before.place < new.place) {
            heard.insert(node, new);
        }
    }

    /// Asks all nodes to announce themselves with the challenge of this process.
    async fn challenge(&self, fleet: &FleetConnection) {
        let is_due = {
            let mut asked = self.asked.lock();
            let is_due = asked.is_none_or(|at| at.elapsed() >= CHALLENGE_PAUSE);
            if is_due {
                *asked = Some(Instant::now());
            }
            is_due
        };
        if is_due {
            let challenge = fleet.own_challenge().into();
            // If this fails, the next announcement of the node has it asked again.
            let _ = fleet.connect_client().publish(fleet.subject("roll"), challenge).await;
        }
    }
}

async fn publish_announcement(
    fleet: &FleetConnection,
    node: &NodeId,
    what: Bytes,
    challenge: Option<String>,
) -> Result<(), FleetError> {
    let subject = fleet.subject(&format!("nodes.{node}"));
    let signed = fleet.signer().sign(&fleet.next_header(challenge), &subject, &what);
    let published = fleet.connect_client().publish(subject, signed.into()).await;
    published.map_err(|error| fleet.unreachable("publish the state of this node")(error.into()))
}
