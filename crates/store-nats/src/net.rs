//! What nodes say to each other, by the servers of the fleet.

use std::time::Duration;

use adjutant_core::{NodeId, TaskId};
use adjutant_store::net::{Answer, Bell, Held, Lead, Net};
use adjutant_store::{StoreError, Version};
use async_nats::jetstream::kv::{Config, Store};
use bytes::Bytes;
use futures_util::StreamExt;

use crate::ask::{self, Going};
use crate::check::REPLICAS;
use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::lease::Lease;
use crate::logs::RunLog;
use crate::options::Durability;
use crate::patience::Patience;

/// The key of what tokens are made from.
const SECRET: &str = "secret";

impl Net for Fleet {
    fn lead(&self, node: &NodeId, ttl: Duration) -> Result<Option<Box<dyn Lead>>, StoreError> {
        let lease = self.try_lead(node.as_str(), ttl).map_err(|error| self.failed(error))?;
        Ok(lease.map(|lease| Box::new(lease) as Box<dyn Lead>))
    }

    fn decider(&self, ttl: Duration) -> Result<Option<NodeId>, StoreError> {
        let term = self.decider(ttl).map_err(|error| self.failed(error))?;
        Ok(term.and_then(|term| NodeId::parse(&term.node).ok()))
    }

    fn ask(
        &self,
        node: &NodeId,
        question: Vec<u8>,
        patience: Duration,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let node = node.clone();
        let work = |fleet| async move { ask::ask(&fleet, &node, question, patience).await };
        self.wait(work).map_err(|error| self.failed(error))
    }

    fn answer(&self, node: &NodeId, answer: Answer) -> Result<Held, StoreError> {
        let node = node.clone();
        let going = self.wait(|fleet| async move { ask::answer(fleet, node, answer).await });
        Ok(Box::new(going.map_err(|error| self.failed(error))?))
    }

    fn on_commit(&self, bell: Bell) -> Result<Held, StoreError> {
        let going = self.wait(|fleet| async move { listen(&fleet, bell).await });
        Ok(Box::new(going.map_err(|error| self.failed(error))?))
    }

    fn announce(&self, node: &NodeId, what: Vec<u8>, _: Duration) -> Result<(), StoreError> {
        let node = node.clone();
        let said = self.wait(|fleet| async move {
            fleet.roster().clone().announce(&fleet, &node, what.into()).await
        });
        said.map_err(|error| self.failed(error))
    }

    fn withdraw(&self, node: &NodeId, _: Duration) -> Result<(), StoreError> {
        let node = node.clone();
        let said =
            self.wait(|fleet| async move { fleet.roster().clone().withdraw(&fleet, &node).await });
        said.map_err(|error| self.failed(error))
    }

    fn nodes(&self, ttl: Duration) -> Result<Vec<(NodeId, Vec<u8>)>, StoreError> {
        let there =
            self.wait(move |fleet| async move { fleet.roster().clone().there(&fleet, ttl).await });
        let there = there.map_err(|error| self.failed(error))?;
        Ok(there.into_iter().map(|(node, what)| (node, what.to_vec())).collect())
    }

    fn secret(&self, own: &str) -> Result<String, StoreError> {
        let own = own.to_owned();
        self.wait(|fleet| async move { secret(&fleet, own).await })
            .map_err(|error| self.failed(error))
    }

    fn append_log(
        &self,
        task: &TaskId,
        attempt: u32,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), StoreError> {
        let log = RunLog { task: task.clone(), attempt };
        self.append_log(&log, offset, bytes).map_err(|error| self.failed(error))
    }

    fn read_log(
        &self,
        task: &TaskId,
        attempt: u32,
        offset: u64,
    ) -> Result<(u64, Vec<u8>), StoreError> {
        let log = RunLog { task: task.clone(), attempt };
        self.read_log(&log, offset).map_err(|error| self.failed(error))
    }

    fn version(&self) -> Result<Version, StoreError> {
        crate::Commits::new(self).end().map_err(|error| self.failed(error))
    }
}

impl Lead for Lease {
    fn is_held(&self) -> bool {
        self.is_held()
    }

    fn left(&self) -> Duration {
        self.left()
    }

    fn renew(&mut self) -> Result<bool, StoreError> {
        let fleet = self.fleet().clone();
        self.renew().map_err(|error| fleet.failed(error))
    }

    fn release(self: Box<Self>) -> Result<(), StoreError> {
        let fleet = self.fleet().clone();
        (*self).release().map_err(|error| fleet.failed(error))
    }
}

/// Hears of commits. A word that is lost is made up for by the next look.
async fn listen(fleet: &Fleet, bell: Bell) -> Result<Going, FleetError> {
    let heard = fleet.client().subscribe(fleet.subject("news")).await;
    let mut news = heard.map_err(|error| fleet.unreachable("listen")(error.into()))?;
    let task = tokio::spawn(async move {
        while let Some(word) = news.next().await {
            if let Some(version) = version_of(&word.payload) {
                bell(version);
            }
        }
    });
    Ok(Going::new(task))
}

/// Says that something was committed, up to a version.
pub(crate) async fn tell(fleet: &Fleet, version: Version) {
    let word = Bytes::from(version.0.to_string());
    // Whoever does not hear of it looks by and by.
    let _ = fleet.client().publish(fleet.subject("news"), word).await;
}

fn version_of(word: &[u8]) -> Option<Version> {
    std::str::from_utf8(word).ok()?.parse().ok().map(Version)
}

async fn secret(fleet: &Fleet, own: String) -> Result<String, FleetError> {
    let mut patience = Patience::new(fleet.options().patience);
    loop {
        let error = match try_secret(fleet, &own).await {
            Ok(secret) => return Ok(secret),
            Err(error) => error,
        };
        if !patience.again().await {
            return Err(fleet.unreachable("agree on what tokens are made from")(error));
        }
    }
}

/// The first to say it has said it for all.
async fn try_secret(fleet: &Fleet, own: &str) -> Result<String, async_nats::Error> {
    let keys = keys(fleet).await?;
    if let Some(there) = keys.get(SECRET).await? {
        return Ok(String::from_utf8(there.to_vec())?);
    }
    keys.create(SECRET, own.to_owned().into()).await?;
    Ok(own.to_owned())
}

async fn keys(fleet: &Fleet) -> Result<Store, async_nats::Error> {
    let name = fleet.name("keys");
    if let Ok(bucket) = fleet.streams().get_key_value(&name).await {
        return Ok(bucket);
    }
    let config = |num_replicas| Config {
        bucket: name.clone(),
        history: 1,
        num_replicas,
        ..Config::default()
    };
    let made = fleet.streams().create_key_value(config(REPLICAS)).await;
    if made.is_err() && fleet.options().durability == Durability::Relaxed {
        return Ok(fleet.streams().create_key_value(config(1)).await?);
    }
    Ok(made?)
}
