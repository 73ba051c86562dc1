//! One tick without a daemon: takes in what is over, gives out work, starts it, and returns.

use std::path::PathBuf;
use std::sync::mpsc::Receiver;

use adjutant_store::FileStore;
use adjutant_store::file::Folder;

use super::DaemonError;
use super::crew::Crew;
use crate::config::Config;
use crate::engine::Engine;
use crate::service::Service;
use crate::supervisor::{Event, Supervisor, What};
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
    let mut crew = Crew::new(folder.clone(), config.clone(), program, supervisor, client);
    let ticked = once(&mut crew, &events);
    drop((crew, events));
    let stopped = service.stop();
    let ticked = ticked?;
    stopped?;
    Ok(ticked)
}

fn once(crew: &mut Crew, events: &Receiver<Event>) -> Result<Ticked, DaemonError> {
    crew.adopt_all()?;
    hear_the_ended(crew, events)?;
    crew.do_owed()?;
    let ticked = crew.tick()?;
    crew.do_owed()?;
    Ok(ticked)
}

/// Takes in the runs that are over, each with all it said. Those that live are left to others.
fn hear_the_ended(crew: &mut Crew, events: &Receiver<Event>) -> Result<(), DaemonError> {
    let mut ended = crew.count_ended();
    while ended > 0 {
        let Ok(event) = events.recv() else { return Ok(()) };
        ended -= usize::from(matches!(event.what, What::Exited { .. }));
        crew.hear(&event)?;
    }
    Ok(())
}
