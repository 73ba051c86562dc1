//! The MCP server: what a model can ask for, as tools with a few plain arguments.
//!
//! Whom a session speaks for is settled before it begins: one run, one agent that fetches its own
//! work, or an operator. A model types neither a task id nor a token to speak for its run.

mod agent;
mod handoff;
mod operator;
mod report;
mod resource;
mod tool;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use adjutant_core::{Actor, AgentId, TaskId};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};

use crate::office::{Office, Trouble};
use tool::Said;

/// Whom a session speaks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bearer {
    /// One run, and no other.
    Run(Bound),
    /// An agent that fetches its own work.
    Agent(AgentId),
    /// A person, or a program in a person's name.
    Operator(Actor),
}

/// The run a session speaks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// The task it is for.
    pub task: TaskId,
    /// Who works on it.
    pub agent: AgentId,
    /// The number of the run.
    pub attempt: u32,
    /// What proves that a message is this run's.
    pub token: String,
}

/// The most agents whose fetched work is remembered between calls.
const FETCHERS_MAX: usize = 256;

/// One session.
pub struct Server {
    session: Arc<Session>,
}

/// What a session knows.
pub(crate) struct Session {
    office: Arc<dyn Office>,
    bearer: Bearer,
    /// The run of an agent that fetches its own work, once it has one.
    fetched: Mutex<Option<Fetched>>,
}

/// A run that an agent fetched.
#[derive(Clone)]
struct Fetched {
    run: Bound,
    /// Whether it has said what came of the work: then it needs no sign of life any more.
    is_over: bool,
}

impl Server {
    /// Begins a session.
    pub fn new(office: Arc<dyn Office>, bearer: Bearer) -> Self {
        Self { session: Arc::new(Session { office, bearer, fetched: Mutex::new(None) }) }
    }

    /// Goes on with the session of an agent that fetches its own work.
    fn resumed(session: Arc<Session>) -> Self {
        Self { session }
    }

    /// Serves one client over standard input and output, until it goes.
    pub async fn serve_stdio(self) -> std::io::Result<()> {
        let beating = tokio::spawn(agent::beat_while_open(Arc::clone(&self.session)));
        let served = match self.serve(rmcp::transport::stdio()).await {
            Ok(running) => running.waiting().await.map(drop).map_err(std::io::Error::other),
            // A client that leaves before it has said who it is wants nothing.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(std::io::Error::other(error)),
        };
        beating.abort();
        served
    }

    fn tools(&self) -> Vec<Tool> {
        match &self.session.bearer {
            Bearer::Run(_) | Bearer::Agent(_) => agent::tools(),
            Bearer::Operator(_) => operator::tools(),
        }
    }
}

/// What agents fetched that call again and again, and keep no session open.
#[derive(Default)]
pub struct Fetchers(Mutex<BTreeMap<AgentId, Arc<Session>>>);

impl Fetchers {
    /// Begins or goes on with the session of an agent.
    pub fn server(&self, office: &Arc<dyn Office>, agent: &AgentId) -> Server {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() >= FETCHERS_MAX && !sessions.contains_key(agent) {
            // What somebody works on is found again in the record.
            sessions.clear();
        }
        let new = || {
            let bearer = Bearer::Agent(agent.clone());
            let office = Arc::clone(office);
            Arc::new(Session { office, bearer, fetched: Mutex::new(None) })
        };
        Server::resumed(Arc::clone(sessions.entry(agent.clone()).or_insert_with(new)))
    }
}

impl Session {
    /// Calls a tool; none if there is no such tool.
    fn call(&self, name: &str, arguments: serde_json::Value) -> Option<Said> {
        match &self.bearer {
            Bearer::Run(_) | Bearer::Agent(_) => agent::call(self, name, arguments),
            Bearer::Operator(by) => operator::call(self, by, name, arguments),
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let can = ServerCapabilities::builder().enable_tools().enable_resources().build();
        let server = Implementation::new("adjutant", env!("CARGO_PKG_VERSION"))
            .with_title("Adjutant")
            .with_description("Tasks for a crew of coding agents: work orders in, reports out.");
        let how = match &self.session.bearer {
            Bearer::Run(_) => agent::RUN_INSTRUCTIONS,
            Bearer::Agent(_) => agent::FETCH_INSTRUCTIONS,
            Bearer::Operator(_) => operator::INSTRUCTIONS,
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
        let said = in_background(move || session.call(&called, arguments)).await?;
        let Some(said) = said else {
            let known: Vec<String> =
                self.tools().iter().map(|tool| tool.name.to_string()).collect();
            let text = format!("there is no tool {name:?} here; there are: {}", known.join(", "));
            return Err(ErrorData::invalid_params(text, None));
        };
        Ok(result(said).into())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let session = Arc::clone(&self.session);
        let listed = in_background(move || resource::list(&session)).await?;
        Ok(ListResourcesResult::with_all_items(listed.map_err(|trouble| broken(&trouble))?))
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
        in_background(move || resource::read(&session, &request.uri)).await?.map(Into::into)
    }
}

/// Does what may wait for a disk where nobody else waits for it.
fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> impl Future<Output = Result<T, ErrorData>> {
    let working = tokio::task::spawn_blocking(work);
    async {
        working.await.map_err(|_| ErrorData::internal_error("adjutant has a mistake in it", None))
    }
}

/// What a tool said, as the protocol carries it: as data, and as text for models that read no data.
fn result(said: Said) -> CallToolResult {
    match said {
        Said::Text(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
        Said::Data(value) => CallToolResult::structured(value),
        Said::Refused(text) => CallToolResult::error(vec![ContentBlock::text(text)]),
    }
}

fn broken(trouble: &Trouble) -> ErrorData {
    ErrorData::internal_error(tool::in_words(trouble), None)
}
