//! The MCP server: tools with a few plain arguments for models.
//!
//! A session's identity is fixed before it begins: one run, one agent that fetches its own work, or
//! an operator. A model never types a task id or a token to speak for its run.

mod agent;
mod handoff;
mod operator;
mod report;
mod resource;
mod tool;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use adjutant_model::{Actor, AgentId};
use adjutant_query::RunCredentials;
use adjutant_query::failure::CommandFailure;
use parking_lot::Mutex;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use tool::ToolResult;

use crate::project_access::{ProjectAccess, RunAccess};

/// On whose behalf a session acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionIdentity {
    /// One run; it may act for no other.
    Run(RunCredentials),
    Agent(AgentId),
    /// A person, or a program acting for one.
    Operator(Actor),
}

/// The most agents whose fetched work is remembered between calls.
const FETCHERS_MAX: usize = 256;

pub struct McpService {
    session: Arc<McpServerSession>,
}

pub(crate) struct McpServerSession {
    access: SessionAccess,
    identity: SessionIdentity,
    /// The run of an agent that fetches its own work, once it has fetched some.
    fetched: Mutex<Option<FetchedRun>>,
}

/// How a session reaches the project.
enum SessionAccess {
    Project(Arc<ProjectAccess>),
    /// Only what belongs to its run.
    Run(Box<dyn RunAccess>),
}

#[derive(Clone)]
struct FetchedRun {
    run: RunCredentials,
    /// Whether the run has reported its result; then it needs no heartbeat any more.
    is_over: bool,
}

impl McpService {
    pub fn new(project: Arc<ProjectAccess>, identity: SessionIdentity) -> Self {
        Self::from_session(Arc::new(McpServerSession::new(
            SessionAccess::Project(project),
            identity,
        )))
    }

    /// Serves one run that need not see the project.
    pub fn for_run(access: Box<dyn RunAccess>, run: RunCredentials) -> Self {
        Self::from_session(Arc::new(McpServerSession::new(
            SessionAccess::Run(access),
            SessionIdentity::Run(run),
        )))
    }

    fn from_session(session: Arc<McpServerSession>) -> Self {
        Self { session }
    }

    /// Serves one client over standard input and output, until it disconnects.
    pub async fn serve_stdio(self) -> std::io::Result<()> {
        let beating = tokio::spawn(agent::send_heartbeats(Arc::clone(&self.session)));
        let served = match self.serve(rmcp::transport::stdio()).await {
            Ok(running) => running.waiting().await.map(drop).map_err(std::io::Error::other),
            // A client that disconnects before it initializes the session is not an error.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(std::io::Error::other(error)),
        };
        beating.abort();
        served
    }

    fn tools(&self) -> Vec<Tool> {
        match &self.session.identity {
            SessionIdentity::Run(_) | SessionIdentity::Agent(_) => agent::tools(),
            SessionIdentity::Operator(_) => operator::tools(),
        }
    }
}

/// The sessions of agents that fetch work over HTTP, where each call is a connection of its own.
#[derive(Default)]
pub struct FetchSessions(Mutex<BTreeMap<AgentId, Arc<McpServerSession>>>);

impl FetchSessions {
    /// Opens or continues the session of an agent.
    pub fn open_session(&self, project: &Arc<ProjectAccess>, agent: &AgentId) -> McpService {
        let mut sessions = self.0.lock();
        if sessions.len() >= FETCHERS_MAX && !sessions.contains_key(agent) {
            // Safe: an agent's unfinished work is found again in the
            // world (see `Session::find_fetched_run`).
            sessions.clear();
        }
        let new = || {
            let identity = SessionIdentity::Agent(agent.clone());
            let access = SessionAccess::Project(Arc::clone(project));
            Arc::new(McpServerSession::new(access, identity))
        };
        McpService::from_session(Arc::clone(sessions.entry(agent.clone()).or_insert_with(new)))
    }
}

impl McpServerSession {
    fn new(access: SessionAccess, identity: SessionIdentity) -> Self {
        Self { access, identity, fetched: Mutex::new(None) }
    }

    /// Returns the project, which a session of a run may not see.
    fn project(&self) -> Result<&ProjectAccess, CommandFailure> {
        match &self.access {
            SessionAccess::Project(project) => Ok(project),
            SessionAccess::Run(_) => {
                Err(CommandFailure::not_possible("cannot use the project", "this is a run"))
            }
        }
    }

    fn run_access(&self) -> &dyn RunAccess {
        match &self.access {
            SessionAccess::Project(project) => &**project,
            SessionAccess::Run(access) => &**access,
        }
    }

    /// Calls a tool; `None` if it does not exist.
    fn call(&self, name: &str, arguments: serde_json::Value) -> Option<ToolResult> {
        match &self.identity {
            SessionIdentity::Run(_) | SessionIdentity::Agent(_) => {
                agent::call(self, name, arguments)
            }
            SessionIdentity::Operator(by) => operator::call(self, by, name, arguments),
        }
    }
}

impl ServerHandler for McpService {
    fn get_info(&self) -> ServerConfig {
        let can = ServerCapabilities::builder().enable_tools().enable_resources().build();
        let server = Implementation::new("adjutant", env!("CARGO_PKG_VERSION"))
            .with_title("Adjutant")
            .with_description("Manages tasks for coding agents: create, assign, follow, review.");
        let how = match &self.session.identity {
            SessionIdentity::Run(_) => agent::RUN_INSTRUCTIONS,
            SessionIdentity::Agent(_) => agent::FETCH_INSTRUCTIONS,
            SessionIdentity::Operator(_) => operator::INSTRUCTIONS,
        };
        ServerConfig::new(can).with_server_info(server).with_instructions(how)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.to_string();
        let arguments = serde_json::Value::Object(request.arguments.unwrap_or_default());
        let session = Arc::clone(&self.session);
        let called = name.clone();
        let result = run_blocking(move || session.call(&called, arguments)).await?;
        let Some(result) = result else {
            let known: Vec<String> =
                self.tools().iter().map(|tool| tool.name.to_string()).collect();
            let text = format!(
                "there is no tool {name:?} in this session; the tools are: {}",
                known.join(", ")
            );
            return Err(ErrorData::invalid_params(text, None));
        };
        Ok(to_tool_result(result).into())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let session = Arc::clone(&self.session);
        let listed = run_blocking(move || resource::list(&session)).await?;
        Ok(ListResourcesResult::with_all_items(
            listed.map_err(|failure| to_internal_error(&failure))?,
        ))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resource::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let session = Arc::clone(&self.session);
        run_blocking(move || resource::read(&session, &request.uri)).await?.map(Into::into)
    }
}

/// Runs blocking work on a thread where it cannot hold up other calls.
fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> impl Future<Output = Result<T, ErrorData>> {
    let working = tokio::task::spawn_blocking(work);
    async {
        working.await.map_err(|_| ErrorData::internal_error("internal error (this is a bug)", None))
    }
}

/// Encodes a tool's result: as data, and as text for models that cannot read data.
fn to_tool_result(result: ToolResult) -> CallToolResult {
    match result {
        ToolResult::Text(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
        ToolResult::Data(value) => CallToolResult::structured(value),
        ToolResult::Refused(text) => CallToolResult::error(vec![ContentBlock::text(text)]),
    }
}

fn to_internal_error(failure: &CommandFailure) -> ErrorData {
    ErrorData::internal_error(tool::describe_error(failure), None)
}
