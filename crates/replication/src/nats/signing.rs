//! How a connection signs what it sends, and checks what it receives.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use adjutant_model::NodeId;
use adjutant_store::fleet_network::RefusedMessages;
use parking_lot::Mutex;

use crate::nats::accepted_keys::SignedKind;
use crate::nats::fleet::FleetConnection;
use crate::nats::node_signer::{MessageHeader, MessageRefusal, NodeSigner, VerifiedMessage};
use crate::nats::refused_messages::RefusalCounter;
use crate::nats::replay_guard::{Freshness, ReplayGuard};

/// The messages of one connection: which were sent, and which were seen.
pub(crate) struct MessageSession {
    signer: NodeSigner,
    id: String,
    sent: AtomicU64,
    guard: Mutex<ReplayGuard>,
    /// The challenges of other nodes, as they said them last.
    challenges: Mutex<BTreeMap<NodeId, String>>,
    refused: RefusalCounter,
}

impl MessageSession {
    pub(crate) fn new(signer: NodeSigner, id: String, challenge: String) -> Self {
        Self {
            signer,
            id,
            sent: AtomicU64::new(0),
            guard: Mutex::new(ReplayGuard::new(challenge)),
            challenges: Mutex::default(),
            refused: RefusalCounter::default(),
        }
    }
}

impl FleetConnection {
    pub(crate) fn signer(&self) -> &NodeSigner {
        &self.session().signer
    }

    /// Signs what is published in one place, where a copy of it does no harm.
    pub(crate) fn sign(&self, context: &str, body: &[u8]) -> Vec<u8> {
        let header = self.next_header(None);
        self.signer().sign(&header, context, body)
    }

    /// Returns the header of the next message of this session.
    pub(crate) fn next_header(&self, challenge: Option<String>) -> MessageHeader {
        let session = self.session();
        MessageHeader {
            node: session.signer.node().clone(),
            session: session.id.clone(),
            count: session.sent.fetch_add(1, Ordering::Relaxed) + 1,
            challenge,
        }
    }

    /// Checks the signature of what was received. A refusal is counted.
    pub(crate) fn verify(
        &self,
        context: &str,
        kind: SignedKind,
        bytes: &[u8],
    ) -> Result<VerifiedMessage, MessageRefusal> {
        let verified = self.signer().verify(context, kind, bytes);
        verified.inspect_err(|refusal| self.record_refusal(context, refusal))
    }

    /// Judges whether a message whose signature is good was sent before. A replay is counted.
    pub(crate) fn freshness(&self, context: &str, header: &MessageHeader) -> Freshness {
        let freshness = self.session().guard.lock().check(header, || self.new_id());
        if freshness == Freshness::Replayed {
            self.record_refusal(context, &MessageRefusal::Replayed(header.node.clone()));
        }
        freshness
    }

    pub(crate) fn record_refusal(&self, context: &str, refusal: &MessageRefusal) {
        self.session().refused.record(format!("{context}: {refusal}"));
    }

    pub(crate) fn take_refused(&self) -> Vec<RefusedMessages> {
        self.session().refused.take()
    }

    /// Returns the challenge that other nodes have to answer.
    pub(crate) fn own_challenge(&self) -> String {
        self.session().guard.lock().challenge().to_owned()
    }

    /// Returns the challenge that a node said last.
    pub(crate) fn challenge_of(&self, node: &NodeId) -> Option<String> {
        self.session().challenges.lock().get(node).cloned()
    }

    pub(crate) fn record_challenge(&self, node: &NodeId, challenge: String) {
        self.session().challenges.lock().insert(node.clone(), challenge);
    }

    /// Returns a text that no other process makes.
    fn new_id(&self) -> String {
        self.connect_client().new_inbox()
    }
}
