//! `adjutant story auto`: goes on by itself until a person is asked.
//!
//! Each step is a task in a data folder that is the story's own, so that its run is one like any
//! other: started once, found again after a crash, stopped when it takes too long.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use adjutant_core::command::{Caller, NewTask, Start};
use adjutant_core::pipeline::{Status as StepStatus, StoryId};
use adjutant_core::task::{Review, Routing};
use adjutant_core::{AgentId, Command, Status, Task, TaskId};
use adjutant_runtime::config::{Agent, Config, Limit, OnExitOk};
use adjutant_runtime::daemon::{Daemon, Held, Options, Until};
use adjutant_runtime::story::{Answer, Ask, Project};
use adjutant_runtime::{Engine, Request, SystemClock};
use adjutant_store::FileStore;
use adjutant_store::file::{Folder, FolderError, read_world};

use super::{Which, failure, line, persons_only, story};
use crate::commands::up;
use crate::data::{Data, accepted, this_program};
use crate::error::Failure;
use crate::output::{Output, clean};
use crate::person::operator;

/// Go on by itself until a person is asked or the story is done
#[derive(Debug, clap::Args)]
#[command(after_help = "If it is killed, the agent goes on, and the next call finds it.")]
pub(crate) struct Auto {
    /// The story [default: the one that is not done]
    #[arg(value_parser = story, conflicts_with = "story")]
    id: Option<StoryId>,
    /// The agent of the configuration [default: the only one]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    #[command(flatten)]
    which: Which,
}

impl Auto {
    pub(crate) fn run(self, data: Option<&Path>, out: &Output) -> Result<ExitCode, Failure> {
        persons_only("cannot go on by itself")?;
        let project = self.which.place.open()?;
        let named = self.id.as_ref().or(self.which.story.as_ref());
        let (status, _) = project.status(named).map_err(failure)?;
        let home = data.map(Path::to_owned).or_else(|| self.which.place.project.clone());
        let data = Data::find(home.as_deref())?;
        let (name, agent) = self.choose(&data)?;
        let story = status.state.story;
        let desk = Desk::open(&project, story.as_ref())?;
        let driver = Driver { project: &project, story, data: &data, name, agent, desk, out };
        driver.drive()
    }

    fn choose<'d>(&self, data: &'d Data) -> Result<(String, &'d Agent), Failure> {
        let agents = &data.config().agents;
        let wrong = |message: String| Failure::usage(message).hint("`adjutant agents` lists them");
        match &self.agent {
            Some(name) => match agents.get(name) {
                Some(agent) => Ok((name.clone(), agent)),
                None => Err(wrong(format!("there is no agent {name:?}"))),
            },
            None => match agents.iter().collect::<Vec<_>>().as_slice() {
                [(name, agent)] => Ok(((*name).clone(), agent)),
                [] => Err(wrong("there is no agent in the configuration".to_owned())),
                _ => Err(wrong("there are several agents; name one with --agent".to_owned())),
            },
        }
    }
}

/// Who starts executors here.
const DRIVER: &str = "auto";

/// Tells a dispatch from every other one of the story.
fn moment(answer: &Answer) -> String {
    answer.state.dispatched_at.map_or("never".to_owned(), |time| time.to_string())
}

/// The data folder of a story's runs.
struct Desk {
    folder: Folder,
    /// Says which dispatch became which task.
    mark: PathBuf,
    /// Nobody else drives the story.
    held: Held,
}

impl Desk {
    fn open(project: &Project<'_>, story: Option<&StoryId>) -> Result<Self, Failure> {
        let root = project.folder().root();
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let all = root.join(".ai/auto");
        let home = all.join(story.map_or("bootstrap", |story| story.as_str()));
        let broken = |error| Failure::broken("cannot make a folder for the runs", &error);
        std::fs::create_dir_all(&home).map_err(broken)?;
        // What a run leaves is no part of the project.
        std::fs::write(all.join(".gitignore"), "*\n").map_err(broken)?;
        let folder = match Folder::init(&home) {
            Err(FolderError::Exists(root)) => Folder::at(&root)?,
            other => other?,
        };
        let held = Held::take(folder.root(), &up::me()).map_err(|error| up::failure(&error))?;
        Ok(Self { mark: home.join("dispatched"), folder, held })
    }

