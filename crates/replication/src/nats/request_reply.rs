//! Request and reply between two nodes over NATS, both signed.
//!
//! A reply is signed for the message that it answers. The first message of a sender's process is
//! answered by a challenge, and sent again with it; see the replay guard.
//!
//! A payload too large for a NATS message goes through the object store.

use std::sync::Arc;
use std::time::Duration;

use adjutant_model::NodeId;
use adjutant_store::fleet_network::RequestHandler;
use async_nats::client::RequestErrorKind;
use async_nats::{HeaderMap, Message, Request};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::nats::accepted_keys::SignedKind;
use crate::nats::error::FleetError;
use crate::nats::fleet::FleetConnection;
use crate::nats::node_signer::{MessageHeader, MessageRefusal, unchecked_header};
use crate::nats::objects;
use crate::nats::replay_guard::Freshness;

/// The header that names the object holding a payload too large for a message.
const OBJECT_HEADER: &str = "Adjutant-Object";

/// What the names of such objects begin with.
const OBJECT_PREFIX: &str = "said-";

/// How often a question is signed: again after a challenge, and once more if the challenge is old.
const TRIES: usize = 3;

/// What to do about a signature that a node refuses.
const KEYS_HINT: &str = "`accepted_keys` must be alike on all nodes";

/// Bytes reserved for the headers of a message.
const HEADER_BYTES: usize = 1 << 10;

/// A background task that is aborted when this is dropped.
pub(crate) struct BackgroundTask(JoinHandle<()>);

impl BackgroundTask {
    pub(crate) fn new(task: JoinHandle<()>) -> Self {
        Self(task)
    }
}

impl Drop for BackgroundTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Sends a question to a node. Returns None on timeout; the node may still
/// have received the question.
pub(crate) async fn ask(
    fleet: &FleetConnection,
    node: &NodeId,
    question: Vec<u8>,
    patience: Duration,
) -> Result<Option<Vec<u8>>, FleetError> {
    for _ in 0..TRIES {
        match ask_once(fleet, node, &question, patience).await? {
            Some(NodeAnswer::Reply(reply)) => return Ok(Some(reply)),
            Some(NodeAnswer::Challenge(challenge)) => fleet.record_challenge(node, challenge),
            Some(NodeAnswer::Refused(why)) => return Err(refused_error(node, why)),
            None => return Ok(None),
        }
    }
    Ok(None)
}

async fn ask_once(
    fleet: &FleetConnection,
    node: &NodeId,
    question: &[u8],
    patience: Duration,
) -> Result<Option<NodeAnswer>, FleetError> {
    let subject = subject(fleet, node);
    let header = fleet.next_header(fleet.challenge_of(node));
    let signed = fleet.signer().sign(&header, &subject, question);
    let (headers, payload) = pack(fleet, signed).await?;
    let request = Request::new().headers(headers).payload(payload).timeout(Some(patience));
    let answer = match fleet.connect_client().send_request(subject.clone(), request).await {
        Ok(answer) => answer,
        Err(error) if is_timeout(error.kind()) => return Ok(None),
        Err(error) => return Err(fleet.unreachable("ask another node")(error.into())),
    };
    let Some(answer) = unpack(fleet, answer).await? else { return Ok(None) };
    let context = reply_context(&subject, &header);
    let verified = fleet.verify(&context, SignedKind::Message, &answer);
    let verified = verified.and_then(|reply| {
        let sender = reply.header.node;
        if sender == *node { Ok(reply.body) } else { Err(MessageRefusal::WrongSender(sender)) }
    });
    match verified {
        Ok(body) => Ok(NodeAnswer::decode(&body)),
        Err(refusal) => Err(FleetError::Foreign {
            what: format!("the reply of node {node}"),
            why: refusal.to_string(),
            next: KEYS_HINT,
        }),
    }
}

/// Answers the questions sent to this node, each in its own task, until the result is dropped.
pub(crate) async fn answer(
    fleet: FleetConnection,
    node: NodeId,
    answer: RequestHandler,
) -> Result<BackgroundTask, FleetError> {
    let subscribed = fleet.connect_client().subscribe(subject(&fleet, &node)).await;
    let failed = |error: async_nats::SubscribeError| fleet.unreachable("listen")(error.into());
    let mut questions = subscribed.map_err(failed)?;
    let answer = Arc::new(answer);
    let task = tokio::spawn(async move {
        while let Some(question) = questions.next().await {
            let (fleet, answer) = (fleet.clone(), Arc::clone(&answer));
            tokio::spawn(async move { reply(&fleet, question, answer).await });
        }
    });
    Ok(BackgroundTask::new(task))
}

