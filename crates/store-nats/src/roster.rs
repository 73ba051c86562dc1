//! Who is there: every node says so again and again, and everybody else remembers it for a while.
//!
//! Nothing of this is kept on the servers. Who comes new calls the roll, and all who are there
//! say so at once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use adjutant_core::NodeId;
use bytes::Bytes;
use futures_util::{StreamExt, stream};

use crate::error::FleetError;
use crate::fleet::Fleet;

/// How long the others are given to answer when the roll is called.
const ROLL: Duration = Duration::from_millis(700);

/// Who is there, as far as was heard.
#[derive(Clone, Default)]
pub(crate) struct Roster {
    heard: Arc<Mutex<BTreeMap<NodeId, (Bytes, Instant)>>>,
    /// What this node says of itself when the roll is called.
    own: Arc<Mutex<Option<(NodeId, Bytes)>>>,
    listens: Arc<OnceLock<()>>,
}

impl Roster {
    /// Says what this node is.
    pub(crate) async fn announce(
        &self,
        fleet: &Fleet,
        node: &NodeId,
        what: Bytes,
    ) -> Result<(), FleetError> {
        self.listen(fleet).await?;
        *self.own.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((node.clone(), what.clone()));
        say(fleet, node, what).await
    }

    /// Says that this node is gone.
    pub(crate) async fn withdraw(&self, fleet: &Fleet, node: &NodeId) -> Result<(), FleetError> {
        *self.own.lock().unwrap_or_else(PoisonError::into_inner) = None;
        say(fleet, node, Bytes::new()).await?;
        let flushed = fleet.client().flush().await;
        flushed.map_err(|error| fleet.unreachable("leave")(error.into()))
    }

    /// Returns who was heard within this time.
    pub(crate) async fn there(
        &self,
        fleet: &Fleet,
        ttl: Duration,
    ) -> Result<Vec<(NodeId, Bytes)>, FleetError> {
        self.listen(fleet).await?;
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.retain(|_, (_, at)| at.elapsed() < ttl);
        Ok(heard.iter().map(|(node, (what, _))| (node.clone(), what.clone())).collect())
    }

    /// Begins to listen, once, and calls the roll.
    async fn listen(&self, fleet: &Fleet) -> Result<(), FleetError> {
        if self.listens.get().is_some() {
            return Ok(());
        }
        let failed = |error: async_nats::Error| fleet.unreachable("listen")(error);
        let client = fleet.client();
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
                this.hear(&of, &message.subject, message.payload).await;
            }
        });
        let called = client.publish(fleet.subject("roll"), Bytes::new()).await;
        called.map_err(|error| failed(error.into()))?;
        tokio::time::sleep(ROLL).await;
        Ok(())
    }

    async fn hear(&self, fleet: &Fleet, subject: &str, what: Bytes) {
        if subject == fleet.subject("roll") {
            let own = self.own.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if let Some((node, what)) = own {
                // The next time it is said anyway.
                let _ = say(fleet, &node, what).await;
            }
            return;
        }
        let name = subject.rsplit('.').next().unwrap_or_default();
        let Ok(node) = NodeId::parse(name) else { return };
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        if what.is_empty() {
            heard.remove(&node);
        } else {
            heard.insert(node, (what, Instant::now()));
        }
    }
}

async fn say(fleet: &Fleet, node: &NodeId, what: Bytes) -> Result<(), FleetError> {
    let subject = fleet.subject(&format!("nodes.{node}"));
    let said = fleet.client().publish(subject, what).await;
    said.map_err(|error| fleet.unreachable("say who is there")(error.into()))
}