    /// Returns the tasks that are not at their end.
    fn open_tasks(&self) -> Result<Vec<Task>, Failure> {
        let world = read_world(&self.folder)?;
        let open = |task: &&Task| matches!(task.status(), Status::Ready | Status::InProgress);
        Ok(world.tasks().filter(open).cloned().collect())
    }
}

struct Driver<'a> {
    project: &'a Project<'a>,
    story: Option<StoryId>,
    data: &'a Data,
    name: String,
    agent: &'a Agent,
    desk: Desk,
    out: &'a Output,
}

impl Driver<'_> {
    fn drive(&self) -> Result<ExitCode, Failure> {
        loop {
            let story = self.story.as_ref();
            let answer = self.project.next_by(story, None, DRIVER).map_err(failure)?;
            let task = match answer.result {
                "dispatched" => Some(self.add(&answer)?),
                "running" => self.take_up()?,
                _ => None,
            };
            let Some(task) = task else { return self.leave(&answer) };
            self.tell(&answer)?;
            let task = self.work(&task, &answer)?;
            let Some(ended) = self.take_in(&task)? else { return self.leave(&answer) };
            self.tell(&ended)?;
        }
    }

    /// Finds the run that an earlier call began, or begins the one that it was about to. An
    /// executor that somebody else started is not ours.
    fn take_up(&self) -> Result<Option<TaskId>, Failure> {
        let (answer, file) = self.project.status(self.story.as_ref()).map_err(failure)?;
        if file.extra("dispatched_by").and_then(|by| by.as_str()) != Some(DRIVER) {
            return Ok(None);
        }
        let mark = std::fs::read_to_string(&self.desk.mark).unwrap_or_default();
        let known = mark.split_once(' ').filter(|(when, _)| *when == moment(&answer));
        if let Some(id) = known.and_then(|(_, id)| TaskId::parse(id.trim()).ok()) {
            return Ok(Some(id));
        }
        let answer = self.project.prompt(self.story.as_ref()).map_err(failure)?;
        self.add(&answer).map(Some)
    }

    /// Makes a task of a dispatch, and takes note of it, before anybody works on it.
    fn add(&self, answer: &Answer) -> Result<TaskId, Failure> {
        let id = self.task_of(answer)?;
        let mark = format!("{} {id}\n", moment(answer));
        let broken = |error| Failure::broken("cannot take note of the dispatch", &error);
        let new = self.desk.mark.with_extension("new");
        std::fs::write(&new, mark).map_err(broken)?;
        std::fs::rename(&new, &self.desk.mark).map_err(broken)?;
        Ok(id)
    }

    /// Finds the task of a dispatch, or makes it. One of an earlier dispatch is given up: the story
    /// went on without it.
    fn task_of(&self, answer: &Answer) -> Result<TaskId, Failure> {
        let state = &answer.state;
        let name = state.story.as_ref().map_or("bootstrap", |story| story.as_str());
        let of = format!("{name} {} attempt {}", state.step, state.attempt);
        let title = format!("{of} ({})", moment(answer));
        let mut commands = Vec::new();
        for task in self.desk.open_tasks()? {
            if *task.title == *title {
                return Ok(task.id);
            }
            let reason = "the story went on without it".to_owned();
            commands.push(Command::Cancel { id: task.id, reason });
        }
        let new = NewTask {
            title,
            body: answer.prompt.clone().unwrap_or_default(),
            routing: Routing { agent: AgentId::parse(&self.name).ok(), ..Routing::default() },
            review: Review::NotNeeded,
            start: Start::Ready,
            ..NewTask::default()
        };
        commands.push(Command::Add(Box::new(new)));
        self.submit(commands, answer)
    }

    /// Does all of it, and returns the task of the last.
    fn submit(&self, commands: Vec<Command>, answer: &Answer) -> Result<TaskId, Failure> {
        let (files, loaded) = FileStore::open(&self.desk.folder)?;
        let policy = self.config(answer).policy();
        let mut engine = Engine::start(files, loaded, Box::new(SystemClock), policy)?;
        let mut last = None;
        for command in commands {
            let request = Request::Command { by: Caller::Operator(operator()), command };
            let answered = accepted(engine.submit_one(request)?, "cannot add a task for the step")?;
            last = answered.answer.task;
        }
        engine.rest()?;
        last.ok_or_else(|| Failure::gone("the task of the step is not there"))
    }

    /// Makes a configuration with this agent alone, which works in the project, once, and for as
    /// long as the step may take.
    fn config(&self, answer: &Answer) -> Config {
        let home = std::path::absolute(self.data.folder.workspace());
        let home = home.unwrap_or_else(|_| self.data.folder.workspace());
        let root = self.project.folder().root();
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let workspace = self.agent.workspace.as_ref().map_or(root, |inner| home.join(inner));
        let minutes = self.project.rules().of(answer.state.step).map_or(5, |rule| rule.timeout_min);
        let step = Duration::from_mins(u64::from(minutes.max(1)));
        let limit = self.agent.timeout().map_or(step, |own| own.min(step));
        let agent = Agent {
            workspace: Some(workspace),
            timeout: Some(Limit::After(limit)),
            on_exit_ok: OnExitOk::Done,
            ..self.agent.clone()
        };
        let scheduler = self.data.config().scheduler.clone();
        let mut config = Config { scheduler, ..Config::default() };
        config.scheduler.attempts_max = 1;
        config.scheduler.concurrency = 1;
        config.agents.insert(self.name.clone(), agent);
        config
    }

    /// Has the agent work on the step, and returns its task as it is then.
    fn work(&self, id: &TaskId, answer: &Answer) -> Result<Task, Failure> {
        let options = Options {
            folder: self.desk.folder.clone(),
            config: self.config(answer),
            program: this_program()?,
            until: Until::Idle,
            glances: None,
        };
        Daemon::start(options, &self.desk.held)?.run(&mut |_| {})?;
        let task = read_world(&self.desk.folder)?.task(id).cloned();
        task.ok_or_else(|| Failure::gone(format!("{id} is not there any more")))
    }

    /// Takes in what came of the step; none if its run is not over.
    fn take_in(&self, task: &Task) -> Result<Option<Answer>, Failure> {
        let story = self.story.as_ref();
        match task.status() {
            Status::Ready | Status::InProgress => return Ok(None),
            Status::Deadletter => {}
            Status::Backlog
            | Status::Blocked
            | Status::Review
            | Status::Done
            | Status::Cancelled => {
                let hooked = self.project.hook(story, Ask::Ended).map_err(failure)?;
                return self.settled(hooked).map(Some);
            }
        }
        self.project.poll().map_err(failure)?;
        let (now, _) = self.project.status(story).map_err(failure)?;
        if now.state.status != StepStatus::Running {
            return Ok(Some(now));
        }
        let hooked = self.project.hook(story, Ask::IfHandedOver).map_err(failure)?;
        if hooked.result != "nothing" {
            return self.settled(hooked).map(Some);
        }
        let why = task.trials.reason.as_deref().unwrap_or("the agent ended without a result");
        self.project.report_error(story, why).map(Some).map_err(failure)
    }

    /// The run is over: if what it left is about something else, it left nothing.
    fn settled(&self, hooked: Answer) -> Result<Answer, Failure> {
        if hooked.result != "stale" {
            return Ok(hooked);
        }
        let why = hooked.warnings.join("; ");
        self.project.report_error(self.story.as_ref(), &why).map_err(failure)
    }

    fn tell(&self, answer: &Answer) -> Result<(), Failure> {
        if self.out.is_json() {
            return self.out.document(&answer.json());
        }
        for warning in &answer.warnings {
            self.out.warn(warning);
        }
        line(self.out, answer)
    }

    fn leave(&self, answer: &Answer) -> Result<ExitCode, Failure> {
        self.tell(answer)?;
        if !self.out.is_json() {
            if let Some(error) = &answer.state.last_error {
                self.out.line(&format!("last error: {}", clean(error)))?;
            }
            self.out.line(&clean(&answer.caller_instruction()))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
