//! Finds the data folder and opens it. The only place that names a store.

use std::error::Error;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use adjutant_core::command::{Caller, Chore};
use adjutant_core::id::BadTaskId;
use adjutant_core::{Answer, Command, Status, TaskId, Time, Verdict, World};
use adjutant_runtime::config::Config;
use adjutant_runtime::daemon;
use adjutant_runtime::door::Guest;
use adjutant_runtime::eyes::Eyes;
use adjutant_runtime::notifier::{self, Flaw, Where};
use adjutant_runtime::token::Secret;
use adjutant_runtime::worktree::Yard;
use adjutant_runtime::{Answered, Clock, Engine, FixedClock, Request, SystemClock};
use adjutant_store::document::task_file;
use adjutant_store::file::{self, DATA_FOLDER, Folder, check_format, read_world, salvage};
use adjutant_store::{FileStore, Loaded, Store, StoreError};

use crate::config;
use crate::error::Failure;
use crate::fleet;
use crate::inside::Inside;
use crate::output::Output;
use crate::person::caller_on;

/// What names the data folder when `--data` does not.
const VARIABLE: &str = "ADJUTANT_DATA";

/// A data folder that is there, and its configuration.
#[derive(Clone)]
pub(crate) struct Data {
    pub(crate) folder: Folder,
    config: Config,
}

/// A store, whichever it is.
pub(crate) type AnyStore = Box<dyn Store + Send>;

/// The engine on a folder.
pub(crate) type FileEngine = Engine<AnyStore>;

/// A look at a folder that stays.
pub(crate) type Lookout = file::Lookout;

/// Whoever writes to a folder.
pub(crate) enum Writer {
    /// The daemon that runs on it.
    Daemon(Guest),
    /// This process.
    Here(Box<FileEngine>),
    /// Whoever looks after the run this is called from: nobody else is there, and the run is in a
    /// sandbox.
    Shim(Box<Inside>, PathBuf),
}

impl Writer {
    /// Does what is asked, and answers when it is durable.
    pub(crate) fn submit(&mut self, requests: &[Request]) -> Result<Vec<Answered>, Failure> {
        match self {
            Self::Daemon(guest) => Ok(guest.ask(requests)?),
            Self::Here(engine) => Ok(engine.submit(requests)?),
            Self::Shim(inside, root) => {
                requests.iter().map(|request| inside.keep(root, request)).collect()
            }
        }
    }

    /// Leaves the folder so that it opens quickly; a daemon does so by itself.
    pub(crate) fn rest(&mut self, out: &Output) {
        if let Self::Here(engine) = self {
            rest(engine, out);
        }
    }
}

impl Data {
    /// Finds the folder: the one that was named, else the one the environment names, else the one
    /// here or above.
    pub(crate) fn find(named: Option<&Path>) -> Result<Self, Failure> {
        let folder = Self::find_folder(named)?;
        // First of all: a newer version may have settings that this one does not know.
        check_format(&folder)?;
        let config = config::load(folder.root())?;
        Ok(Self { folder, config })
    }

    /// Finds the folder, of whatever format.
    pub(crate) fn find_folder(named: Option<&Path>) -> Result<Folder, Failure> {
        if let Some(path) = named.map(Path::to_owned).or_else(from_environment) {
            return Ok(Folder::at(&path)
                .or_else(|wrong| Folder::at(&path.join(DATA_FOLDER)).map_err(|_| wrong))?);
        }
        let here = std::env::current_dir()
            .map_err(|error| Failure::broken("cannot tell which folder this is", &error))?;
        Ok(Folder::find(&here)?)
    }

    /// Returns what keeps people from being told what they want to be told.
    pub(crate) fn flaws(&self) -> Vec<Flaw> {
        let (root, home) = (self.folder.root(), self.folder.workspace());
        notifier::check(&Where::new(self.config.clone(), root, &home))
    }

    /// Finds whatever lies where the file of a task would, be it a task or not.
    pub(crate) fn task_path(&self, id: &TaskId) -> Option<PathBuf> {
        let paths =
            Status::ALL.into_iter().map(|status| self.folder.root().join(task_file(status, id)));
        paths.into_iter().find(|path| path.symlink_metadata().is_ok())
    }

    /// Opens the folder for writing, and takes in what people did to its files.
    pub(crate) fn engine(&self) -> Result<FileEngine, Failure> {
        self.engine_at(None)
    }

