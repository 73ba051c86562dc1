//! MCP over HTTP: every call shows a token, which settles whom it speaks for. Nothing is remembered
//! between calls but the work that an agent fetched.

use std::path::Path;
use std::sync::Arc;

use adjutant_core::AgentId;
use adjutant_core::aof::MESSAGE_BYTES_MAX;
use adjutant_runtime::shim::files::{Folder, SERVER};
use adjutant_runtime::supervisor;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::App;
use super::auth::Known;
use super::gate::header_text;
use super::problem::Problem;
use crate::mcp::{Bearer, Bound, Server};

/// Where it is.
pub(super) const PATH: &str = "/mcp";

/// How an operator's token says that it speaks for an agent that fetches its own work.
const AGENT: &str = "adjutant-agent";

/// Serves one call.
pub(super) async fn call(
    State(app): State<App>,
    who: Known,
    request: Request,
) -> Result<Response, Problem> {
    let bearer = match who {
        Known::Run(run) => {
            note(app.office.root(), &run);
            Bearer::Run(run)
        }
        Known::Operator(by) => match header_text(request.headers(), AGENT) {
            "" => Bearer::Operator(by),
            name => Bearer::Agent(agent(name)?),
        },
    };
    let new = move || {
        Ok(match &bearer {
            Bearer::Agent(agent) => app.fetchers.server(&app.office, agent),
            Bearer::Run(_) | Bearer::Operator(_) => {
                Server::new(Arc::clone(&app.office), bearer.clone())
            }
        })
    };
    let config = StreamableHttpServerConfig::default()
        // Where a call may be made to was looked at before.
        .disable_allowed_hosts()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(2 * MESSAGE_BYTES_MAX);
    let sessions = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(new, sessions, config);
    Ok(service.handle(request).await.map(Body::new))
}

/// Notes that the agent of a run has found its MCP server: of one that does not, nobody hears.
fn note(root: &Path, run: &Bound) {
    let attempts = root.join("runs").join(run.task.as_str()).join("attempts");
    let folder = Folder::at(&attempts.join(run.attempt.to_string()));
    if !folder.join(SERVER).exists() {
        // A run that nobody here looks after has nobody to note it.
        tokio::task::spawn_blocking(move || supervisor::served(&folder));
    }
}

fn agent(name: &str) -> Result<AgentId, Problem> {
    AgentId::parse(name)
        .map_err(|bad| Problem::bad_call(format!("{AGENT}: the name of an agent {bad}")))
}
