//! The data folder, as ways in for programs ask for it.

mod away;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use adjutant_api::mcp::Bound;
use adjutant_api::office::{LogPlace, Office, Order, Printed, Row, StoryDeed, Trouble, Wanted};
use adjutant_core::evidence::Evidence;
use adjutant_core::input::Token;
use adjutant_core::pipeline::StoryId;
use adjutant_core::task::LastRun;
use adjutant_core::{AgentId, Answer, Reason, Status, Task, TaskId, Time, World};
use adjutant_runtime::daemon::{Holder, Place};
use adjutant_runtime::door::Guest;
use adjutant_runtime::order::By;
use adjutant_runtime::papers::Papers;
use adjutant_runtime::story::Project;
use adjutant_runtime::supervisor::{Life, life};
use adjutant_runtime::token::Secret;
use adjutant_runtime::{Answered, Client, Clock, Mirror, Request, SystemClock};
use adjutant_store::document::companion;
use adjutant_store::taskfile;
use adjutant_store::{Net, StoreError};
use rustix::fs::{Mode, OFlags, mkdirat, openat, renameat};
use serde_json::Value;

use crate::commands::task::list::List;
use crate::commands::task::{agent, status as status_of};
use crate::commands::{agents, inbox, logs, status, story, why};
use crate::data::{Data, FileEngine, Lookout, no_such_task};
use crate::error::Failure;
use crate::inside::Inside;
use crate::output::Output;
use crate::view::answer;
use crate::view::event;
use crate::view::late::Late;
use crate::view::run;
use crate::view::shelf::Shelf;
use crate::view::task::{Body, TaskView, read_plain};
use crate::view::work;
use away::Away;

/// How much of what a run printed is shown.
const OUTPUT_BYTES_MAX: u64 = 64 << 10;

/// How many tasks are listed while nobody else is served.
const AT_ONCE_MAX: usize = 101;

/// The data folder.
pub(crate) struct FolderOffice {
    data: Data,
    source: Source,
    shelf: Shelf,
    /// The way to the other nodes of a fleet.
    net: Option<Arc<dyn Net>>,
    out: Output,
}

/// Who writes to the folder, and who knows what is in it.
enum Source {
    /// The daemon if one runs, and else this process.
    Folder(Box<There>),
    /// This process, which is the daemon.
    Daemon(Box<Here>),
}

/// What this process keeps of a folder that others may write to.
struct There {
    /// Writes while no daemon does, and stays open.
    engine: Mutex<Option<Box<FileEngine>>>,
    /// Looks while others write.
    lookout: Mutex<Lookout>,
}

/// What the daemon of this process knows.
struct Here {
    client: Client,
    mirror: Mirror,
    secret: Secret,
    late: Late,
}

impl FolderOffice {
    /// Works on a folder that others may write to.
    pub(crate) fn new(data: Data) -> Self {
        let lookout = Mutex::new(data.lookout());
        let source = Source::Folder(Box::new(There { engine: Mutex::default(), lookout }));
        Self { data, source, shelf: Shelf::default(), net: None, out: Output::new(true) }
    }

    /// Works for the daemon of this process.
    pub(crate) fn of_daemon(
        data: Data,
        client: Client,
        net: Option<Arc<dyn Net>>,
    ) -> Result<Self, Failure> {
        let (secret, mirror) = (read_secret(&data)?, client.mirror()?);
        let late = Late::watching(&mirror);
        let source = Source::Daemon(Box::new(Here { client, mirror, secret, late }));
        Ok(Self { data, source, shelf: Shelf::default(), net, out: Output::new(true) })
    }

    /// Finds what a run of a task prints on another node, if it is one of a fleet.
    fn log_elsewhere(&self, id: &TaskId, attempt: Option<u32>) -> Option<Printed> {
        let (net, Source::Daemon(here)) = (self.net.clone()?, &self.source) else { return None };
        let mirror = &here.mirror;
        let last = mirror.look(|world| world.task(id).and_then(Task::attempt));
        let away = Away::new(net, mirror.clone(), id.clone(), attempt.or(last)?);
        let (attempt, is_over) = (away.attempt(), away.is_over());
        Some(Printed { attempt, place: LogPlace::Elsewhere(Arc::new(away)), is_over })
    }

    /// Leaves the folder so that it opens quickly.
    pub(crate) fn rest(&self) {
        if let Source::Folder(there) = &self.source
            && let Some(engine) = lock(&there.engine).as_mut()
        {
            crate::data::rest(engine, &self.out);
        }
    }

