//! The client side of the Agent Client Protocol: starts one agent, gives it one prompt, and tells
//! what happens as lines of JSON.
//!
//! It knows nothing of tasks and runs: what an agent may do is asked of a [`Desk`], and what the
//! lines mean is for whoever reads them to say. The agent is a process of its own and may be
//! anything: it is trusted with nothing, and waited for nowhere without an end.

mod desk;
mod peer;
mod session;
mod stop;
mod talk;
mod tell;
mod tools;

#[cfg(test)]
mod golden_tests;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use desk::{Desk, Stopped, Wish};
use peer::Peer;
use tell::Teller;

/// What is to be done: which agent, where, and what it is told.
#[derive(Debug, Clone)]
pub struct Order {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The folder it works in, absolute.
    pub folder: PathBuf,
    /// What it is told.
    pub prompt: String,
    /// The MCP server it is given.
    pub server: Server,
    /// The session to go on with.
    pub past: Option<Past>,
    /// How long it may take to answer before it is given its prompt.
    pub patience: Duration,
    /// How long it may take to end a turn that was cancelled.
    pub grace: Duration,
}

/// A session that was begun before.
#[derive(Debug, Clone)]
pub struct Past {
    /// What the agent knows it by.
    pub session: String,
    /// What the agent is told, in place of the prompt, if it cannot go on with it and begins anew.
    pub anew: String,
}

/// An MCP server, started by the agent.
#[derive(Debug, Clone)]
pub struct Server {
    /// What it is called.
    pub name: String,
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment, beside what the agent passes on.
    pub env: Vec<(String, String)>,
    /// Where it can be called, for an agent that starts none.
    pub http: Option<Http>,
}

/// An MCP server that is there, and is called.
#[derive(Debug, Clone)]
pub struct Http {
    /// Its address.
    pub url: String,
    /// What every call brings along.
    pub headers: Vec<(String, String)>,
}

/// Why an agent did not come to the end of its turn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// The program cannot be started.
    #[error("cannot start {0:?}: {1}")]
    NotStarted(String, String),
    /// It did not answer in time.
    #[error("the agent did not answer `{0}` within {1} seconds")]
    Silent(&'static str, u64),
    /// It wants somebody to sign in.
    #[error("{0}")]
    SignIn(String),
    /// It answered with an error.
    #[error("the agent answered `{0}` with an error: {1}")]
    Refused(&'static str, String),
    /// It ended, or closed its output.
    #[error("the agent {1} before it had answered `{0}`")]
    Gone(&'static str, String),
    /// It said something that is too long to be read.
    #[error("the agent sent a message of more than {0} MiB")]
    TooLong(usize),
    /// Its turn ended before its work did.
    #[error("the agent stopped: {0}")]
    Cut(&'static str),
    /// Somebody wants it stopped.
    #[error("it was asked to stop")]
    Stopped,
}

/// Starts the agent, gives it its prompt, and returns when its turn is over and it has ended.
pub fn run(order: &Order, desk: &Arc<dyn Desk>, out: Box<dyn Write + Send>) -> Result<(), Trouble> {
    let teller = Arc::new(Teller::new(out));
    // Who is asked to stop from here on is heard, be it before the agent runs.
    let stop = stop::listen();
    let talked =
        start(order, &teller).and_then(|peer| talk::talk(order, peer, desk, &teller, stop));
    if let Err(trouble) = &talked {
        teller.trouble(trouble);
    }
    talked
}

fn start(order: &Order, teller: &Arc<Teller>) -> Result<Peer, Trouble> {
    let name = order.command.first().cloned().unwrap_or_default();
    let failed = |error: std::io::Error| Trouble::NotStarted(name, error.to_string());
    Peer::start(&order.command, &order.folder, Arc::clone(teller)).map_err(failed)
}