    /// Opens the folder for writing, and takes it to be `now` there, or else what it really is.
    pub(crate) fn engine_at(&self, now: Option<Time>) -> Result<FileEngine, Failure> {
        let (store, loaded) = self.open()?;
        let clock: Box<dyn Clock> = match now {
            Some(now) => Box::new(FixedClock(now)),
            None => Box::new(SystemClock),
        };
        let engine = Engine::start(store, loaded, clock, self.config.policy())?;
        let node = self.is_shared().then(|| fleet::me(&self.config)).transpose()?.map(|me| me.node);
        let eyes = Eyes::new(self.folder.root().to_owned(), self.folder.workspace()).on(node);
        Ok(engine.knowing(Secret::read(self.folder.root()).ok()).seeing(eyes))
    }

    /// Opens the folder, which may be one of many that are kept in step.
    fn open(&self) -> Result<(AnyStore, Loaded), Failure> {
        if self.is_shared() {
            return fleet::open(self).map(|shared| (shared.store, shared.loaded));
        }
        let (store, loaded) = FileStore::open(&self.folder)?;
        Ok((Box::new(store), loaded))
    }

    /// Says whether the folder is one of many that are kept in step.
    pub(crate) fn is_shared(&self) -> bool {
        self.config.store.is_some()
    }

    /// Goes to whoever writes to the folder: the daemon, if one runs, else this process.
    pub(crate) fn writer(&self) -> Result<Writer, Failure> {
        match Guest::enter(self.folder.root()) {
            Some(guest) => Ok(Writer::Daemon(guest)),
            None if let Some(inside) = Inside::confined(self.folder.root()) => {
                Ok(Writer::Shim(Box::new(inside), self.folder.root().to_owned()))
            }
            None => Ok(Writer::Here(Box::new(self.engine()?))),
        }
    }

    /// Lets an operator do a chore. Inside a run it is asked for in vain, so that this is in the
    /// record. An operator's wish is not asked about: opening the folder to do so would take in
    /// what is there, which may have to be mended first.
    pub(crate) fn permit(&self, chore: Chore, attempt: &str, out: &Output) -> Result<(), Failure> {
        let by = self.caller();
        if matches!(by, Caller::Operator(_)) {
            return Ok(());
        }
        let request = Request::Command { by, command: Command::Chore(chore) };
        accepted(self.submit(request, out)?, attempt).map(|_| ())
    }

    /// Returns who gives a command on this folder.
    pub(crate) fn caller(&self) -> Caller {
        caller_on(self.folder.root())
    }

    /// Reads the id of a task: its own, or one that others know it by. Of anything else it says
    /// that there is no such task.
    pub(crate) fn task_id(&self, text: &str) -> Result<TaskId, Failure> {
        self.known_id(text).ok_or_else(|| no_such_task(text))
    }

    /// Returns the id of the task a text stands for. An id of ours needs no look at the tasks,
    /// unless there is no such task.
    pub(crate) fn known_id(&self, text: &str) -> Option<TaskId> {
        let own = TaskId::parse(text).ok();
        if let Some(own) = own.as_ref().filter(|own| self.task_path(own).is_some()) {
            return Some(own.clone());
        }
        self.read_world().ok().and_then(|world| world.resolve(text)).or(own)
    }

    /// Returns the work trees of the project.
    pub(crate) fn yard(&self) -> Yard {
        let base = self.config.project.base.clone();
        Yard::new(self.folder.root(), &self.folder.workspace(), base)
    }

    /// Does what is owed to work that is no run, unless a daemon is there to do it.
    pub(crate) fn catch_up(&self) -> Result<(), Failure> {
        // In a fleet whoever has the work does it.
        if self.is_shared() || Guest::enter(self.folder.root()).is_some() {
            return Ok(());
        }
        let engine = self.engine()?;
        Ok(daemon::catch_up(&self.folder, &self.config, this_program()?, engine)?)
    }

    /// Returns the configuration.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// Does one thing, and leaves the folder at rest.
    pub(crate) fn submit(&self, request: Request, out: &Output) -> Result<Answered, Failure> {
        let mut writer = self.writer()?;
        let mut answers = writer.submit(&[request])?;
        writer.rest(out);
        answers.pop().ok_or_else(|| StoreError::Stopped.into())
    }

    /// Reads every task. Takes in what people did to the files, unless somebody else is writing,
    /// or nobody can: a reader never waits for a writer, and needs no room on the disk.
    pub(crate) fn world(&self, out: &Output) -> Result<World, Failure> {
        if self.is_shared() {
            return Ok(self.followed(out)?);
        }
        match self.take_in(out) {
            Ok(Some(world)) => Ok(world),
            Ok(None) => Ok(self.read_world()?),
            Err(error) if is_read_only(&error) => Ok(self.read_world()?),
            Err(error) => Err(error.into()),
        }
    }