    fn submit(&self, requests: Vec<Request>) -> Result<Vec<Answered>, Failure> {
        let engine = match &self.source {
            Source::Daemon(here) => return ask(&here.client, requests),
            Source::Folder(there) => &there.engine,
        };
        let mut open = lock(engine);
        if let Some(mut guest) = Guest::enter(self.data.folder.root()) {
            return Ok(guest.ask(&requests)?);
        }
        if let Some(inside) = Inside::confined(self.data.folder.root()) {
            let root = self.data.folder.root();
            return requests.iter().map(|request| inside.keep(root, request)).collect();
        }
        if open.is_none() {
            // It stays open, and must know the tokens that are given out from now on.
            self.secret()?;
            *open = Some(Box::new(self.data.engine()?));
        }
        let answered = open.as_mut().map(|engine| engine.submit(&requests)).transpose()?;
        answered.ok_or_else(|| StoreError::Stopped.into())
    }

    /// Looks at the world: what the daemon has committed, or what the folder says.
    fn world<T>(&self, look: impl FnOnce(&World) -> Result<T, Failure>) -> Result<T, Trouble> {
        let looked = match &self.source {
            Source::Daemon(here) => here.mirror.look(look),
            Source::Folder(there) => self.data.look(&mut lock(&there.lookout), &self.out, look),
        };
        looked.map_err(Failure::into_trouble)
    }

    fn secret(&self) -> Result<Secret, Failure> {
        match &self.source {
            Source::Daemon(here) => Ok(here.secret.clone()),
            Source::Folder(_) => read_secret(&self.data),
        }
    }

    fn project(&self) -> Result<Project<'static>, Trouble> {
        static CLOCK: SystemClock = SystemClock;
        let root = self.data.folder.workspace();
        Project::at(&root, &CLOCK).map_err(|error| story::failure(error).into_trouble())
    }

    fn find(&self, id: &TaskId) -> Result<Arc<TaskView>, Trouble> {
        let likely = self.standing(id);
        self.shelf.find(&self.data.folder, id, likely).ok_or_else(|| not_found(id))
    }

    /// Returns where a task stands, if this process knows without looking.
    fn standing(&self, id: &TaskId) -> Option<Status> {
        match &self.source {
            Source::Daemon(here) => here.mirror.look(|world| world.task(id).map(Task::status)),
            Source::Folder(_) => None,
        }
    }

    /// Reads what waits for a person and is not in the world.
    fn aside(&self) -> Result<inbox::Aside, Failure> {
        let Source::Daemon(here) = &self.source else {
            return inbox::Aside::read(&self.data, &self.out);
        };
        let late = here.late.list(self.data.folder.root())?;
        let find = |text: &str| here.mirror.look(|world| world.resolve(text));
        Ok(inbox::Aside::with(&self.data, late, &find, &self.out))
    }

    fn wanted(wanted: &Wanted) -> Result<List, String> {
        let statuses: Result<Vec<Status>, String> =
            wanted.statuses.iter().map(|text| parsed(text, status_of)).collect();
        let agent = wanted.agent.as_deref().map(|text| parsed(text, agent)).transpose()?;
        Ok(List { statuses: statuses?, agent, epic: None, limit: wanted.limit })
    }
}

impl Office for FolderOffice {
    fn ask(&self, request: Request) -> Result<Answered, Trouble> {
        let stopped = || Failure::from(StoreError::Stopped).into_trouble();
        self.ask_all(vec![request])?.pop().ok_or_else(stopped)
    }

    fn ask_all(&self, requests: Vec<Request>) -> Result<Vec<Answered>, Trouble> {
        self.submit(requests).map_err(Failure::into_trouble)
    }

    fn ready(&self) -> Result<(), Trouble> {
        let answers = match &self.source {
            Source::Daemon(here) => here.client.view(|_| ()).map_err(Failure::from),
            Source::Folder(_) => Ok(()),
        };
        answers.map_err(Failure::into_trouble)
    }

    fn look(&self, look: &mut dyn FnMut(&World)) -> Result<(), Trouble> {
        self.world(|world| {
            look(world);
            Ok(())
        })
    }

    fn known(&self, text: &str) -> Result<TaskId, Trouble> {
        let known = match &self.source {
            Source::Daemon(here) => {
                let own = TaskId::parse(text).ok();
                let is_there =
                    |id: &TaskId| self.standing(id).is_some() || self.data.task_path(id).is_some();
                own.filter(is_there).or_else(|| here.mirror.look(|world| world.resolve(text)))
            }
            Source::Folder(_) => self.data.known_id(text),
        };
        known.ok_or_else(|| no_such_task(text).into_trouble())
    }

    fn answer(&self, answered: &Answered) -> Value {
        answer::json(answered)
    }

