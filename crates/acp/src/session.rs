//! How a session begins: gone on with or anew, with our MCP server started by the agent or called.

use agent_client_protocol::v1::schema::{
    AgentCapabilities, EnvVariable, HttpHeader, LoadSessionRequest, McpServer, McpServerHttp,
    McpServerStdio, NewSessionRequest, ResumeSessionRequest, SessionId,
};

use crate::talk::Talk;
use crate::{Http, Past, Server, Trouble};

/// A session that has begun, and what the agent is told in it.
pub(crate) struct Begun<'a> {
    pub(crate) session: SessionId,
    pub(crate) prompt: &'a str,
}

impl<'a> Talk<'a> {
    /// Begins a session, or goes on with one. An agent that does not know it any more is there all
    /// the same, and begins anew.
    pub(crate) async fn begin(
        &mut self,
        capabilities: &AgentCapabilities,
    ) -> Result<Begun<'a>, Trouble> {
        let order = self.order;
        let begun = match &order.past {
            Some(past) => match self.go_on(past, capabilities).await {
                Err(Trouble::Refused(_, why)) => {
                    self.teller.anew(&why);
                    Begun { session: self.anew(capabilities).await?, prompt: &past.anew }
                }
                gone_on => Begun { session: gone_on?, prompt: &order.prompt },
            },
            None => Begun { session: self.anew(capabilities).await?, prompt: &order.prompt },
        };
        self.teller.session(&begun.session.0, loads(capabilities) || resumes(capabilities));
        Ok(begun)
    }

    async fn go_on(
        &mut self,
        past: &Past,
        capabilities: &AgentCapabilities,
    ) -> Result<SessionId, Trouble> {
        let (id, folder) = (SessionId::new(past.session.clone()), &self.order.folder);
        let servers = vec![started(&self.order.server)];
        if loads(capabilities) {
            let load = LoadSessionRequest::new(id.clone(), folder).mcp_servers(servers);
            let request = self.agent.send_request(load).block_task();
            self.soon("session/load", request).await?;
        } else if resumes(capabilities) {
            let resume = ResumeSessionRequest::new(id.clone(), folder).mcp_servers(servers);
            let request = self.agent.send_request(resume).block_task();
            self.soon("session/resume", request).await?;
        } else {
            let why = "it can go on with no session any more".to_owned();
            return Err(Trouble::Refused("session/load", why));
        }
        Ok(id)
    }

    /// Begins a session. Every agent should start an MCP server it is given; one that refuses is
    /// told where ours can be called, if it calls any.
    async fn anew(&mut self, capabilities: &AgentCapabilities) -> Result<SessionId, Trouble> {
        let server = &self.order.server;
        let http = server.http.as_ref().filter(|_| capabilities.mcp_capabilities.http);
        match (self.new_session(started(server)).await, http) {
            (Err(Trouble::Refused(_, why)), Some(http)) => {
                self.teller.by_http(&why);
                self.new_session(called(server, http)).await
            }
            (answered, _) => answered,
        }
    }

    async fn new_session(&mut self, server: McpServer) -> Result<SessionId, Trouble> {
        let new = NewSessionRequest::new(&self.order.folder).mcp_servers(vec![server]);
        let request = self.agent.send_request(new).block_task();
        Ok(self.soon("session/new", request).await?.session_id)
    }
}

fn loads(capabilities: &AgentCapabilities) -> bool {
    capabilities.load_session
}

fn resumes(capabilities: &AgentCapabilities) -> bool {
    capabilities.session_capabilities.resume.is_some()
}

/// Returns our MCP server, for the agent to start.
fn started(server: &Server) -> McpServer {
    let variable = |(name, value): &(String, String)| EnvVariable::new(name, value);
    let stdio = McpServerStdio::new(&server.name, &server.program)
        .args(server.args.clone())
        .env(server.env.iter().map(variable).collect());
    McpServer::Stdio(stdio)
}

/// Returns our MCP server, for the agent to call.
fn called(server: &Server, http: &Http) -> McpServer {
    let header = |(name, value): &(String, String)| HttpHeader::new(name, value);
    let headers = http.headers.iter().map(header).collect();
    McpServer::Http(McpServerHttp::new(&server.name, &http.url).headers(headers))
}
