//! Implements the store's fleet network (`FleetNetwork`) on NATS.

use std::time::Duration;

use adjutant_model::{NodeId, TaskId};
use adjutant_store::fleet_network::{
    AgreedValue, CommitCallback, FleetNetwork, LeadershipLease, RefusedMessages, RequestHandler,
    SubscriptionGuard,
};
use adjutant_store::{StoreError, StoreVersion};
use bytes::Bytes;
use futures_util::StreamExt;

use crate::nats::accepted_keys::SignedKind;
use crate::nats::agreements;
use crate::nats::error::FleetError;
use crate::nats::fleet::FleetConnection;
use crate::nats::leader_lease::LeaderLease;
use crate::nats::request_reply::{self, BackgroundTask};
use crate::nats::run_logs::RunLog;
use crate::nats::shared_secret;

impl FleetNetwork for FleetConnection {
    fn acquire_leadership(
        &self,
        node: &NodeId,
        ttl: Duration,
    ) -> Result<Option<Box<dyn LeadershipLease>>, StoreError> {
        let lease =
            self.try_lead(node.as_str(), ttl).map_err(|error| self.to_store_error(error))?;
        Ok(lease.map(|lease| Box::new(lease) as Box<dyn LeadershipLease>))
    }

    fn current_leader(&self, ttl: Duration) -> Result<Option<NodeId>, StoreError> {
        let term = self.leader_term(ttl).map_err(|error| self.to_store_error(error))?;
        Ok(term.and_then(|term| NodeId::parse(&term.node).ok()))
    }

    fn send_request(
        &self,
        node: &NodeId,
        question: Vec<u8>,
        patience: Duration,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let node = node.clone();
        let work =
            |fleet| async move { request_reply::ask(&fleet, &node, question, patience).await };
        self.wait(work).map_err(|error| self.to_store_error(error))
    }

    fn serve_requests(
        &self,
        node: &NodeId,
        answer: RequestHandler,
    ) -> Result<SubscriptionGuard, StoreError> {
        let node = node.clone();
        let going =
            self.wait(|fleet| async move { request_reply::answer(fleet, node, answer).await });
        Ok(Box::new(going.map_err(|error| self.to_store_error(error))?))
    }

    fn on_commit(&self, callback: CommitCallback) -> Result<SubscriptionGuard, StoreError> {
        let going = self.wait(|fleet| async move { subscribe_commits(&fleet, callback).await });
        Ok(Box::new(going.map_err(|error| self.to_store_error(error))?))
    }

    fn announce(&self, node: &NodeId, what: Vec<u8>, _: Duration) -> Result<(), StoreError> {
        let node = node.clone();
        let done = self.wait(|fleet| async move {
            fleet.roster().clone().announce(&fleet, &node, what.into()).await
        });
        done.map_err(|error| self.to_store_error(error))
    }

    fn withdraw(&self, node: &NodeId, _: Duration) -> Result<(), StoreError> {
        let node = node.clone();
        let done =
            self.wait(|fleet| async move { fleet.roster().clone().withdraw(&fleet, &node).await });
        done.map_err(|error| self.to_store_error(error))
    }

    fn nodes(&self, ttl: Duration) -> Result<Vec<(NodeId, Vec<u8>)>, StoreError> {
        let there = self.wait(move |fleet| async move {
            fleet.roster().clone().heard_within(&fleet, ttl).await
        });
        let there = there.map_err(|error| self.to_store_error(error))?;
        Ok(there.into_iter().map(|(node, what)| (node, what.to_vec())).collect())
    }

    fn read_agreement(&self, on: &str) -> Result<Option<AgreedValue>, StoreError> {
        let on = on.to_owned();
        self.wait(|fleet| async move { agreements::read_agreed(&fleet, &on).await })
            .map_err(|error| self.to_store_error(error))
    }

    fn propose_agreement(&self, on: &str, own: &str) -> Result<AgreedValue, StoreError> {
        let (on, own) = (on.to_owned(), own.to_owned());
        self.wait(|fleet| async move { agreements::agree(&fleet, &on, &own).await })
            .map_err(|error| self.to_store_error(error))
    }

    fn replace_agreement(
        &self,
        on: &str,
        was: &str,
        to: &str,
    ) -> Result<Option<AgreedValue>, StoreError> {
        let (on, was, to) = (on.to_owned(), was.to_owned(), to.to_owned());
        self.wait(|fleet| async move { agreements::change(&fleet, &on, &was, &to).await })
            .map_err(|error| self.to_store_error(error))
    }

    fn share_secret(&self, own: &str) -> Result<String, StoreError> {
        let own = own.to_owned();
        self.wait(|fleet| async move { shared_secret::share(&fleet, &own).await })
            .map_err(|error| self.to_store_error(error))
    }

    fn take_refused(&self) -> Vec<RefusedMessages> {
        self.take_refused()
    }

    fn append_log(
        &self,
        task: &TaskId,
        attempt: u32,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), StoreError> {
        let log = RunLog { task: task.clone(), attempt };
        self.append_log(&log, offset, bytes).map_err(|error| self.to_store_error(error))
    }

    fn read_log(
        &self,
        task: &TaskId,
        attempt: u32,
        offset: u64,
    ) -> Result<(u64, Vec<u8>), StoreError> {
        let log = RunLog { task: task.clone(), attempt };
        self.read_log(&log, offset).map_err(|error| self.to_store_error(error))
    }

    fn version(&self) -> Result<StoreVersion, StoreError> {
        crate::nats::CommitStream::new(self)
            .last_version()
            .map_err(|error| self.to_store_error(error))
    }
}

impl LeadershipLease for LeaderLease {
    fn is_held(&self) -> bool {
        self.is_held()
    }

    fn time_left(&self) -> Duration {
        self.left()
    }

    fn renew(&mut self) -> Result<bool, StoreError> {
        let fleet = self.fleet().clone();
        self.renew().map_err(|error| fleet.to_store_error(error))
    }

    fn release(self: Box<Self>) -> Result<(), StoreError> {
        let fleet = self.fleet().clone();
        (*self).release().map_err(|error| fleet.to_store_error(error))
    }
}

/// Calls `bell` for every announced commit. A lost announcement is caught by the next poll.
async fn subscribe_commits(
    fleet: &FleetConnection,
    callback: CommitCallback,
) -> Result<BackgroundTask, FleetError> {
    let heard = fleet.connect_client().subscribe(fleet.subject("news")).await;
    let mut announcements = heard.map_err(|error| fleet.unreachable("listen")(error.into()))?;
    let (listener, context) = (fleet.clone(), fleet.subject("news"));
    let task = tokio::spawn(async move {
        while let Some(word) = announcements.next().await {
            let read = listener.verify(&context, SignedKind::Message, &word.payload);
            if let Some(version) = read.ok().and_then(|read| version_of(&read.body)) {
                callback(version);
            }
        }
    });
    Ok(BackgroundTask::new(task))
}

/// Announces that commits exist up to `version`.
pub(crate) async fn announce_commit(fleet: &FleetConnection, version: StoreVersion) {
    let subject = fleet.subject("news");
    let word = Bytes::from(fleet.sign(&subject, version.0.to_string().as_bytes()));
    // A node that misses the announcement finds the commit at its next poll.
    let _ = fleet.connect_client().publish(subject, word).await;
}

fn version_of(word: &[u8]) -> Option<StoreVersion> {
    std::str::from_utf8(word).ok()?.parse().ok().map(StoreVersion)
}
