//! The client side of the Agent Client Protocol: starts one agent, sends it one prompt, and reports
//! events as lines of JSON.
//!
//! It knows nothing of tasks and runs: a [`PermissionHandler`] decides what the agent may do, and
//! the reader of the lines interprets them. The agent is a separate, untrusted process, and every
//! wait for it has a timeout or can be stopped.

mod agent_process;
mod conversation;
mod permission;
mod report_writer;
mod server_tool;
mod stop_signal;
mod tool_calls;

#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agent_process::AgentProcess;

pub use permission::{PermissionHandler, StopFlag};
use report_writer::ReportWriter;
pub use tool_calls::ToolPermissionRequest;

/// Which agent to start, where, and with which prompt.
#[derive(Debug, Clone)]
pub struct AcpRunOptions {
    pub command: Vec<String>,
    /// The working directory; must be absolute.
    pub folder: PathBuf,
    pub prompt: String,
    pub server: McpServerSpec,
    /// The session to resume, if any.
    pub resume: Option<PreviousSession>,
    /// The timeout of each request before the prompt.
    pub request_timeout: Duration,
    /// How long the agent may take to end a turn that was cancelled.
    pub cancel_timeout: Duration,
}

/// An earlier session of the agent.
#[derive(Debug, Clone)]
pub struct PreviousSession {
    /// The session id that the agent gave.
    pub session: String,
    /// The prompt to send instead if the agent cannot resume the session and starts a new one.
    pub restart_prompt: String,
}

/// An MCP server that the agent starts.
#[derive(Debug, Clone)]
pub struct McpServerSpec {
    pub name: String,
    pub program: PathBuf,
    pub args: Vec<String>,
    /// Variables added to the environment that the agent passes on.
    pub env: Vec<(String, String)>,
    /// The HTTP endpoint of the same server, for an agent that does not start MCP servers.
    pub http: Option<McpHttpEndpoint>,
}

/// An MCP server that is already running.
#[derive(Debug, Clone)]
pub struct McpHttpEndpoint {
    pub url: String,
    /// Headers sent with every request.
    pub headers: Vec<(String, String)>,
}

/// Why an agent's turn did not end normally.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AcpError {
    #[error("cannot start {0:?}: {1}")]
    NotStarted(String, String),
    #[error("the agent did not answer `{0}` within {1} seconds")]
    TimedOut(&'static str, u64),
    /// The agent needs a person to sign in.
    #[error("{0}")]
    SignInRequired(String),
    #[error("the agent answered `{0}` with an error: {1}")]
    Refused(&'static str, String),
    /// The agent exited or closed its output.
    #[error("the agent {1} before it had answered `{0}`")]
    Disconnected(&'static str, String),
    #[error("the agent sent a message of more than {0} MiB")]
    TooLong(usize),
    /// The agent ended its turn before the work was finished.
    #[error("the agent stopped: {0}")]
    TurnCutShort(&'static str),
    #[error("the agent was asked to stop")]
    Stopped,
}

/// Starts the agent, sends the prompt, and returns once the turn is over and the agent has exited.
pub fn run(
    order: &AcpRunOptions,
    permissions: &Arc<dyn PermissionHandler>,
    out: Box<dyn Write + Send>,
) -> Result<(), AcpError> {
    let report_writer = Arc::new(ReportWriter::new(out));
    // Listen for signals before the agent starts, so that an early request to stop is not lost.
    let stop = stop_signal::listen_for_signals();
    let talked = start(order, &report_writer)
        .and_then(|peer| conversation::converse(order, peer, permissions, &report_writer, stop));
    if let Err(trouble) = &talked {
        report_writer.write_error(trouble);
    }
    talked
}

fn start(
    order: &AcpRunOptions,
    report_writer: &Arc<ReportWriter>,
) -> Result<AgentProcess, AcpError> {
    let name = order.command.first().cloned().unwrap_or_default();
    let failed = |error: std::io::Error| AcpError::NotStarted(name, error.to_string());
    AgentProcess::start(&order.command, &order.folder, Arc::clone(report_writer)).map_err(failed)
}
