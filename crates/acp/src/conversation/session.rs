//! Opens a session: resumes an earlier one or starts a new one, with our MCP server over
//! stdio or HTTP.

use agent_client_protocol::v1::schema::{
    AgentCapabilities, EnvVariable, HttpHeader, LoadSessionRequest, McpServer, McpServerHttp,
    McpServerStdio, NewSessionRequest, ResumeSessionRequest, SessionId,
};

use crate::conversation::AcpConversation;
use crate::{AcpError, McpHttpEndpoint, McpServerSpec, PreviousSession};

/// An open session and the prompt to send in it.
pub(crate) struct OpenSession<'a> {
    pub(crate) session: SessionId,
    pub(crate) prompt: &'a str,
}

impl<'a> AcpConversation<'a> {
    /// Resumes the earlier session or starts a new one. If the agent refuses to resume, a new
    /// session is started with the replacement prompt.
    pub(crate) async fn open_session(
        &mut self,
        capabilities: &AgentCapabilities,
    ) -> Result<OpenSession<'a>, AcpError> {
        let order = self.order;
        let begun = match &order.resume {
            Some(past) => match self.resume_session(past, capabilities).await {
                Err(AcpError::Refused(_, why)) => {
                    self.report_writer.write_session_lost(&why);
                    OpenSession {
                        session: self.start_session(capabilities).await?,
                        prompt: &past.restart_prompt,
                    }
                }
                gone_on => OpenSession { session: gone_on?, prompt: &order.prompt },
            },
            None => OpenSession {
                session: self.start_session(capabilities).await?,
                prompt: &order.prompt,
            },
        };
        self.report_writer
            .write_session(&begun.session.0, can_load(capabilities) || can_resume(capabilities));
        Ok(begun)
    }

    async fn resume_session(
        &mut self,
        past: &PreviousSession,
        capabilities: &AgentCapabilities,
    ) -> Result<SessionId, AcpError> {
        let (id, folder) = (SessionId::new(past.session.clone()), &self.order.folder);
        let servers = vec![stdio_server(&self.order.server)];
        if can_load(capabilities) {
            let load = LoadSessionRequest::new(id.clone(), folder).mcp_servers(servers);
            let request = self.agent.send_request(load).block_task();
            self.with_timeout("session/load", request).await?;
        } else if can_resume(capabilities) {
            let resume = ResumeSessionRequest::new(id.clone(), folder).mcp_servers(servers);
            let request = self.agent.send_request(resume).block_task();
            self.with_timeout("session/resume", request).await?;
        } else {
            let why = "the agent can no longer resume sessions".to_owned();
            return Err(AcpError::Refused("session/load", why));
        }
        Ok(id)
    }

    /// Starts a new session. Every agent should be able to start an MCP server; one that refuses
    /// gets the HTTP endpoint of ours, if it supports HTTP.
    async fn start_session(
        &mut self,
        capabilities: &AgentCapabilities,
    ) -> Result<SessionId, AcpError> {
        let server = &self.order.server;
        let http = server.http.as_ref().filter(|_| capabilities.mcp_capabilities.http);
        match (self.new_session(stdio_server(server)).await, http) {
            (Err(AcpError::Refused(_, why)), Some(http)) => {
                self.report_writer.write_http_fallback(&why);
                self.new_session(http_server(server, http)).await
            }
            (answered, _) => answered,
        }
    }

    async fn new_session(&mut self, server: McpServer) -> Result<SessionId, AcpError> {
        let new = NewSessionRequest::new(&self.order.folder).mcp_servers(vec![server]);
        let request = self.agent.send_request(new).block_task();
        Ok(self.with_timeout("session/new", request).await?.session_id)
    }
}

fn can_load(capabilities: &AgentCapabilities) -> bool {
    capabilities.load_session
}

fn can_resume(capabilities: &AgentCapabilities) -> bool {
    capabilities.session_capabilities.resume.is_some()
}

/// Describes our MCP server as a program that the agent starts.
fn stdio_server(server: &McpServerSpec) -> McpServer {
    let variable = |(name, value): &(String, String)| EnvVariable::new(name, value);
    let stdio = McpServerStdio::new(&server.name, &server.program)
        .args(server.args.clone())
        .env(server.env.iter().map(variable).collect());
    McpServer::Stdio(stdio)
}

/// Describes our MCP server as an HTTP endpoint that the agent calls.
fn http_server(server: &McpServerSpec, http: &McpHttpEndpoint) -> McpServer {
    let header = |(name, value): &(String, String)| HttpHeader::new(name, value);
    let headers = http.headers.iter().map(header).collect();
    McpServer::Http(McpServerHttp::new(&server.name, &http.url).headers(headers))
}