    fn show(&self, id: &TaskId) -> Result<Value, Trouble> {
        Ok(self.find(id)?.json(Body::Shown))
    }

    fn row(&self, id: &TaskId) -> Result<Value, Trouble> {
        Ok(self.find(id)?.json(Body::Left))
    }

    fn document(&self, id: &TaskId) -> Result<String, Trouble> {
        let path = self.data.task_path(id).ok_or_else(|| not_found(id))?;
        let bytes = read_plain(&path).ok_or_else(|| not_found(id))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn list(&self, wanted: &Wanted) -> Result<Value, Trouble> {
        let list = Self::wanted(wanted)
            .map_err(|wrong| Failure::usage("cannot list tasks").hint(wrong).into_trouble())?;
        let chosen = self.world(|world| Ok(select(&list, wanted, world)))?;
        let views =
            chosen.iter().filter_map(|(id, at)| self.shelf.find(&self.data.folder, id, Some(*at)));
        Ok(views.map(|view| view.json(Body::Left)).collect())
    }

    fn show_at_once(&self, text: &str) -> Option<(TaskId, Value)> {
        let id = TaskId::parse(text).ok()?;
        let view = self.shelf.kept(&self.data.folder, &id, self.standing(&id)?)?;
        Some((id, view.json(Body::Shown)))
    }

    fn list_at_once(&self, wanted: &Wanted) -> Option<Vec<Row>> {
        let (Source::Daemon(here), Ok(list)) = (&self.source, Self::wanted(wanted)) else {
            return None;
        };
        // For others all tasks are looked through, or more files than take no time.
        let few = wanted.limit.is_some_and(|limit| limit <= AT_ONCE_MAX);
        if wanted.order == Order::Urgency || wanted.text.is_some() || wanted.agent.is_some() || !few
        {
            return None;
        }
        let chosen = here.mirror.look(|world| select(&list, wanted, world));
        let row = |(id, at): (TaskId, Status)| {
            let json = self.shelf.row(&self.data.folder, &id, at)?;
            Some(Row { id, json })
        };
        chosen.into_iter().map(row).collect()
    }

    fn why(&self, id: &TaskId) -> Result<Value, Trouble> {
        let holds = self.world(|world| why::holds(world, id))?;
        Ok(why::json(id, &holds))
    }

    fn inbox(&self) -> Result<Value, Trouble> {
        let aside = self.aside().map_err(Failure::into_trouble)?;
        self.world(|world| Ok(aside.document(world)))
    }

    fn inbox_part(&self, from: usize, most: usize) -> Result<(Vec<Value>, usize), Trouble> {
        let aside = self.aside().map_err(Failure::into_trouble)?;
        self.world(|world| Ok(aside.part(world, from, most)))
    }

    fn status(&self) -> Result<Value, Trouble> {
        let holder = Holder::of(self.data.folder.root());
        let root = self.data.folder.root();
        let place = holder.as_ref().and_then(|holder| Place::of(root, holder.pid));
        self.world(|world| Ok(status::document(holder.as_ref(), place.as_ref(), world)))
    }

    fn agents(&self) -> Result<Value, Trouble> {
        let load = self.world(|world| Ok(agents::load(world)))?;
        Ok(agents::whole(&self.data, &load))
    }

    fn in_words(&self, event: &Value) -> String {
        event::detail(event["type"].as_str().unwrap_or_default(), &event["payload"])
    }

    fn stories(&self) -> Result<Value, Trouble> {
        if !self.data.folder.workspace().join(".ai").is_dir() {
            return Ok(Value::Array(vec![]));
        }
        let answers = self.project()?.list();
        let answers = answers.map_err(|error| story::failure(error).into_trouble())?;
        Ok(answers.iter().map(adjutant_runtime::story::Answer::json).collect())
    }

    fn story(&self, id: &str) -> Result<Value, Trouble> {
        let unknown = || no_such_story(id).into_trouble();
        let id = StoryId::parse(id).map_err(|_| unknown())?;
        let stories = self.stories()?;
        let named = |story: &&Value| story["story"].as_str() == Some(id.as_str());
        stories.as_array().and_then(|all| all.iter().find(named)).cloned().ok_or_else(unknown)
    }

    fn story_prompt(&self, id: &str) -> Result<Value, Trouble> {
        let id = StoryId::parse(id).map_err(|_| no_such_story(id).into_trouble())?;
        let answer = self.project()?.prompt(Some(&id));
        Ok(answer.map_err(|error| story::failure(error).into_trouble())?.json())
    }

    fn tell_story(
        &self,
        story: &StoryId,
        deed: &StoryDeed,
        mark: Option<String>,
    ) -> Result<Value, Trouble> {
        let answer = story::tell(&self.project()?.under(mark), story, deed, &self.data);
        answer.map(|answer| answer.json()).map_err(Failure::into_trouble)
    }

    fn runs(&self, id: &TaskId) -> Result<Value, Trouble> {
        self.find(id)?;
        Ok(run::all(&self.data, id).iter().map(run::Run::json).collect())
    }

    fn evidence(&self, id: &TaskId) -> (Option<Evidence>, Option<String>) {
        let evidence = work::evidence(self.data.folder.root(), id);
        let on_branch = evidence.as_ref().is_some_and(|evidence| evidence.branch.is_some());
        let diff = on_branch.then(|| self.data.yard().diff(id).ok()).flatten();
        (evidence, diff.map(|diff| String::from_utf8_lossy(&diff).into_owned()))
    }

    fn log(&self, id: &TaskId, attempt: Option<u32>) -> Result<Printed, Trouble> {
        let (attempt, folder) = match logs::find(&self.data, id, attempt) {
            Ok(found) => found,
            Err(failure) => {
                let away = self.log_elsewhere(id, attempt);
                return away.ok_or_else(|| failure.into_trouble());
            }
        };
        let over = |life| matches!(life, Life::Gone | Life::Over);
        let is_over = life(&folder).is_ok_and(over);
        Ok(Printed { attempt, place: LogPlace::Here(folder.path().to_owned()), is_over })
    }

    fn root(&self) -> &Path {
        self.data.folder.root()
    }

    fn run_of(&self, token: &str, hint: Option<&TaskId>) -> Result<Option<Bound>, Trouble> {
        let secret = self.secret().map_err(Failure::into_trouble)?;
        let found = self.world(|world| Ok(holder_of(world, &secret, token, hint)))?;
        let Some((task, fence, run)) = found else { return Ok(None) };
        let run = run.or_else(|| {
            let runs = run::all(&self.data, &task).into_iter();
            runs.filter(|run| run.fence == fence).find_map(|run| Some((run.agent()?, run.attempt)))
        });
        let token = token.to_owned();
        Ok(run.map(|(agent, attempt)| Bound { task, agent, attempt, token }))
    }

    fn order(&self, id: &TaskId, agent: &AgentId, attempt: u32) -> Result<String, Trouble> {
        let status = self.find(id)?.status;
        let parsed = taskfile::parse(&self.document(id)?, Some(id), Some(status));
        let task = parsed.map_err(|_| unreadable(id))?.task;
        let papers = Papers::read(&self.data.folder, &task);
        let attempted = || format!("cannot write the work order of {id}");
        let papers = papers.map_err(|e| Failure::broken(attempted(), &e).into_trouble())?;
        let papers = papers.with_checks(&self.data.config().policy(), &task);
        Ok(papers.prompt(&task, agent, attempt, By::Tools))
    }

    fn output(&self, id: &TaskId) -> Result<String, Trouble> {
        logs::tail(&self.data, id, OUTPUT_BYTES_MAX).map_err(Failure::into_trouble)
    }

    fn keep_summary(&self, id: &TaskId, text: &str) -> Result<(), Trouble> {
        let root = self.data.folder.root();
        // The folder of a task that is moved meanwhile is looked for again.
        let write =
            || write_summary(&root.join(companion(self.find(id).ok()?.status, id)), text).ok();
        let kept = (0..3).find_map(|_| write());
        kept.ok_or_else(|| Failure::gone(format!("cannot keep the summary of {id}")).into_trouble())
    }

    fn token(&self, id: &TaskId, fence: u64) -> Result<String, Trouble> {
        Ok(self.secret().map_err(Failure::into_trouble)?.token(id, fence))
    }

    fn now(&self) -> Time {
        SystemClock.now()
    }
}

fn lock<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Asks the daemon of this process; one request may share its commit with those of others.
fn ask(client: &Client, mut requests: Vec<Request>) -> Result<Vec<Answered>, Failure> {
    match requests.pop() {
        Some(only) if requests.is_empty() => Ok(vec![client.ask(only)?]),
        last => {
            requests.extend(last);
            Ok(client.ask_all(requests)?)
        }
    }
}

fn read_secret(data: &Data) -> Result<Secret, Failure> {
    Secret::open(data.folder.root())
        .map_err(|error| Failure::broken("cannot read the secret of the data folder", &error))
}

/// Chooses the tasks of a list, in its order.
fn select(list: &List, wanted: &Wanted, world: &World) -> Vec<(TaskId, Status)> {
    let text = wanted.text.as_ref().map(|text| text.to_lowercase());
    let has = |task: &Task| {
        let has =
            |said: &str| text.as_deref().is_none_or(|text| said.to_lowercase().contains(text));
        let foreign = task.foreign.iter().flat_map(|foreign| foreign.ids()).any(has);
        has(&task.title) || has(task.id.as_str()) || foreign
    };
    let limit = wanted.limit.unwrap_or(usize::MAX);
    let pair = |task: &Task| (task.id.clone(), task.status());
    let wants = |task: &&Task| list.wants(task) && has(task);
    let after = wanted.after.as_ref();
    // As many of each as there can be of all: those of other statuses are not looked at.
    let statuses: BTreeSet<Status> = list.statuses.iter().copied().collect();
    let mut some: Vec<&Task> = match wanted.order {
        Order::Urgency => list.select(world).into_iter().filter(wants).take(limit).collect(),
        Order::Id if statuses.is_empty() => {
            world.tasks_after(after).filter(wants).take(limit).collect()
        }
        Order::IdDown if statuses.is_empty() => {
            world.tasks_before(after).filter(wants).take(limit).collect()
        }
        Order::Id => {
            let of = |at| world.with_status_after(at, after).filter(wants).take(limit);
            statuses.into_iter().flat_map(of).collect()
        }
        Order::IdDown => {
            let of = |at| world.with_status_before(at, after).filter(wants).take(limit);
            statuses.into_iter().flat_map(of).collect()
        }
    };
    match wanted.order {
        Order::Urgency => {}
        Order::Id => some.sort_by(|a, b| a.id.cmp(&b.id)),
        Order::IdDown => some.sort_by(|a, b| b.id.cmp(&a.id)),
    }
    some.truncate(limit);
    some.into_iter().map(pair).collect()
}

/// Finds the run a token was given to: first where somebody works, then where somebody has worked.
#[expect(clippy::type_complexity, reason = "who it is may have to be looked up elsewhere")]
fn holder_of(
    world: &World,
    secret: &Secret,
    token: &str,
    hint: Option<&TaskId>,
) -> Option<(TaskId, u64, Option<(AgentId, u32)>)> {
    let hinted = hint.and_then(|id| world.task(id));
    let working = world.with_status(Status::InProgress);
    let worked = world.tasks().filter(|task| task.last_run.is_some());
    let mut tasks = hinted.into_iter().chain(working).chain(worked);
    tasks.find_map(|task| match secret.judge(Some(token), std::slice::from_ref(&task.id)) {
        Token::Run { task: id, fence } => Some((id, fence, run_under(task, fence))),
        Token::None | Token::Unknown => None,
    })
}

fn run_under(task: &Task, fence: u64) -> Option<(AgentId, u32)> {
    let leased = task.lease().map(LastRun::from);
    let runs = leased.into_iter().chain(task.last_run.clone());
    runs.into_iter().find(|run| run.fence == fence).map(|run| (run.agent, run.attempt))
}

fn no_such_story(id: &str) -> Failure {
    Failure::story_refused(
        "story_not_found",
        format!("there is no story {id:?}"),
        "no file says so",
    )
}

fn parsed<T>(text: &str, parse: impl Fn(&str) -> Result<T, String>) -> Result<T, String> {
    parse(text).map_err(|wrong| format!("{text:?} {wrong}"))
}

fn not_found(id: &TaskId) -> Trouble {
    Failure::not_found(id, "cannot find the file").into_trouble()
}

fn unreadable(id: &TaskId) -> Trouble {
    let answer = Answer::rejected(Reason::TaskUnreadable, Some(id.clone()));
    Failure::refused(format!("cannot read {id}"), &answer).into_trouble()
}

/// Writes `outputs/summary.md` in the folder of a task. No link is followed on the way: an agent
/// could have put one there.
fn write_summary(task: &Path, text: &str) -> std::io::Result<()> {
    std::fs::create_dir_all(task)?;
    let folder = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let task = rustix::fs::open(task, folder, Mode::empty())?;
    match mkdirat(&task, "outputs", Mode::RWXU) {
        Err(error) if error != rustix::io::Errno::EXIST => return Err(error.into()),
        _ => {}
    }
    let outputs = openat(&task, "outputs", folder, Mode::empty())?;
    let staged = format!(".summary.{}", std::process::id());
    let new = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(&outputs, &staged, new, Mode::RUSR | Mode::WUSR)?;
    let mut file = std::fs::File::from(file);
    file.write_all(text.trim_end().as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    Ok(renameat(&outputs, &staged, &outputs, "summary.md")?)
}
