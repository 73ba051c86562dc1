//! The HTTP server: the API, MCP and the board. Almost every call needs a token.
//!
//! It contains no rules of its own: a call becomes an engine request, and authentication and
//! authorization come first. Refusals are written to the event log.

mod answer_redaction;
mod auth;
mod body;
mod connections;
mod endpoint;
mod event_feed;
mod event_stream;
mod idempotency;
mod limit;
mod local_path;
mod login;
mod mcp;
mod metrics;
mod openapi;
mod operation;
mod pages;
mod params;
mod problem;
mod refusal_log;
mod request_checks;
mod routes;
mod run_output;
mod server;
mod sessions;
mod sign_in_code;
mod tls;
mod token;

use std::sync::Arc;

use adjutant_model::Actor;
use adjutant_query::failure::CommandFailure;
use tokio::sync::watch;

use crate::mcp::FetchSessions;
use crate::project_access::ProjectAccess;

pub use endpoint::{
    BoundServer, ListenAddress, ServerSettings, ServerStartError, TransportSecurity, login_url,
};
pub use openapi::document as openapi;
pub use server::HttpServer;
pub use sign_in_code::new_sign_in_code;
pub use tls::TlsFileError;
pub use token::{OperatorToken, TokenFileError};

/// The state that all handlers share.
pub(crate) struct ServerState {
    project: Arc<ProjectAccess>,
    /// The actor recorded for calls with the operator's token.
    operator: Actor,
    hosts: request_checks::AllowedHosts,
    /// Whether the server uses TLS.
    has_tls: bool,
    token: OperatorToken,
    sessions: sessions::BrowserSessions,
    codes: sign_in_code::RedeemedCodes,
    limits: limit::CallLimits,
    refusals: refusal_log::RefusalLog,
    event_feed: event_feed::EventFeed,
    idempotency: idempotency::IdempotencyCache,
    metrics: Arc<metrics::ServerMetrics>,
    fetchers: FetchSessions,
    figures: pages::FigureSums,
    inbox_count: pages::InboxCount,
    task_events: pages::TaskEventIndex,
    /// Becomes true when the server is about to shut down.
    closing: watch::Receiver<bool>,
}

pub(crate) type SharedState = Arc<ServerState>;

impl ServerState {
    /// Runs blocking work on a thread where it cannot hold up other calls.
    async fn with_project<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&ProjectAccess) -> Result<T, CommandFailure> + Send + 'static,
    ) -> Result<T, problem::ApiProblem> {
        let project = Arc::clone(&self.project);
        match tokio::task::spawn_blocking(move || work(&project)).await {
            Ok(worked) => Ok(worked?),
            Err(_) => Err(problem::ApiProblem::internal_error()),
        }
    }
}
