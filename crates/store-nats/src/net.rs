//! What nodes say to each other, by the servers of the fleet.

use std::time::Duration;

use adjutant_core::{NodeId, TaskId};
use adjutant_store::net::{Agreed, Answer, Bell, Held, Lead, Net};
use adjutant_store::{StoreError, Version};
use bytes::Bytes;
use futures_util::StreamExt;

use crate::ask::{self, Going};
use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::keys;
use crate::lease::Lease;
use crate::logs::RunLog;

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

    fn agreed(&self, on: &str) -> Result<Option<Agreed>, StoreError> {
        let on = on.to_owned();
        self.wait(|fleet| async move { keys::agreed(&fleet, &on).await })
            .map_err(|error| self.failed(error))
    }

    fn agree(&self, on: &str, own: &str) -> Result<Agreed, StoreError> {
        let (on, own) = (on.to_owned(), own.to_owned());
        self.wait(|fleet| async move { keys::agree(&fleet, &on, &own).await })
            .map_err(|error| self.failed(error))
    }

    fn change(&self, on: &str, was: &str, to: &str) -> Result<Option<Agreed>, StoreError> {
        let (on, was, to) = (on.to_owned(), was.to_owned(), to.to_owned());
        self.wait(|fleet| async move { keys::change(&fleet, &on, &was, &to).await })
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
