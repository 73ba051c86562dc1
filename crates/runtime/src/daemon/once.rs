//! One tick without a daemon: takes in what is over, gives out work, starts it, and returns.

use std::path::PathBuf;

use adjutant_store::FileStore;
use adjutant_store::file::Folder;

use super::processes::Processes;
use super::{Crew, DaemonError};
use crate::config::Config;
use crate::engine::Engine;
use crate::service::Service;
use crate::supervisor::Supervisor;
use crate::tick::Ticked;
use crate::token::Secret;

/// Does one tick on a folder, with an engine that was just opened on it. The runs it starts go on
/// when it has returned.
pub fn tick(
    folder: &Folder,
    config: &Config,
    program: PathBuf,
    engine: Engine<FileStore>,
) -> Result<Ticked, DaemonError> {
    let root = folder.root();
    let io = |source| DaemonError::Io { attempt: "read the secret of the folder", source };
    let secret = Secret::open(root).map_err(io)?;
    let service = Service::start(engine.knowing(Some(secret.clone())));
    let (supervisor, events) = Supervisor::new(root, program.clone(), secret);
    let client = service.client();
    let (folder, config) = (folder.clone(), config.clone());
    let mut crew = Crew::new(client, Processes { folder, config, program, supervisor });
    let ticked = crew.once(|| events.recv().ok());
    drop((crew, events));
    let stopped = service.stop();
    let ticked = ticked?;
    stopped?;
    Ok(ticked)
}
