//! The conversation: hello, a session, one prompt, and the end of its turn. How a session begins is in
//! `session.rs`.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, CancelNotification, ClientCapabilities, ContentBlock, Implementation,
    InitializeRequest, PromptRequest, PromptResponse, RequestPermissionRequest, SessionId,
    StopReason, TextContent,
};
use agent_client_protocol::{
    Agent, Client, Error, ErrorCode, Lines, is_connection_terminated, is_incoming_transport_closed,
};
use futures::channel::oneshot;
use futures::executor::block_on;
use futures::future::{Either, select};
use serde_json::json;

use crate::desk::{Clerk, Desk};
use crate::peer::{Heard, LINE_MIB_MAX, Peer};
use crate::session::Begun;
use crate::stop::Stop;
use crate::tell::Teller;
use crate::{Order, Trouble};

/// Talks to the agent until its turn is over, and ends it.
pub(crate) fn talk(
    order: &Order,
    peer: Peer,
    desk: &Arc<dyn Desk>,
    teller: &Arc<Teller>,
    stop: Stop,
) -> Result<(), Trouble> {
    let wanted = Arc::clone(&stop.wanted);
    let clerk =
        Clerk::begin(Arc::clone(desk), Arc::clone(&wanted), peer.tools.clone(), Arc::clone(teller));
    let (body, outgoing, incoming) = peer.split();
    let heard = Arc::clone(&body.heard);
    let asked = async move |request: RequestPermissionRequest, responder, _connection| {
        clerk.ask(request, responder)
    };
    let conversation = Client
        .v1()
        .name("adjutant")
        .on_receive_request(asked, agent_client_protocol::on_receive_request!())
        .connect_with(Lines::new(outgoing, incoming), async |agent| {
            Ok(Talk { order, agent, teller, heard: &heard, stop }.hold().await)
        });
    let said = block_on(conversation);
    // Whoever still waits for an answer gets none: the turn is over.
    wanted.store(true, Ordering::Release);
    let ended = body.end();
    // The agent may be gone before it could be told anything.
    let said = said.unwrap_or_else(|error| Err(gone("session/prompt", &error, &heard)));
    match (said, ended) {
        (Err(Trouble::Gone(during, _)), Some(how)) => Err(Trouble::Gone(during, how)),
        (said, _) => said,
    }
}

pub(crate) struct Talk<'a> {
    pub(crate) order: &'a Order,
    pub(crate) agent: ConnectionTo<Agent>,
    pub(crate) teller: &'a Teller,
    heard: &'a Heard,
    stop: Stop,
}

impl Talk<'_> {
    async fn hold(mut self) -> Result<(), Trouble> {
        let capabilities = self.greet().await?;
        let Begun { session, prompt } = self.begin(&capabilities).await?;
        self.heard.is_new.store(true, Ordering::Release);
        let response = self.prompt(&session, prompt).await?;
        if let Some(usage) = &response.usage {
            self.teller.usage(&json!(usage));
        }
        let reason = response.stop_reason;
        self.teller.end(json!(reason).as_str().unwrap_or_default());
        match reason {
            StopReason::EndTurn => Ok(()),
            StopReason::MaxTokens => Err(Trouble::Cut("it has used all the tokens it may use")),
            StopReason::MaxTurnRequests => {
                Err(Trouble::Cut("it has called its model as often as it may in a turn"))
            }
            StopReason::Refusal => Err(Trouble::Cut("its model refuses to go on")),
            StopReason::Cancelled => Err(Trouble::Cut("its turn was cancelled")),
            _ => Err(Trouble::Cut("for a reason that is not known here")),
        }
    }

    /// Says hello. An answer in another version is an error by the time it gets here. Neither files nor terminals are offered: the agent has its own.
    async fn greet(&mut self) -> Result<AgentCapabilities, Trouble> {
        let hello = InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(ClientCapabilities::new())
            .client_info(Implementation::new("adjutant", env!("CARGO_PKG_VERSION")));
        let request = self.agent.send_request(hello).block_task();
        let answer = self.soon("initialize", request).await?;
        let info = answer.agent_info.as_ref();
        self.teller
            .agent(info.map(|info| info.name.as_str()), info.map(|info| info.version.as_str()));
        Ok(answer.agent_capabilities)
    }

    /// Gives the agent its prompt and waits for the end of its turn, as long as that takes: whoever
    /// looks after this process knows how long it may. A turn that is to be stopped is cancelled.
    async fn prompt(
        &mut self,
        session: &SessionId,
        prompt: &str,
    ) -> Result<PromptResponse, Trouble> {
        const METHOD: &str = "session/prompt";
        let text = ContentBlock::Text(TextContent::new(prompt));
        let prompt = PromptRequest::new(session.clone(), vec![text]);
        let request = pin!(self.agent.send_request(prompt).block_task());
        match select(request, &mut self.stop.comes).await {
            Either::Left((answered, _)) => {
                answered.map_err(|error| trouble(METHOD, &error, self.heard))
            }
            Either::Right((_, request)) => {
                let _ = self.agent.send_notification(CancelNotification::new(session.clone()));
                let _ = select(request, pin!(after(self.order.grace))).await;
                Err(Trouble::Stopped)
            }
        }
    }

    /// Waits for an answer that must come soon.
    pub(crate) async fn soon<T>(
        &mut self,
        method: &'static str,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Trouble> {
        let patience = self.order.patience;
        let ended = async {
            match select(pin!(after(patience)), &mut self.stop.comes).await {
                Either::Left(_) => Trouble::Silent(method, patience.as_secs()),
                Either::Right(_) => Trouble::Stopped,
            }
        };
        match select(pin!(request), pin!(ended)).await {
            Either::Left((answered, _)) => {
                answered.map_err(|error| trouble(method, &error, self.heard))
            }
            Either::Right((trouble, _)) => Err(trouble),
        }
    }
}

/// Says what an error means.
fn trouble(method: &'static str, error: &Error, heard: &Heard) -> Trouble {
    if is_connection_terminated(error) || is_incoming_transport_closed(error) {
        return gone(method, error, heard);
    }
    let said = in_words(error);
    if error.code == ErrorCode::AUTH_REQUIRED {
        return Trouble::SignIn(said);
    }
    Trouble::Refused(method, said)
}

/// Says why nothing comes any more.
fn gone(method: &'static str, _error: &Error, heard: &Heard) -> Trouble {
    if heard.too_long.load(Ordering::Acquire) {
        return Trouble::TooLong(LINE_MIB_MAX);
    }
    Trouble::Gone(method, "closed its output".to_owned())
}

/// Returns what an error says: its message, and what stands beside it that says more.
fn in_words(error: &Error) -> String {
    let message = error.message.trim();
    let more = error.data.as_ref().and_then(|data| {
        let within = |key: &str| data.get(key).and_then(serde_json::Value::as_str);
        data.as_str()
            .or_else(|| ["details", "message", "error", "reason"].into_iter().find_map(within))
    });
    match more.map(str::trim).filter(|more| !more.is_empty() && !message.contains(*more)) {
        Some(more) if message.is_empty() => more.to_owned(),
        Some(more) => format!("{message}: {more}"),
        None if message.is_empty() => format!("code {}", i32::from(error.code)),
        None => message.to_owned(),
    }
}

/// Comes after so long.
async fn after(long: Duration) {
    let (tell, comes) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        std::thread::sleep(long);
        drop(tell);
    });
    let _ = comes.await;
}
