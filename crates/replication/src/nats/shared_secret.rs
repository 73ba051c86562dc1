//! The secret that run tokens are derived from: all nodes share it, and the servers store it sealed
//! for the key of each node.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::nats::accepted_keys::SignedKind;
use crate::nats::agreements;
use crate::nats::error::FleetError;
use crate::nats::fleet::FleetConnection;
use crate::nats::node_key::NodeKey;

/// The key of the sealed secret in the bucket of agreements.
const SEALED: &str = "sealed-secret";

/// The key under which fleets before protocol 4 stored the secret in clear.
const CLEAR: &str = "secret";

/// The secret, sealed by one node for every node.
#[derive(Debug, Serialize, Deserialize)]
struct SealedSecret {
    /// The sealed texts, by the public key of the receiver.
    sealed: BTreeMap<String, String>,
}

/// Returns the secret of the fleet. If there is none, `own` becomes it; if the one that is there was
/// stored in clear, a new one does.
pub(crate) async fn share(fleet: &FleetConnection, own: &str) -> Result<String, FleetError> {
    loop {
        let Some(stored) = agreements::read_agreed(fleet, SEALED).await? else {
            let clear = agreements::read_agreed(fleet, CLEAR).await?;
            let is_known = clear.is_some_and(|clear| !clear.text.is_empty());
            let secret = if is_known { new_secret() } else { own.to_owned() };
            agreements::agree(fleet, SEALED, &seal(fleet, &secret)).await?;
            continue;
        };
        erase_clear(fleet).await?;
        let read = fleet.verify(&context(fleet), SignedKind::Message, stored.text.as_bytes());
        let Some((by, secrets)) =
            read.ok().and_then(|read| Some((read.key, serde_json::from_slice(&read.body).ok()?)))
        else {
            // A node that has left sealed it, or a stranger wrote it: this node has the secret.
            agreements::change(fleet, SEALED, &stored.text, &seal(fleet, own)).await?;
            continue;
        };
        let SealedSecret { sealed } = secrets;
        let key = fleet.signer().key();
        let copy = sealed.get(&key.public().to_string());
        let Some(secret) = copy.and_then(|copy| key.open(&by, copy)) else {
            return Err(not_sealed_for_us(fleet));
        };
        if fleet.signer().accepted().current().any(|key| !sealed.contains_key(&key.to_string())) {
            // If another node is quicker, it sealed the secret for the new node too.
            agreements::change(fleet, SEALED, &stored.text, &seal(fleet, &secret)).await?;
        }
        return Ok(secret);
    }
}

fn context(fleet: &FleetConnection) -> String {
    fleet.subject(SEALED)
}

/// Seals the secret for every node that this node accepts.
fn seal(fleet: &FleetConnection, secret: &str) -> String {
    let (key, accepted) = (fleet.signer().key(), fleet.signer().accepted());
    let sealed = accepted.current().map(|to| (to.to_string(), key.seal(to, secret))).collect();
    let body = serde_json::to_vec(&SealedSecret { sealed }).expect("text makes JSON");
    String::from_utf8(fleet.sign(&context(fleet), &body)).expect("JSON and base64 are text")
}

/// Removes the secret that an earlier version stored in clear.
async fn erase_clear(fleet: &FleetConnection) -> Result<(), FleetError> {
    match agreements::read_agreed(fleet, CLEAR).await? {
        Some(clear) if !clear.text.is_empty() => {
            agreements::change(fleet, CLEAR, &clear.text, "").await.map(drop)
        }
        Some(_) | None => Ok(()),
    }
}

/// Makes a secret as long as that of a data folder: 32 bytes in hexadecimal digits.
fn new_secret() -> String {
    NodeKey::generate().secret_hex()
}

fn not_sealed_for_us(fleet: &FleetConnection) -> FleetError {
    let key = fleet.signer().key().public();
    FleetError::Foreign {
        what: "this node".to_owned(),
        why: format!("the secret of the fleet is not sealed for its key {key}"),
        next: "add the key to `accepted_keys` on a node of the fleet, and restart that node",
    }
}
