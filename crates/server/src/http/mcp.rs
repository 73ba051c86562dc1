//! MCP over HTTP: the token of each call determines the caller. The server keeps no state between
//! calls except the work that an agent fetched.

use std::path::Path;
use std::sync::Arc;

use adjutant_core::protocols::aof::MESSAGE_BYTES_MAX;
use adjutant_model::AgentId;
use adjutant_query::RunCredentials;
use adjutant_run_files::attempt_files::{AttemptFolder, MCP_STARTED};
use adjutant_runs::supervisor;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::SharedState;
use super::auth::AuthenticatedCaller;
use super::problem::ApiProblem;
use super::request_checks::header_text;
use crate::mcp::{McpService, SessionIdentity};

pub(super) const PATH: &str = "/mcp";

/// With the operator's token, names the agent for which the call fetches work.
const AGENT_HEADER: &str = "adjutant-agent";

pub(super) async fn call(
    State(app): State<SharedState>,
    who: AuthenticatedCaller,
    request: Request,
) -> Result<Response, ApiProblem> {
    let identity = match who {
        AuthenticatedCaller::Run(run) => {
            note_mcp_reached(app.project.queries.root(), &run);
            SessionIdentity::Run(run)
        }
        AuthenticatedCaller::Operator(by) => match header_text(request.headers(), AGENT_HEADER) {
            "" => SessionIdentity::Operator(by),
            name => SessionIdentity::Agent(parse_agent(name)?),
        },
    };
    let new = move || {
        Ok(match &identity {
            SessionIdentity::Agent(agent) => app.fetchers.open_session(&app.project, agent),
            SessionIdentity::Run(_) | SessionIdentity::Operator(_) => {
                McpService::new(Arc::clone(&app.project), identity.clone())
            }
        })
    };
    let config = StreamableHttpServerConfig::default()
        // The gate has checked the host already.
        .disable_allowed_hosts()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(2 * MESSAGE_BYTES_MAX);
    let sessions = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(new, sessions, config);
    Ok(service.handle(request).await.map(Body::new))
}

/// Records that the run's agent reached its MCP server. Without this record, an agent that fails to
/// connect would go unnoticed.
fn note_mcp_reached(root: &Path, run: &RunCredentials) {
    let attempts = root.join("runs").join(run.task.as_str()).join("attempts");
    let folder = AttemptFolder::new(&attempts.join(run.attempt.to_string()));
    if !folder.join(MCP_STARTED).exists() {
        // Errors are ignored: the run may have no shim on this machine.
        tokio::task::spawn_blocking(move || supervisor::report_mcp_started(&folder));
    }
}

fn parse_agent(name: &str) -> Result<AgentId, ApiProblem> {
    AgentId::parse(name).map_err(|bad| {
        ApiProblem::bad_request(format!("{AGENT_HEADER}: not an agent name: it {bad}"))
    })
}
