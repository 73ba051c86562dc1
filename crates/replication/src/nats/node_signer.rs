//! What this node signs, and whose signatures it accepts.
//!
//! Every message, commit and archive is signed over its exact bytes and over its context: the
//! subject it is sent to, and for a commit its version. A copy under another context is refused.
//! Whether a message is fresh is decided by the replay guard.

use std::fmt;
use std::sync::Arc;

use adjutant_model::NodeId;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::nats::accepted_keys::{AcceptedKeys, SignedKind};
use crate::nats::node_key::{NodeKey, PublicNodeKey, SIGNATURE_BYTES};
use crate::nats::options::OptionsError;

/// The longest header that is read.
const HEADER_BYTES_MAX: usize = 1 << 10;

/// The key of this node, and the keys of the nodes of its fleet. Clones share it.
#[derive(Clone)]
pub struct NodeSigner(Arc<SignerState>);

struct SignerState {
    node: NodeId,
    key: NodeKey,
    accepted: AcceptedKeys,
}

/// Who sent a message, and which one it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MessageHeader {
    pub(crate) node: NodeId,
    /// Tells the messages of this process of the node from those of others.
    pub(crate) session: String,
    /// The number of the message in its session.
    pub(crate) count: u64,
    /// The challenge of the receiver, as far as the sender knows one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) challenge: Option<String>,
}

/// A message whose signature was checked.
#[derive(Debug)]
pub(crate) struct VerifiedMessage {
    pub(crate) header: MessageHeader,
    pub(crate) key: PublicNodeKey,
    pub(crate) body: Vec<u8>,
}

/// Why a message, or an entry on the servers, is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MessageRefusal {
    Unsigned,
    /// The node is in no line of `accepted_keys`.
    UnknownNode(NodeId),
    /// No accepted key of the node made the signature, for these bytes in this place.
    BadSignature(NodeId),
    /// A node speaks in the place of another one.
    WrongSender(NodeId),
    Replayed(NodeId),
}

impl NodeSigner {
    /// Fails if the fleet would not accept this node itself.
    pub fn new(node: NodeId, key: NodeKey, accepted: AcceptedKeys) -> Result<Self, OptionsError> {
        if !accepted.has(&node, &key.public()) {
            let public = key.public();
            return Err(OptionsError(vec![format!(
                "the key of this node is not among the accepted keys, which need the line \
                 \"{node} {public}\""
            )]));
        }
        Ok(Self(Arc::new(SignerState { node, key, accepted })))
    }

    pub fn node(&self) -> &NodeId {
        &self.0.node
    }

    pub(crate) fn key(&self) -> &NodeKey {
        &self.0.key
    }

    pub(crate) fn accepted(&self) -> &AcceptedKeys {
        &self.0.accepted
    }

    /// Returns the signed form of a message: signature, header and body.
    pub(crate) fn sign(&self, header: &MessageHeader, context: &str, body: &[u8]) -> Vec<u8> {
        let header = serde_json::to_vec(header).expect("text and numbers make JSON");
        let signature = self.0.key.sign(&signed_bytes(context, &header, body));
        [STANDARD.encode(signature).as_bytes(), b" ", &header, b"\n", body].concat()
    }

    /// Checks the signature before anything but the sender's name is read.
    pub(crate) fn verify(
        &self,
        context: &str,
        kind: SignedKind,
        bytes: &[u8],
    ) -> Result<VerifiedMessage, MessageRefusal> {
        let parts = SignedParts::split(bytes).ok_or(MessageRefusal::Unsigned)?;
        let accepted = &self.0.accepted;
        let node = &parts.header.node;
        if !accepted.knows(node) {
            return Err(MessageRefusal::UnknownNode(node.clone()));
        }
        let signed = signed_bytes(context, parts.header_text, parts.body);
        match accepted.signer(node, kind, &signed, &parts.signature) {
            Some(key) => {
                let (key, body) = (key.clone(), parts.body.to_vec());
                Ok(VerifiedMessage { header: parts.header, key, body })
            }
            None => Err(MessageRefusal::BadSignature(node.clone())),
        }
    }
}

/// Returns the body of a signed message without checking anything, or the bytes themselves if they
/// are not signed. Nothing may be acted upon because of it.
pub(crate) fn unchecked_body(bytes: &[u8]) -> &[u8] {
    SignedParts::split(bytes).map_or(bytes, |parts| parts.body)
}

/// Returns the header of a message without checking anything.
pub(crate) fn unchecked_header(bytes: &[u8]) -> Option<MessageHeader> {
    SignedParts::split(bytes).map(|parts| parts.header)
}

struct SignedParts<'a> {
    signature: [u8; SIGNATURE_BYTES],
    header: MessageHeader,
    header_text: &'a [u8],
    body: &'a [u8],
}

