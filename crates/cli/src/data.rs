//! Finds the data folder and opens it. The only place that names a store.

use std::path::Path;

use adjutant_core::{Answer, TaskId, Verdict, World};
use adjutant_runtime::{Answered, Engine, Request, SystemClock};
use adjutant_store::FileStore;
use adjutant_store::file::{DATA_FOLDER, Folder, read_world};

use crate::config::Config;
use crate::error::Failure;

/// A data folder that is there, and its configuration.
pub(crate) struct Data {
    pub(crate) folder: Folder,
    config: Config,
}

/// The engine on a folder.
pub(crate) type FileEngine = Engine<FileStore>;

impl Data {
    /// Finds the folder: the one that was named, else the one here or above.
    pub(crate) fn find(named: Option<&Path>) -> Result<Self, Failure> {
        let folder = match named {
            Some(path) => Folder::at(path)
                .or_else(|wrong| Folder::at(&path.join(DATA_FOLDER)).map_err(|_| wrong))?,
            None => {
                let here = std::env::current_dir()
                    .map_err(|error| Failure::broken("cannot tell which folder this is", &error))?;
                Folder::find(&here)?
            }
        };
        let config = Config::load(folder.root())?;
        Ok(Self { folder, config })
    }

    /// Opens the folder for writing, and takes in what people did to its files.
    pub(crate) fn engine(&self) -> Result<FileEngine, Failure> {
        let (store, loaded) = FileStore::open(&self.folder)?;
        Ok(Engine::start(store, loaded, Box::new(SystemClock), self.config.policy())?)
    }

    /// Does one thing, and leaves the folder at rest.
    pub(crate) fn submit(&self, request: Request) -> Result<Answered, Failure> {
        let mut engine = self.engine()?;
        let answered = engine.submit_one(request)?;
        engine.rest()?;
        Ok(answered)
    }

    /// Reads every task. Takes in what people did to the files, unless somebody else is writing:
    /// a reader never waits for a writer.
    pub(crate) fn world(&self) -> Result<World, Failure> {
        if let Some((store, loaded)) = FileStore::try_open(&self.folder)? {
            let mut engine =
                Engine::start(store, loaded, Box::new(SystemClock), self.config.policy())?;
            engine.rest()?;
            return Ok(engine.into_world());
        }
        Ok(read_world(&self.folder)?)
    }
}

/// Parses a task id, and says of anything else that there is no such task.
pub(crate) fn task_id(text: &str) -> Result<TaskId, Failure> {
    TaskId::parse(text).map_err(|bad| {
        Failure::refused(format!("there is no task {text:?}"), &not_found())
            .hint(format!("the id of a task {bad}"))
    })
}

fn not_found() -> Answer {
    Answer::rejected(adjutant_core::Reason::TaskNotFound, None)
}

/// Turns a refusal into a failure of the command.
pub(crate) fn accepted(answered: Answered, attempt: &str) -> Result<Answered, Failure> {
    match answered.answer.verdict {
        Verdict::Applied | Verdict::Noop | Verdict::Ignored => Ok(answered),
        Verdict::Rejected | Verdict::Unknown => Err(Failure::refused(attempt, &answered.answer)),
    }
}
