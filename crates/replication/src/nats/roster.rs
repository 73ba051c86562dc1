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

use crate::nats::error::FleetError;
use crate::nats::fleet::FleetConnection;

/// How long to wait for answers to a roll call.
const ROLL_CALL_WAIT: Duration = Duration::from_millis(700);

/// The nodes heard from, with their last announcement. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct NodeRoster {
    heard: Arc<Mutex<BTreeMap<NodeId, (Bytes, Instant)>>>,
    /// This node's announcement, which also answers roll calls.
    own: Arc<Mutex<Option<(NodeId, Bytes)>>>,
    listens: Arc<OnceLock<()>>,
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
        publish_announcement(fleet, node, what).await
    }

    /// Announces that this node leaves.
    pub(crate) async fn withdraw(
        &self,
        fleet: &FleetConnection,
        node: &NodeId,
    ) -> Result<(), FleetError> {
        *self.own.lock() = None;
        publish_announcement(fleet, node, Bytes::new()).await?;
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
        heard.retain(|_, (_, at)| at.elapsed() < ttl);
        Ok(heard.iter().map(|(node, (what, _))| (node.clone(), what.clone())).collect())
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
        let called = client.publish(fleet.subject("roll"), Bytes::new()).await;
        called.map_err(|error| failed(error.into()))?;
        tokio::time::sleep(ROLL_CALL_WAIT).await;
        Ok(())
    }

    async fn handle_message(&self, fleet: &FleetConnection, subject: &str, what: Bytes) {
        if subject == fleet.subject("roll") {
            let own = self.own.lock().clone();
            if let Some((node, what)) = own {
                // If this fails, the next regular announcement makes up for it.
                let _ = publish_announcement(fleet, &node, what).await;
            }
            return;
        }
        let name = subject.rsplit('.').next().unwrap_or_default();
        let Ok(node) = NodeId::parse(name) else { return };
        let mut heard = self.heard.lock();
        if what.is_empty() {
            heard.remove(&node);
        } else {
            heard.insert(node, (what, Instant::now()));
        }
    }
}

async fn publish_announcement(
    fleet: &FleetConnection,
    node: &NodeId,
    what: Bytes,
) -> Result<(), FleetError> {
    let subject = fleet.subject(&format!("nodes.{node}"));
    let published = fleet.connect_client().publish(subject, what).await;
    published.map_err(|error| fleet.unreachable("publish the state of this node")(error.into()))
}
