//! The HTTP server: a programming interface, MCP and what people look at, for whoever shows a token.
//!
//! No rule is here: a call becomes the request it stands for, and what it may ask for is settled
//! before anything is done. Who is refused is written down.

mod auth;
mod body;
mod door;
mod gate;
mod idempotency;
mod limit;
mod login;
mod mcp;
mod metrics;
mod openapi;
mod operation;
mod pages;
mod params;
mod printed;
mod problem;
mod record;
mod refusals;
mod routes;
mod serve;
mod stream;
mod token;

use std::sync::Arc;

use adjutant_core::Actor;
use tokio::sync::watch;

use crate::mcp::Fetchers;
use crate::office::{Office, Trouble};

pub use door::{Address, Door, NotOpen, Settings};
pub use openapi::document as openapi;
pub use serve::Server;
pub use token::{BadToken, Token};

/// What every call needs.
pub(crate) struct Shared {
    office: Arc<dyn Office>,
    /// In whose name an operator's token speaks.
    operator: Actor,
    gate: gate::Gate,
    token: Token,
    login: login::Login,
    limits: limit::Limits,
    refusals: refusals::Refusals,
    record: record::Record,
    kept: idempotency::Kept,
    metrics: Arc<metrics::Metrics>,
    fetchers: Fetchers,
    sums: pages::Sums,
    waiting: pages::Waiting,
    trail: pages::Trail,
    /// Says that the server is about to end.
    closing: watch::Receiver<bool>,
}

/// What every call needs, shared.
pub(crate) type App = Arc<Shared>;

impl Shared {
    /// Does what may wait for a disk where nobody else waits for it.
    async fn office<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&dyn Office) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, problem::Problem> {
        let office = Arc::clone(&self.office);
        match tokio::task::spawn_blocking(move || work(&*office)).await {
            Ok(worked) => Ok(worked?),
            Err(_) => Err(problem::Problem::bug()),
        }
    }
}
