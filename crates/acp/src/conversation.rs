//! The conversation with the agent: initialize, open a session, send one prompt, wait for the end
//! of the turn. `session.rs` opens the session.

mod session;

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

use crate::agent_process::{AgentProcess, LINE_MIB_MAX, OutputState};
use crate::conversation::session::OpenSession;
use crate::permission::{PermissionHandler, PermissionQueue, PermissionScope};
use crate::report_writer::ReportWriter;
use crate::stop_signal::StopSignal;
use crate::{AcpError, AcpRunOptions};

/// Talks to the agent until its turn is over, then ends the process.
pub(crate) fn converse(
    order: &AcpRunOptions,
    peer: AgentProcess,
    permissions: &Arc<dyn PermissionHandler>,
    report_writer: &Arc<ReportWriter>,
    stop: StopSignal,
) -> Result<(), AcpError> {
    let stop_requested = Arc::clone(&stop.is_requested);
    let permission_queue = PermissionQueue::start(
        Arc::clone(permissions),
        Arc::clone(&stop_requested),
        peer.tools.clone(),
        PermissionScope { workspace: order.folder.clone(), own_server: order.server.name.clone() },
        Arc::clone(report_writer),
    );
    let (body, outgoing, incoming) = peer.split();
    let heard = Arc::clone(&body.heard);
    let asked = async move |request: RequestPermissionRequest, responder, _connection| {
        permission_queue.enqueue(request, responder)
    };
    let conversation = Client
        .v1()
        .name("adjutant")
        .on_receive_request(asked, agent_client_protocol::on_receive_request!())
        .connect_with(Lines::new(outgoing, incoming), async |agent| {
            Ok(AcpConversation { order, agent, report_writer, output_state: &heard, stop }
                .run()
                .await)
        });
    let result = block_on(conversation);
    // Cancel open permission requests: the turn is over.
    stop_requested.store(true, Ordering::Release);
    let ended = body.end();
    // The agent may have exited before the conversation started.
    let result =
        result.unwrap_or_else(|error| Err(disconnect_error("session/prompt", &error, &heard)));
    match (result, ended) {
        (Err(AcpError::Disconnected(during, _)), Some(how)) => {
            Err(AcpError::Disconnected(during, how))
        }
        (result, _) => result,
    }
}

pub(crate) struct AcpConversation<'a> {
    pub(crate) order: &'a AcpRunOptions,
    pub(crate) agent: ConnectionTo<Agent>,
    pub(crate) report_writer: &'a ReportWriter,
    output_state: &'a OutputState,
    stop: StopSignal,
}

impl AcpConversation<'_> {
    async fn run(mut self) -> Result<(), AcpError> {
        let capabilities = self.initialize().await?;
        let OpenSession { session, prompt } = self.open_session(&capabilities).await?;
        self.output_state.reports_updates.store(true, Ordering::Release);
        let response = self.send_prompt(&session, prompt).await?;
        if let Some(usage) = &response.usage {
            self.report_writer.write_usage(&json!(usage));
        }
        let reason = response.stop_reason;
        self.report_writer.write_end(json!(reason).as_str().unwrap_or_default());
        match reason {
            StopReason::EndTurn => Ok(()),
            StopReason::MaxTokens => Err(AcpError::TurnCutShort("it reached its limit of tokens")),
            StopReason::MaxTurnRequests => {
                Err(AcpError::TurnCutShort("it reached its limit of model requests in one turn"))
            }
            StopReason::Refusal => Err(AcpError::TurnCutShort("its model refused to continue")),
            StopReason::Cancelled => Err(AcpError::TurnCutShort("its turn was cancelled")),
            _ => Err(AcpError::TurnCutShort("for an unknown reason")),
        }
    }

    /// Sends `initialize`. The protocol library turns an answer in another version into an error.
    /// Offers neither files nor terminals: the agent has its own.
    async fn initialize(&mut self) -> Result<AgentCapabilities, AcpError> {
        let hello = InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(ClientCapabilities::new())
            .client_info(Implementation::new("adjutant", env!("CARGO_PKG_VERSION")));
        let request = self.agent.send_request(hello).block_task();
        let answer = self.with_timeout("initialize", request).await?;
        let info = answer.agent_info.as_ref();
        self.report_writer.write_agent(
            info.map(|info| info.name.as_str()),
            info.map(|info| info.version.as_str()),
        );
        Ok(answer.agent_capabilities)
    }

    /// Sends the prompt and waits for the end of the turn, without a timeout: the supervisor of
    /// this process limits the run time. A stop request cancels the turn.
    async fn send_prompt(
        &mut self,
        session: &SessionId,
        prompt: &str,
    ) -> Result<PromptResponse, AcpError> {
        const METHOD: &str = "session/prompt";
        let text = ContentBlock::Text(TextContent::new(prompt));
        let prompt = PromptRequest::new(session.clone(), vec![text]);
        let request = pin!(self.agent.send_request(prompt).block_task());
        match select(request, &mut self.stop.received).await {
            Either::Left((answered, _)) => {
                answered.map_err(|error| classify_error(METHOD, &error, self.output_state))
            }
            Either::Right((_, request)) => {
                let _ = self.agent.send_notification(CancelNotification::new(session.clone()));
                let _ = select(request, pin!(sleep_for(self.order.cancel_timeout))).await;
                Err(AcpError::Stopped)
            }
        }
    }

    /// Waits for an answer, up to [`AcpRunOptions::request_timeout`].
    pub(crate) async fn with_timeout<T>(
        &mut self,
        method: &'static str,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, AcpError> {
        let patience = self.order.request_timeout;
        let ended = async {
            match select(pin!(sleep_for(patience)), &mut self.stop.received).await {
                Either::Left(_) => AcpError::TimedOut(method, patience.as_secs()),
                Either::Right(_) => AcpError::Stopped,
            }
        };
        match select(pin!(request), pin!(ended)).await {
            Either::Left((answered, _)) => {
                answered.map_err(|error| classify_error(method, &error, self.output_state))
            }
            Either::Right((trouble, _)) => Err(trouble),
        }
    }
}

/// Classifies an error of the protocol library.
fn classify_error(method: &'static str, error: &Error, heard: &OutputState) -> AcpError {
    if is_connection_terminated(error) || is_incoming_transport_closed(error) {
        return disconnect_error(method, error, heard);
    }
    let result = describe_error(error);
    if error.code == ErrorCode::AUTH_REQUIRED {
        return AcpError::SignInRequired(result);
    }
    AcpError::Refused(method, result)
}

/// Returns why the connection closed.
fn disconnect_error(method: &'static str, _error: &Error, heard: &OutputState) -> AcpError {
    if heard.too_long.load(Ordering::Acquire) {
        return AcpError::TooLong(LINE_MIB_MAX);
    }
    AcpError::Disconnected(method, "closed its output".to_owned())
}

/// Returns the error's message, with the details from its data if they add something.
fn describe_error(error: &Error) -> String {
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

/// Completes after `long`.
async fn sleep_for(long: Duration) {
    let (tell, comes) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        std::thread::sleep(long);
        drop(tell);
    });
    let _ = comes.await;
}
