//! The data folder, as ways in for programs ask for it.

use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use adjutant_api::office::{Office, Trouble, Wanted};
use adjutant_core::{AgentId, Answer, Reason, Status, TaskId, Time};
use adjutant_runtime::door::Guest;
use adjutant_runtime::papers::Papers;
use adjutant_runtime::token::Secret;
use adjutant_runtime::{Answered, Clock, Request, SystemClock};
use adjutant_store::StoreError;
use adjutant_store::document::companion;
use adjutant_store::taskfile;
use rustix::fs::{Mode, OFlags, mkdirat, openat, renameat};
use serde_json::Value;

use crate::commands::task::list::List;
use crate::commands::task::{agent, status};
use crate::commands::{inbox, logs, why};
use crate::data::{Data, FileEngine};
use crate::error::Failure;
use crate::output::Output;
use crate::view::answer;
use crate::view::task::{Body, TaskView, read_plain};

/// How much of what a run printed is shown.
const OUTPUT_BYTES_MAX: u64 = 64 << 10;

/// The data folder. Writes go to the daemon if one runs, and else to an engine that stays open.
pub(crate) struct FolderOffice {
    data: Data,
    engine: Mutex<Option<Box<FileEngine>>>,
    out: Output,
}

impl FolderOffice {
    pub(crate) fn new(data: Data) -> Self {
        Self { data, engine: Mutex::new(None), out: Output::new(true) }
    }

    /// Leaves the folder so that it opens quickly.
    pub(crate) fn rest(&self) {
        if let Some(engine) = self.lock().as_mut() {
            crate::data::rest(engine, &self.out);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Box<FileEngine>>> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn submit(&self, request: Request) -> Result<Answered, Failure> {
        let mut open = self.lock();
        if let Some(mut guest) = Guest::enter(self.data.folder.root()) {
            return guest.ask(&[request])?.pop().ok_or_else(|| StoreError::Stopped.into());
        }
        if open.is_none() {
            // It stays open, and must know the tokens that are given out from now on.
            self.secret()?;
            *open = Some(Box::new(self.data.engine()?));
        }
        let answered = open.as_mut().map(|engine| engine.submit_one(request)).transpose()?;
        answered.ok_or_else(|| StoreError::Stopped.into())
    }

    fn secret(&self) -> Result<Secret, Failure> {
        Secret::open(self.data.folder.root())
            .map_err(|error| Failure::broken("cannot read the secret of the data folder", &error))
    }

    fn find(&self, id: &TaskId) -> Result<TaskView, Trouble> {
        TaskView::find(&self.data.folder, id).ok_or_else(|| not_found(id))
    }

    fn wanted(wanted: &Wanted) -> Result<List, String> {
        let statuses: Result<Vec<Status>, String> =
            wanted.statuses.iter().map(|text| parsed(text, status)).collect();
        let agent = wanted.agent.as_deref().map(|text| parsed(text, agent)).transpose()?;
        Ok(List { statuses: statuses?, agent, epic: None, limit: wanted.limit })
    }
}

impl Office for FolderOffice {
    fn ask(&self, request: Request) -> Result<Answered, Trouble> {
        self.submit(request).map_err(Failure::into_trouble)
    }

    fn known(&self, text: &str) -> Result<TaskId, Trouble> {
        self.data.task_id(text).map_err(Failure::into_trouble)
    }

    fn answer(&self, answered: &Answered) -> Value {
        answer::json(answered)
    }

    fn show(&self, id: &TaskId) -> Result<Value, Trouble> {
        Ok(self.find(id)?.json(Body::Shown))
    }

    fn document(&self, id: &TaskId) -> Result<String, Trouble> {
        let path = self.data.task_path(id).ok_or_else(|| not_found(id))?;
        let bytes = read_plain(&path).ok_or_else(|| not_found(id))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn list(&self, wanted: &Wanted) -> Result<Value, Trouble> {
        let list = Self::wanted(wanted)
            .map_err(|wrong| Failure::usage("cannot list tasks").hint(wrong).into_trouble())?;
        list.document(&self.data, &self.out).map_err(Failure::into_trouble)
    }

    fn why(&self, id: &TaskId) -> Result<Value, Trouble> {
        let holds = why::holds(&self.data, id, &self.out).map_err(Failure::into_trouble)?;
        Ok(why::json(id, &holds))
    }

    fn inbox(&self) -> Result<Value, Trouble> {
        inbox::document(&self.data, &self.out).map_err(Failure::into_trouble)
    }

    fn order(&self, id: &TaskId, agent: &AgentId, attempt: u32) -> Result<String, Trouble> {
        let status = self.find(id)?.status;
        let parsed = taskfile::parse(&self.document(id)?, Some(id), Some(status));
        let task = parsed.map_err(|_| unreadable(id))?.task;
        let papers = Papers::read(&self.data.folder, &task);
        let attempted = || format!("cannot write the work order of {id}");
        let papers = papers.map_err(|e| Failure::broken(attempted(), &e).into_trouble())?;
        Ok(papers.prompt(&task, agent, attempt))
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
