//! The leader's lease: a key that expires unless it is renewed, so that one node leads at a time
//! and another takes over when it stops.
//!
//! The lease only prevents conflicts; it does not protect the event log. The stream does that: it
//! accepts a commit only from a node that knows its last sequence. A new leader commits at once, so
//! the servers refuse later commits of the old leader.

use std::time::Duration;

use adjutant_store::monotonic_now;
use async_nats::jetstream::kv::{Config, Operation, Store};
use serde::{Deserialize, Serialize};

use crate::nats::accepted_keys::SignedKind;
use crate::nats::error::FleetError;
use crate::nats::fleet::FleetConnection;
use crate::nats::options::DurabilityLevel;
use crate::nats::retry::RetryDeadline;
use crate::nats::server_check::REPLICAS;

/// The key that names the leader.
const KEY: &str = "decider";

/// What a term is signed for.
const CONTEXT: &str = "lease";

/// One node's time as leader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaderTerm {
    pub node: String,
    /// Distinguishes this term from others of the same node.
    id: String,
}

/// The leader's lease, held for as long as it is renewed.
pub struct LeaderLease {
    fleet: FleetConnection,
    term: LeaderTerm,
    revision: u64,
    ttl: Duration,
    /// When the last granted renewal was requested, by the monotonic clock. The lease cannot expire
    /// before `since + ttl`.
    since: Duration,
}

impl FleetConnection {
    /// Takes the leader's lease for a node. Returns None if another node holds it.
    pub fn try_lead(&self, node: &str, ttl: Duration) -> Result<Option<LeaderLease>, FleetError> {
        let term = LeaderTerm { node: node.to_owned(), id: self.connect_client().new_inbox() };
        let since = monotonic_now();
        let taken = {
            let term = term.clone();
            self.wait(move |fleet| async move { take_lease(&fleet, &term, ttl).await })?
        };
        let fleet = self.clone();
        Ok(taken.map(|revision| LeaderLease { fleet, term, revision, ttl, since }))
    }

    /// Returns the current leader's term, as far as this connection knows.
    pub fn leader_term(&self, ttl: Duration) -> Result<Option<LeaderTerm>, FleetError> {
        self.wait(move |fleet| async move {
            Ok(read_current(&fleet, ttl).await?.and_then(|(_, term)| term))
        })
    }
}

impl LeaderLease {
    pub fn term(&self) -> &LeaderTerm {
        &self.term
    }

    /// Returns whether the lease cannot have expired yet.
    pub fn is_held(&self) -> bool {
        !self.left().is_zero()
    }

    /// Returns the time in which no other node can take the lease.
    pub fn left(&self) -> Duration {
        self.ttl.saturating_sub(monotonic_now().saturating_sub(self.since))
    }

    pub(crate) fn fleet(&self) -> &FleetConnection {
        &self.fleet
    }

    /// Renews the lease. Returns false if another node holds it or may hold it.
    pub fn renew(&mut self) -> Result<bool, FleetError> {
        let (term, revision, ttl) = (self.term.clone(), self.revision, self.ttl);
        let since = monotonic_now();
        let renewed = self
            .fleet
            .wait(move |fleet| async move { renew_lease(&fleet, &term, revision, ttl).await })?;
        if let Some(revision) = renewed {
            (self.revision, self.since) = (revision, since);
        }
        Ok(renewed.is_some())
    }

    /// Releases the lease, so that another node need not wait for it to expire.
    pub fn release(self) -> Result<(), FleetError> {
        let (revision, ttl) = (self.revision, self.ttl);
        self.fleet.wait(move |fleet| async move {
            let bucket = bucket(&fleet, ttl).await?;
            // A lease that has expired or belongs to another node need not be released.
            let _ = bucket.delete_expect_revision(KEY, Some(revision)).await;
            Ok(())
        })
    }
}

