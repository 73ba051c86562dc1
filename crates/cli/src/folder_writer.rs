//! The process that commits the requests of a command: the daemon, this process or the shim of the
//! calling run.

use std::error::Error;
use std::ops::DerefMut;

use adjutant_engine::caller_identity::CallerIdentity;
use adjutant_engine::ipc::IpcClient;
use adjutant_engine::{Engine, EngineAnswer, EngineRequest};
use adjutant_store::{Store, StoreError};

use crate::output::CommandOutput;
use crate::output::error::CommandFailure;
use crate::run_connection::RunConnection;

/// The store of a single machine or of a fleet.
pub(crate) type AnyStore = Box<dyn Store + Send>;

pub(crate) type ProjectEngine = Engine<AnyStore>;

/// The process that commits requests to a data folder.
pub(crate) enum FolderWriter<E = Box<ProjectEngine>> {
    /// The daemon that runs on this folder.
    Daemon(IpcClient),
    /// This process, which may be inside a run.
    InProcess(E, CallerIdentity),
    /// The shim of the calling run, which relays or keeps its requests.
    RunSocket(RunConnection),
}

impl<E: DerefMut<Target = ProjectEngine>> FolderWriter<E> {
    /// Submits requests and returns their answers once they are durable.
    pub(crate) fn submit(
        &mut self,
        requests: &[EngineRequest],
    ) -> Result<Vec<EngineAnswer>, CommandFailure> {
        match self {
            Self::Daemon(client) => Ok(client.ask(requests)?),
            Self::InProcess(engine, caller) => {
                let authorized = |request: &EngineRequest| EngineRequest {
                    request: caller.authorize(request.request.clone()),
                    ..request.clone()
                };
                Ok(engine.submit(&requests.iter().map(authorized).collect::<Vec<_>>())?)
            }
            Self::RunSocket(connection) => connection.submit(requests),
        }
    }

    /// Brings the folder to rest, so that it opens quickly; a daemon does so by itself.
    pub(crate) fn rest(&mut self, out: &CommandOutput) {
        if let Self::InProcess(engine, _) = self {
            rest(engine, out);
        }
    }
}

/// Brings the folder to rest, so that it opens quickly. Answers are already safe in the journal, so
/// an error here is only a warning.
pub(crate) fn rest<S: Store>(engine: &mut Engine<S>, out: &CommandOutput) {
    if let Err(error) = engine.rest() {
        warn_untidy(&error, out);
    }
}

/// Warns that the folder could not be brought to rest.
pub(crate) fn warn_untidy(error: &StoreError, out: &CommandOutput) {
    let cause = error.source().map_or_else(String::new, |cause| format!(": {cause}"));
    out.warn(&format!("cannot write all changes to the files yet: {error}{cause}"));
}
