//! Request and reply between two nodes over NATS.
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

use crate::nats::error::FleetError;
use crate::nats::fleet::FleetConnection;
use crate::nats::objects;

/// The header that names the object holding a payload too large for a message.
const OBJECT_HEADER: &str = "Adjutant-Object";

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
    let (headers, payload) = pack(fleet, question).await?;
    let request = Request::new().headers(headers).payload(payload).timeout(Some(patience));
    match fleet.connect_client().send_request(subject(fleet, node), request).await {
        Ok(answer) => unpack(fleet, answer).await,
        Err(error) if is_timeout(error.kind()) => Ok(None),
        Err(error) => Err(fleet.unreachable("ask another node")(error.into())),
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
    let to = question.reply.clone()?;
    let asked = unpack(fleet, question).await.ok()??;
    let reply = spawn_blocking(move || answer(asked)).await.ok()?;
    let (headers, payload) = pack(fleet, reply).await.ok()?;
    fleet.connect_client().publish_with_headers(to, headers, payload).await.ok()
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
    let name = format!("said-{}", fleet.connect_client().new_inbox());
    objects::put(fleet, &name, bytes).await?;
    headers.insert(OBJECT_HEADER, name.as_str());
    Ok((headers, Bytes::new()))
}

async fn unpack(fleet: &FleetConnection, message: Message) -> Result<Option<Vec<u8>>, FleetError> {
    let named = message.headers.as_ref().and_then(|headers| headers.get(OBJECT_HEADER));
    let Some(name) = named.map(ToString::to_string) else {
        return Ok(Some(message.payload.to_vec()));
    };
    let bytes = objects::get(fleet, &name).await?;
    // Only this receiver needs the object. If the delete fails, the object wastes space
    // but does no harm.
    let _ = objects::delete(fleet, &name).await;
    Ok(bytes)
}