    /// Stands before the folder, to look at it again and again.
    pub(crate) fn lookout(&self) -> Lookout {
        Lookout::new(&self.folder)
    }

    /// Looks at every task as [`Data::world`] reads them, and again later at
    /// what changed meanwhile.
    pub(crate) fn look<T>(
        &self,
        lookout: &mut Lookout,
        out: &Output,
        look: impl FnOnce(&World) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        // Without a daemon the others of a fleet know what this folder does not.
        if self.is_shared() && Guest::enter(self.folder.root()).is_none() {
            return look(&self.world(out)?);
        }
        lookout.look(|| self.world(out), look)
    }

    /// Reads every task, to go by what all nodes of a fleet have: who is up, with which agents.
    pub(crate) fn world_of_all(&self, out: &Output) -> Result<World, Failure> {
        let world = self.world(out)?;
        if !self.is_shared() {
            return Ok(world);
        }
        match fleet::policy(self) {
            Ok(Some(policy)) => Ok(world.with_policy(policy)),
            Ok(None) => {
                out.warn("no node is up; this goes by the configuration of this one");
                Ok(world)
            }
            Err(failure) => {
                let why = failure.message();
                out.warn(&format!("this goes by the configuration of this node alone: {why}"));
                Ok(world)
            }
        }
    }

    /// Reads a folder that is kept in step with others: as the daemon shows it, or as the others
    /// have it. Where they cannot be reached, it says how old it may be.
    fn followed(&self, out: &Output) -> Result<World, StoreError> {
        if Guest::enter(self.folder.root()).is_some() {
            return self.read_world();
        }
        match self.open() {
            Ok((_, loaded)) => Ok(loaded.world.with_policy(self.config.policy())),
            Err(failure) => {
                out.warn(&format!("this is what was known here last: {}", failure.message()));
                self.read_world()
            }
        }
    }

    /// Returns the reports that came too late and wait for a person, by task and name.
    pub(crate) fn salvaged(&self) -> Result<Vec<(TaskId, String)>, Failure> {
        Ok(salvage::list(self.folder.root())?)
    }

    fn read_world(&self) -> Result<World, StoreError> {
        Ok(read_world(&self.folder)?.with_policy(self.config.policy()))
    }

    fn take_in(&self, out: &Output) -> Result<Option<World>, StoreError> {
        let Some((store, loaded)) = FileStore::try_open(&self.folder)? else { return Ok(None) };
        let mut engine = Engine::start(store, loaded, Box::new(SystemClock), self.config.policy())?;
        rest(&mut engine, out);
        Ok(Some(engine.into_world()))
    }
}

/// Leaves the folder so that it opens quickly. What was answered is safe in the journal by now, so
/// that what fails here spoils no answer.
pub(crate) fn rest<S: Store>(engine: &mut Engine<S>, out: &Output) {
    if let Err(error) = engine.rest() {
        untidy(&error, out);
    }
}

/// Says that the folder could not be left tidy.
pub(crate) fn untidy(error: &StoreError, out: &Output) {
    let cause = error.source().map_or_else(String::new, |cause| format!(": {cause}"));
    out.warn(&format!("cannot tidy up the data folder: {error}{cause}"));
}

fn is_read_only(error: &StoreError) -> bool {
    let refused = [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem];
    match error {
        StoreError::Full { .. } => true,
        StoreError::Io { source, .. } => refused.contains(&source.kind()),
        StoreError::Conflict { .. }
        | StoreError::Damaged { .. }
        | StoreError::Newer(_)
        | StoreError::Fenced
        | StoreError::Stopped => false,
    }
}

/// Returns the path of this program, which is also the shim of every run it starts.
pub(crate) fn this_program() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|error| Failure::broken("cannot tell which program this is", &error))
}

/// Returns the folder the environment names.
pub(crate) fn from_environment() -> Option<PathBuf> {
    std::env::var_os(VARIABLE).filter(|named| !named.is_empty()).map(PathBuf::from)
}

/// Says that a text stands for no task.
pub(crate) fn no_such_task(text: &str) -> Failure {
    Failure::refused(format!("there is no task {text:?}"), &not_found())
        .hint(format!("the id of a task {BadTaskId}, or is one others know it by"))
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
