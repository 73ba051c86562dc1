//! One tick without a daemon: takes in what is over, gives out work, starts it, and returns.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;

use adjutant_core::TaskId;
use adjutant_core::run::Life;
use adjutant_store::file::Folder;
use adjutant_store::{Store, StoreError};

use super::jobs::Jobs;
use super::processes::Processes;
use super::{Crew, DaemonError};
use crate::config::Config;
use crate::crew;
use crate::engine::Engine;
use crate::eyes::Eyes;
use crate::service::{Client, Service, Unanswered};
use crate::story::keeper;
use crate::supervisor::{self, Event, Run, Supervisor};
use crate::tick::Ticked;
use crate::token::Secret;

/// Does one tick on a folder, with an engine that was just opened on it. The runs it starts go on
/// when it has returned.
pub fn tick<S: Store + Send + 'static>(
    folder: &Folder,
    config: &Config,
    program: PathBuf,
    engine: Engine<S>,
) -> Result<Ticked, DaemonError> {
    with_crew(folder, config, program, engine, |crew, events, stories| {
        crew.once(|| events.recv().ok(), || keeper::look_once(&stories.place, &stories.client))
    })
}

/// Does what is owed to work that is no run, and returns when it is done: looks into what was said,
/// and merges what was approved.
pub fn catch_up<S: Store + Send + 'static>(
    folder: &Folder,
    config: &Config,
    program: PathBuf,
    engine: Engine<S>,
) -> Result<(), DaemonError> {
    with_crew(folder, config, program, engine, |crew, _, _| crew.do_work())
}

/// What is needed to look after stories.
struct Stories {
    place: keeper::Place,
    client: Client,
}

fn with_crew<T, S: Store + Send + 'static>(
    folder: &Folder,
    config: &Config,
    program: PathBuf,
    engine: Engine<S>,
    work: impl FnOnce(&mut Crew, &Receiver<Event>, &Stories) -> Result<T, Unanswered>,
) -> Result<T, DaemonError> {
    let root = folder.root();
    let io = |source| DaemonError::Io { attempt: "read the secret of the folder", source };
    let secret = Secret::open(root).map_err(io)?;
    let place = keeper::Place {
        home: folder.workspace(),
        data: root.to_owned(),
        poll: config.scheduler.poll.0,
        node: None,
    };
    let eyes = Eyes::new(root.to_owned(), folder.workspace());
    let service = Service::start(engine.knowing(Some(secret.clone()))).seeing(eyes);
    let (supervisor, events) = Supervisor::new(root, program.clone(), secret);
    let client = service.client();
    let (folder, config) = (folder.clone(), config.clone());
    let hands =
        Processes::new(folder, config, program, supervisor, client.clone(), Jobs::at_once());
    let mut crew = Crew::new(client, hands);
    let stories = Stories { place, client: service.client() };
    let done = work(&mut crew, &events, &stories);
    drop(stories);
    drop((crew, events));
    let stopped = service.stop();
    let done = done?;
    stopped?;
    Ok(done)
}

/// Says what a tick would do, and does nothing. As in one that is done, the process of a run is its
/// life sign: one that lives is not stale, whatever the clock says.
pub fn tick_dry<S: Store>(folder: &Folder, engine: &mut Engine<S>) -> Result<Ticked, StoreError> {
    let is_alive = |run: &Run| {
        matches!(supervisor::life(&run.folder(folder.root())), Ok(supervisor::Life::Alive))
    };
    let runs = crew::runs(engine.world()).into_iter().filter(is_alive);
    let lives: BTreeMap<TaskId, Life> = runs.map(|run| (run.task, Life::Alive)).collect();
    engine.tick_dry(&lives)
}
