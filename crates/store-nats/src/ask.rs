//! Questions from one node to another, and their answers.
//!
//! What is too long for a message goes by the object store.

use std::time::Duration;

use adjutant_core::NodeId;
use adjutant_store::net::Answer;
use async_nats::client::RequestErrorKind;
use async_nats::{HeaderMap, Message, Request};
use bytes::Bytes;
use futures_util::StreamExt;
use std::sync::Arc;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::objects;

/// Names the object that holds what is too long for a message.
const OBJECT: &str = "Adjutant-Object";

/// What the headers of a message may take.
const HEADERS: usize = 1 << 10;

/// Something that goes on until this is dropped.
pub(crate) struct Going(JoinHandle<()>);

impl Going {
    pub(crate) fn new(task: JoinHandle<()>) -> Self {
        Self(task)
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Asks a node. None if it did not answer in time, whether it heard or not.
pub(crate) async fn ask(
    fleet: &Fleet,
    node: &NodeId,
    question: Vec<u8>,
    patience: Duration,
) -> Result<Option<Vec<u8>>, FleetError> {
    let (headers, payload) = packed(fleet, question).await?;
    let request = Request::new().headers(headers).payload(payload).timeout(Some(patience));
    match fleet.client().send_request(subject(fleet, node), request).await {
        Ok(answer) => unpacked(fleet, answer).await,
        Err(error) if is_silence(error.kind()) => Ok(None),
        Err(error) => Err(fleet.unreachable("ask another node")(error.into())),
    }
}

/// Answers what this node is asked.
pub(crate) async fn answer(
    fleet: Fleet,
    node: NodeId,
    answer: Answer,
) -> Result<Going, FleetError> {
    let subscribed = fleet.client().subscribe(subject(&fleet, &node)).await;
    let failed = |error: async_nats::SubscribeError| fleet.unreachable("listen")(error.into());
    let mut questions = subscribed.map_err(failed)?;
    let answer = Arc::new(answer);
    let task = tokio::spawn(async move {
        while let Some(question) = questions.next().await {
            let (fleet, answer) = (fleet.clone(), Arc::clone(&answer));
            tokio::spawn(async move { reply(&fleet, question, answer).await });
        }
    });
    Ok(Going::new(task))
}

/// Answers one question. Whoever asked and hears nothing asks again.
async fn reply(fleet: &Fleet, question: Message, answer: Arc<Answer>) -> Option<()> {
    let to = question.reply.clone()?;
    let asked = unpacked(fleet, question).await.ok()??;
    let said = spawn_blocking(move || answer(asked)).await.ok()?;
    let (headers, payload) = packed(fleet, said).await.ok()?;
    fleet.client().publish_with_headers(to, headers, payload).await.ok()
}

fn subject(fleet: &Fleet, node: &NodeId) -> String {
    fleet.subject(&format!("ask.{node}"))
}

fn is_silence(kind: RequestErrorKind) -> bool {
    matches!(kind, RequestErrorKind::TimedOut | RequestErrorKind::NoResponders)
}

async fn packed(fleet: &Fleet, bytes: Vec<u8>) -> Result<(HeaderMap, Bytes), FleetError> {
    let mut headers = HeaderMap::new();
    let room = fleet.client().server_info().max_payload.saturating_sub(HEADERS);
    if bytes.len() <= room {
        return Ok((headers, bytes.into()));
    }
    let name = format!("said-{}", fleet.client().new_inbox());
    objects::put(fleet, &name, bytes).await?;
    headers.insert(OBJECT, name.as_str());
    Ok((headers, Bytes::new()))
}

async fn unpacked(fleet: &Fleet, message: Message) -> Result<Option<Vec<u8>>, FleetError> {
    let named = message.headers.as_ref().and_then(|headers| headers.get(OBJECT));
    let Some(name) = named.map(ToString::to_string) else {
        return Ok(Some(message.payload.to_vec()));
    };
    let bytes = objects::get(fleet, &name).await?;
    // It was for this one alone. One that stays behind takes room and does no harm.
    let _ = objects::drop_one(fleet, &name).await;
    Ok(bytes)
}