impl<'a> SignedParts<'a> {
    fn split(bytes: &'a [u8]) -> Option<Self> {
        let end = bytes.iter().take(HEADER_BYTES_MAX).position(|byte| *byte == b'\n')?;
        let (first, body) = (&bytes[..end], &bytes[end + 1..]);
        let space = first.iter().position(|byte| *byte == b' ')?;
        let signature = STANDARD.decode(&first[..space]).ok()?.try_into().ok()?;
        let header_text = &first[space + 1..];
        let header = serde_json::from_slice(header_text).ok()?;
        Some(Self { signature, header, header_text, body })
    }
}

/// No context has a line break, so these bytes have one meaning only.
fn signed_bytes(context: &str, header: &[u8], body: &[u8]) -> Vec<u8> {
    [b"adjutant fleet\n", context.as_bytes(), b"\n", header, b"\n", body].concat()
}

impl fmt::Display for MessageRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsigned => f.write_str("it is not signed"),
            Self::UnknownNode(node) => write!(f, "it is signed as {node}, which is not accepted"),
            Self::BadSignature(node) => {
                write!(f, "no accepted key of {node} signed these bytes for this place")
            }
            Self::WrongSender(node) => write!(f, "{node} signed it in the place of another node"),
            Self::Replayed(node) => write!(f, "{node} sent it before"),
        }
    }
}

impl fmt::Debug for NodeSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeSigner({} {})", self.0.node, self.0.key.public())
    }
}

impl PartialEq for NodeSigner {
    fn eq(&self, other: &Self) -> bool {
        let parts = |signer: &Self| (signer.0.node.clone(), signer.0.key.public());
        parts(self) == parts(other) && self.0.accepted == other.0.accepted
    }
}

impl Eq for NodeSigner {}

#[cfg(test)]
mod tests {
    use super::*;

    fn fleet() -> [NodeSigner; 2] {
        let keys = ["desk", "lamp"].map(|name| (name, NodeKey::generate()));
        let lines = keys.each_ref().map(|(name, key)| format!("{name} {}", key.public()));
        let accepted = AcceptedKeys::parse(&lines).expect("good lines");
        keys.map(|(name, key)| {
            let node = NodeId::parse(name).expect("a good name");
            NodeSigner::new(node, key, accepted.clone()).expect("it is listed")
        })
    }

    fn header(node: &str) -> MessageHeader {
        let node = NodeId::parse(node).expect("a good name");
        MessageHeader { node, session: "s".into(), count: 7, challenge: None }
    }

    #[test]
    fn message_arrives_with_its_sender() {
        let [desk, lamp] = fleet();
        let sent = desk.sign(&header("desk"), "p.ask.lamp", b"body\n\xff");
        let read = lamp.verify("p.ask.lamp", SignedKind::Message, &sent).expect("it is good");
        assert_eq!((read.header, read.body.as_slice()), (header("desk"), &b"body\n\xff"[..]));
        assert_eq!(read.key, desk.key().public());
        assert_eq!(unchecked_body(&sent), b"body\n\xff");
        assert_eq!(unchecked_body(b"{\"plain\":1}"), b"{\"plain\":1}");
    }

    #[test]
    fn message_that_was_forged_altered_or_moved_is_refused() {
        let [desk, lamp] = fleet();
        let context = "p.ask.lamp";
        let read = |bytes: &[u8]| lamp.verify(context, SignedKind::Message, bytes).map(drop);
        let sent = desk.sign(&header("desk"), context, b"body");
        let node = |name: &str| NodeId::parse(name).expect("a good name");
        read(&sent).expect("it is good");
        for at in 0..sent.len() {
            let mut altered = sent.clone();
            altered[at] ^= 1;
            assert!(read(&altered).is_err(), "byte {at}");
        }
        let moved = lamp.verify("p.ask.desk", SignedKind::Message, &sent).map(drop);
        assert_eq!(moved, Err(MessageRefusal::BadSignature(node("desk"))));
        let impostor = lamp.sign(&header("desk"), context, b"body");
        assert_eq!(read(&impostor), Err(MessageRefusal::BadSignature(node("desk"))));
        let stranger = lamp.sign(&header("evil"), context, b"body");
        assert_eq!(read(&stranger), Err(MessageRefusal::UnknownNode(node("evil"))));
        for unsigned in [&b""[..], b"{}", b"\n", b" {}\n", &[b'A'; 5000]] {
            assert_eq!(read(unsigned), Err(MessageRefusal::Unsigned));
        }
    }

    #[test]
    fn node_that_is_not_accepted_does_not_start() {
        let [desk, lamp] = fleet();
        let (node, key) = (desk.node().clone(), NodeKey::generate());
        let public = key.public();
        let words = NodeSigner::new(node, key, lamp.accepted().clone()).expect_err("another key");
        assert!(words.to_string().contains(&format!("\"desk {public}\"")), "{words}");
    }
}
