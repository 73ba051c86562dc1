//! The decider's lease: a key that is gone unless it is renewed, so that one node at a time
//! decides and another takes over when it stops.
//!
//! The lease keeps nodes from getting in each other's way; it guards nothing. What guards the
//! record is the stream, which takes a commit only from who knows where it ends: a new decider
//! commits at once, so that whatever the old one still tries is refused by the servers.

use std::time::Duration;

use adjutant_store::steady;
use async_nats::jetstream::kv::{Config, Operation, Store};
use serde::{Deserialize, Serialize};

use crate::check::REPLICAS;
use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::options::Durability;
use crate::patience::Patience;

/// The key that names the decider.
const KEY: &str = "decider";

/// Who decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Term {
    /// The node.
    pub node: String,
    /// What tells this term from any other of the same node.
    id: String,
}

/// The right to decide, for as long as it is renewed.
pub struct Lease {
    fleet: Fleet,
    term: Term,
    revision: u64,
    ttl: Duration,
    /// When the last renewal was asked for that was granted: the lease cannot end sooner than its
    /// time after that, whatever clocks say.
    since: Duration,
}

impl Fleet {
    /// Takes the decider's lease for a node, if nobody has it.
    pub fn try_lead(&self, node: &str, ttl: Duration) -> Result<Option<Lease>, FleetError> {
        let term = Term { node: node.to_owned(), id: self.client().new_inbox() };
        let since = steady();
        let taken = {
            let term = term.clone();
            self.wait(move |fleet| async move { take(&fleet, &term, ttl).await })?
        };
        let fleet = self.clone();
        Ok(taken.map(|revision| Lease { fleet, term, revision, ttl, since }))
    }

    /// Returns who decides, as far as this connection is told.
    pub fn decider(&self, ttl: Duration) -> Result<Option<Term>, FleetError> {
        self.wait(
            move |fleet| async move { Ok(present(&fleet, ttl).await?.and_then(|(_, term)| term)) },
        )
    }
}

impl Lease {
    /// Returns whose it is.
    pub fn term(&self) -> &Term {
        &self.term
    }

    /// Says whether nobody else can have it yet.
    pub fn is_held(&self) -> bool {
        !self.left().is_zero()
    }

    /// Returns how long nobody else can have it.
    pub fn left(&self) -> Duration {
        self.ttl.saturating_sub(steady().saturating_sub(self.since))
    }

    pub(crate) fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// Asks for more time. Says whether it was granted; if not, somebody else has the lease, or
    /// may have it.
    pub fn renew(&mut self) -> Result<bool, FleetError> {
        let (term, revision, ttl) = (self.term.clone(), self.revision, self.ttl);
        let since = steady();
        let renewed = self
            .fleet
            .wait(move |fleet| async move { extend(&fleet, &term, revision, ttl).await })?;
        if let Some(revision) = renewed {
            (self.revision, self.since) = (revision, since);
        }
        Ok(renewed.is_some())
    }

    /// Gives it back, so that nobody has to wait for its end.
    pub fn release(self) -> Result<(), FleetError> {
        let (revision, ttl) = (self.revision, self.ttl);
        self.fleet.wait(move |fleet| async move {
            let bucket = bucket(&fleet, ttl).await?;
            // One that is gone or somebody else's need not be given back.
            let _ = bucket.delete_expect_revision(KEY, Some(revision)).await;
            Ok(())
        })
    }
}

async fn take(fleet: &Fleet, term: &Term, ttl: Duration) -> Result<Option<u64>, FleetError> {
    let mut patience = Patience::new(fleet.options().patience);
    let value = serde_json::to_vec(term).expect("text always makes JSON");
    let found = bucket(fleet, ttl).await?;
    fit(fleet, &found, ttl).await?;
    loop {
        let bucket = bucket(fleet, ttl).await?;
        let error = match bucket.create(KEY, value.clone().into()).await {
            Ok(revision) => return Ok(Some(revision)),
            Err(error) => error,
        };
        // An answer that was lost says nothing: who is there?
        match present(fleet, ttl).await? {
            Some((revision, Some(there))) if there == *term => return Ok(Some(revision)),
            Some((_, Some(_))) => return Ok(None),
            Some((_, None)) | None => {}
        }
        if !patience.again().await {
            return Err(fleet.unreachable("take the lease")(error.into()));
        }
    }
}

async fn extend(
    fleet: &Fleet,
    term: &Term,
    revision: u64,
    ttl: Duration,
) -> Result<Option<u64>, FleetError> {
    let bucket = bucket(fleet, ttl).await?;
    let value = serde_json::to_vec(term).expect("text always makes JSON");
    if let Ok(revision) = bucket.update(KEY, value.into(), revision).await {
        return Ok(Some(revision));
    }
    // An answer that was lost says nothing: what was asked for may have been granted.
    match present(fleet, ttl).await? {
        Some((now, Some(there))) if there == *term && now > revision => Ok(Some(now)),
        _ => Ok(None),
    }
}

/// Returns the last thing said about the lease, and whose it is.
async fn present(fleet: &Fleet, ttl: Duration) -> Result<Option<(u64, Option<Term>)>, FleetError> {
    let mut patience = Patience::new(fleet.options().patience);
    loop {
        let error = match bucket(fleet, ttl).await?.entry(KEY).await {
            Ok(entry) => {
                return Ok(entry.map(|entry| {
                    let held = entry.operation == Operation::Put;
                    let term = serde_json::from_slice(&entry.value).ok().filter(|_| held);
                    (entry.revision, term)
                }));
            }
            Err(error) => error,
        };
        if !patience.again().await {
            return Err(fleet.unreachable("read the lease")(error.into()));
        }
    }
}

/// A lease lasts for as long as all nodes say now, not those that made the bucket.
async fn fit(fleet: &Fleet, found: &Store, ttl: Duration) -> Result<(), FleetError> {
    let there = &found.stream.cached_info().config;
    if there.max_age == ttl {
        return Ok(());
    }
    let config = Config {
        bucket: found.name.clone(),
        history: 1,
        max_age: ttl,
        num_replicas: there.num_replicas,
        ..Config::default()
    };
    let changed = fleet.streams().update_key_value(config).await;
    changed.map(drop).map_err(|error| fleet.unreachable("change how long a term is")(error.into()))
}

async fn bucket(fleet: &Fleet, ttl: Duration) -> Result<Store, FleetError> {
    let name = fleet.name("lease");
    let mut patience = Patience::new(fleet.options().patience);
    loop {
        if let Ok(bucket) = fleet.streams().get_key_value(&name).await {
            return Ok(bucket);
        }
        let config = |num_replicas| Config {
            bucket: name.clone(),
            history: 1,
            max_age: ttl,
            num_replicas,
            ..Config::default()
        };
        let mut made = fleet.streams().create_key_value(config(REPLICAS)).await;
        if made.is_err() && fleet.options().durability == Durability::Relaxed {
            made = fleet.streams().create_key_value(config(1)).await;
        }
        match made {
            Ok(bucket) => return Ok(bucket),
            Err(error) if !patience.again().await => {
                return Err(fleet.unreachable("keep the lease")(error.into()));
            }
            Err(_) => {}
        }
    }
}