/// Answers one question. Errors are dropped: a node that gets no reply asks again.
async fn reply(
    fleet: &FleetConnection,
    question: Message,
    answer: Arc<RequestHandler>,
) -> Option<()> {
    let (to, subject) = (question.reply.clone(), question.subject.to_string());
    let asked = unpack(fleet, question).await.ok()??;
    let (header, reply) = match fleet.verify(&subject, SignedKind::Message, &asked) {
        Ok(asked) => match fleet.freshness(&subject, &asked.header) {
            Freshness::Fresh { .. } => {
                let (node, body) = (asked.header.node.clone(), asked.body);
                let reply = spawn_blocking(move || answer(&node, body)).await.ok()?;
                let reply = reply.map_or_else(
                    || wrong_sender(fleet, &subject, &asked.header),
                    NodeAnswer::Reply,
                );
                (asked.header, reply)
            }
            // A message that was overtaken by later ones is signed again.
            Freshness::Unproven | Freshness::Replayed => {
                (asked.header, NodeAnswer::Challenge(fleet.own_challenge()))
            }
        },
        // A node that this one does not accept is told why; a stranger gets no answer.
        Err(refusal) => (unchecked_header(&asked)?, NodeAnswer::Refused(refusal.to_string())),
    };
    let context = reply_context(&subject, &header);
    let signed = fleet.sign(&context, &reply.encode());
    let (headers, payload) = pack(fleet, signed).await.ok()?;
    fleet.connect_client().publish_with_headers(to?, headers, payload).await.ok()
}

/// What a node answers to a message.
enum NodeAnswer {
    Reply(Vec<u8>),
    /// The process that asked is not known yet, and has to ask again with this.
    Challenge(String),
    /// The signature was refused, for this reason.
    Refused(String),
}

impl NodeAnswer {
    /// The first byte says what follows.
    fn encode(&self) -> Vec<u8> {
        match self {
            Self::Reply(bytes) => [b"=", bytes.as_slice()].concat(),
            Self::Challenge(text) => [b"?", text.as_bytes()].concat(),
            Self::Refused(text) => [b"!", text.as_bytes()].concat(),
        }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (first, rest) = bytes.split_first()?;
        let text = || String::from_utf8_lossy(rest).into_owned();
        match first {
            b'=' => Some(Self::Reply(rest.to_vec())),
            b'?' => Some(Self::Challenge(text())),
            b'!' => Some(Self::Refused(text())),
            _ => None,
        }
    }
}

/// Binds a reply to the one message that it answers.
fn reply_context(subject: &str, header: &MessageHeader) -> String {
    format!("{subject} {} {} {}", header.node, header.session.replace('\n', " "), header.count)
}

/// Refuses a request that was made for another node than the one that signed it.
fn wrong_sender(fleet: &FleetConnection, subject: &str, header: &MessageHeader) -> NodeAnswer {
    let refusal = MessageRefusal::WrongSender(header.node.clone());
    fleet.record_refusal(subject, &refusal);
    NodeAnswer::Refused(refusal.to_string())
}

fn refused_error(node: &NodeId, why: String) -> FleetError {
    FleetError::Foreign { what: format!("the request to node {node}"), why, next: KEYS_HINT }
}

fn subject(fleet: &FleetConnection, node: &NodeId) -> String {
    fleet.subject(&format!("ask.{node}"))
}

fn is_timeout(kind: RequestErrorKind) -> bool {
    matches!(kind, RequestErrorKind::TimedOut | RequestErrorKind::NoResponders)
}

async fn pack(fleet: &FleetConnection, bytes: Vec<u8>) -> Result<(HeaderMap, Bytes), FleetError> {
    let mut headers = HeaderMap::new();
    let room = fleet.connect_client().server_info().max_payload.saturating_sub(HEADER_BYTES);
    if bytes.len() <= room {
        return Ok((headers, bytes.into()));
    }
    let name = format!("{OBJECT_PREFIX}{}", fleet.connect_client().new_inbox());
    objects::put(fleet, &name, bytes).await?;
    headers.insert(OBJECT_HEADER, name.as_str());
    Ok((headers, Bytes::new()))
}

async fn unpack(fleet: &FleetConnection, message: Message) -> Result<Option<Vec<u8>>, FleetError> {
    let named = message.headers.as_ref().and_then(|headers| headers.get(OBJECT_HEADER));
    let Some(name) = named.map(ToString::to_string) else {
        return Ok(Some(message.payload.to_vec()));
    };
    // The name is not signed, and must not have another object read and deleted.
    if !name.starts_with(OBJECT_PREFIX) {
        return Ok(None);
    }
    let bytes = objects::get(fleet, &name).await?;
    // Only this receiver needs the object. If the delete fails, the object wastes space
    // but does no harm.
    let _ = objects::delete(fleet, &name).await;
    Ok(bytes)
}