async fn take_lease(
    fleet: &FleetConnection,
    term: &LeaderTerm,
    ttl: Duration,
) -> Result<Option<u64>, FleetError> {
    let mut patience = RetryDeadline::new(fleet.options().retry_timeout);
    let value = signed_term(fleet, term);
    let found = bucket(fleet, ttl).await?;
    set_bucket_ttl(fleet, &found, ttl).await?;
    loop {
        let bucket = bucket(fleet, ttl).await?;
        let error = match bucket.create(KEY, value.clone().into()).await {
            Ok(revision) => return Ok(Some(revision)),
            Err(error) => error,
        };
        // A lost answer leaves the result open, so read who holds the lease.
        match read_current(fleet, ttl).await? {
            Some((revision, Some(there))) if there == *term => return Ok(Some(revision)),
            Some((_, Some(_))) => return Ok(None),
            Some((_, None)) | None => {}
        }
        if !patience.wait_for_retry().await {
            return Err(fleet.unreachable("acquire the leader's lease")(error.into()));
        }
    }
}

async fn renew_lease(
    fleet: &FleetConnection,
    term: &LeaderTerm,
    revision: u64,
    ttl: Duration,
) -> Result<Option<u64>, FleetError> {
    let bucket = bucket(fleet, ttl).await?;
    let value = signed_term(fleet, term);
    if let Ok(revision) = bucket.update(KEY, value.into(), revision).await {
        return Ok(Some(revision));
    }
    // A lost answer leaves the result open: the renewal may have been granted.
    match read_current(fleet, ttl).await? {
        Some((now, Some(there))) if there == *term && now > revision => Ok(Some(now)),
        _ => Ok(None),
    }
}

/// Returns the last revision of the lease, and its holder if it is held.
async fn read_current(
    fleet: &FleetConnection,
    ttl: Duration,
) -> Result<Option<(u64, Option<LeaderTerm>)>, FleetError> {
    let mut patience = RetryDeadline::new(fleet.options().retry_timeout);
    loop {
        let error = match bucket(fleet, ttl).await?.entry(KEY).await {
            Ok(entry) => {
                return Ok(entry.map(|entry| {
                    let held = entry.operation == Operation::Put;
                    let term = verified_term(fleet, &entry.value).filter(|_| held);
                    (entry.revision, term)
                }));
            }
            Err(error) => error,
        };
        if !patience.wait_for_retry().await {
            return Err(fleet.unreachable("read the leader's lease")(error.into()));
        }
    }
}

/// Signs a term, so that a user of the servers cannot name a leader.
fn signed_term(fleet: &FleetConnection, term: &LeaderTerm) -> Vec<u8> {
    let text = serde_json::to_vec(term).expect("text always makes JSON");
    fleet.sign(&fleet.subject(CONTEXT), &text)
}

/// Reads the term of the node that signed it.
fn verified_term(fleet: &FleetConnection, value: &[u8]) -> Option<LeaderTerm> {
    // The value of a lease that was released is empty.
    if value.is_empty() {
        return None;
    }
    let read = fleet.verify(&fleet.subject(CONTEXT), SignedKind::Message, value).ok()?;
    let term: LeaderTerm = serde_json::from_slice(&read.body).ok()?;
    (term.node == read.header.node.as_str()).then_some(term)
}

/// Changes the bucket's expiry to the term all nodes agree on now, which may differ from the one it
/// was created with.
async fn set_bucket_ttl(
    fleet: &FleetConnection,
    found: &Store,
    ttl: Duration,
) -> Result<(), FleetError> {
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
    let changed = fleet.jetstream().update_key_value(config).await;
    changed
        .map(drop)
        .map_err(|error| fleet.unreachable("change the length of the leader's lease")(error.into()))
}

async fn bucket(fleet: &FleetConnection, ttl: Duration) -> Result<Store, FleetError> {
    let name = fleet.name("lease");
    let mut patience = RetryDeadline::new(fleet.options().retry_timeout);
    loop {
        if let Ok(bucket) = fleet.jetstream().get_key_value(&name).await {
            return Ok(bucket);
        }
        let config = |num_replicas| Config {
            bucket: name.clone(),
            history: 1,
            max_age: ttl,
            num_replicas,
            ..Config::default()
        };
        let mut made = fleet.jetstream().create_key_value(config(REPLICAS)).await;
        if made.is_err() && fleet.options().durability == DurabilityLevel::Relaxed {
            made = fleet.jetstream().create_key_value(config(1)).await;
        }
        match made {
            Ok(bucket) => return Ok(bucket),
            Err(error) if !patience.wait_for_retry().await => {
                return Err(fleet.unreachable("renew the leader's lease")(error.into()));
            }
            Err(_) => {}
        }
    }
}
