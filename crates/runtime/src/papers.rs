//! What lies in a folder about a task: what an order for it is made from.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use adjutant_core::constraints::Constraints;
use adjutant_core::evidence::{Check, Evidence};
use adjutant_core::foreign::Foreign;
use adjutant_core::handoff::Handoff;
use adjutant_core::mission::Mission;
use adjutant_core::path::RelPath;
use adjutant_core::{AgentId, Policy, Task};
use adjutant_store::document::{companion, epic_memory, task_file};
use adjutant_store::file::Folder;
use adjutant_store::frontmatter::Parts;
use adjutant_store::taskfile::body_text;
use adjutant_store::wire::HandoffWire;
use adjutant_store::wire::work::EvidenceWire;
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::daemon::EVIDENCE;
use crate::order::{By, Order, text};

/// How much of one paper is read.
const PAPER_BYTES_MAX: u64 = 4 << 20;

/// What lies in a folder about a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Papers {
    /// Its body.
    pub body: String,
    /// What it was handed on with, as people read it.
    pub handed_on: Option<String>,
    /// What it was handed on with.
    pub handoff: Option<Handoff>,
    /// What a person answered, the first answer first.
    pub answers: Vec<String>,
    /// The check that the last attempt did not pass, and what it printed.
    pub check: Option<String>,
    /// The commands that are run when the work is said to be done.
    pub checks: Vec<String>,
    /// Where its file lies, from the workspace.
    pub task_file: Option<RelPath>,
    /// Where the memory of its epic lies, from the workspace; none if there is none.
    pub memory: Option<RelPath>,
    /// Its own folder.
    pub own: PathBuf,
}

impl Papers {
    /// Reads what there is.
    pub fn read(folder: &Folder, task: &Task) -> io::Result<Self> {
        let root = folder.root();
        let path = task_file(task.status(), &task.id);
        let file = fs::read_to_string(root.join(&path))?;
        let own = root.join(companion(task.status(), &task.id));
        let json = read_if_there(&own.join("inputs/handoff.json"))?;
        let handoff = json.and_then(|json| serde_json::from_str::<HandoffWire>(&json).ok());
        let memory = task.foreign.as_deref().and_then(Foreign::epic).map(epic_memory);
        let memory = memory.filter(|memory| root.join(memory).is_file());
        Ok(Self {
            body: Parts::split(&file).map_or("", |parts| body_text(parts.body())).to_owned(),
            handed_on: read_if_there(&own.join("inputs/handoff.md"))?,
            handoff: handoff.and_then(|wire| Handoff::try_from(wire).ok()),
            answers: answers(&own.join("inputs"))?,
            check: check(root, task)?,
            checks: vec![],
            task_file: from_workspace(root, &path),
            memory: memory.and_then(|memory| from_workspace(root, &memory)),
            own: std::path::absolute(&own)?,
        })
    }

    /// Adds the commands that are run when the work is said to be done.
    #[must_use]
    pub fn with_checks(mut self, policy: &Policy, task: &Task) -> Self {
        let checks = if task.story().is_some() { &[] } else { policy.checks_of(task) };
        self.checks = checks.iter().map(ToString::to_string).collect();
        self
    }

    /// Writes the work order of a task in plain words.
    pub fn prompt(&self, task: &Task, agent: &AgentId, attempt: u32, by: By) -> String {
        let failures: Vec<&str> = task.trials.failures.iter().map(|f| &*f.reason).collect();
        let due = task.due_by.map(|due| due.to_string());
        let foreign = task.foreign.as_deref();
        let rules = foreign.and_then(Foreign::constraints).map(Constraints::in_words);
        let rules = rules.unwrap_or_default();
        text(&Order {
            task: task.id.as_str(),
            title: &task.title,
            body: &self.body,
            agent: agent.as_str(),
            attempt,
            due: due.as_deref(),
            folder: &self.own.to_string_lossy(),
            handoff: self.handed_on.as_deref(),
            context: &self.context(foreign.and_then(Foreign::mission)),
            rules: &rules.iter().map(String::as_str).collect::<Vec<_>>(),
            checks: &self.checks.iter().map(String::as_str).collect::<Vec<_>>(),
            feedback: task.feedback.as_deref(),
            answers: &self.answers.iter().map(String::as_str).collect::<Vec<_>>(),
            check: self.check.as_deref(),
            failures: &failures,
            by,
        })
    }
}

impl Papers {
    /// Returns the files a mission names, with the memory of the epic in place of its own.
    fn context<'a>(&'a self, mission: Option<&'a Mission>) -> Vec<&'a str> {
        let named = mission.map(Mission::paths).unwrap_or_default();
        let own = |name: &str| name == "context.memory" && self.memory.is_some();
        let kept = named.into_iter().filter(|(name, _)| !own(name)).map(|(_, path)| path);
        kept.chain(&self.memory).map(RelPath::as_str).collect()
    }
}

/// Returns where a file of the data folder lies from the folder that holds it.
fn from_workspace(root: &Path, path: &str) -> Option<RelPath> {
    let name = root.file_name()?.to_str()?;
    RelPath::parse(&format!("{name}/{path}")).ok()
}

/// Returns the check that the last attempt did not pass, if that is why it came to nothing.
fn check(root: &Path, task: &Task) -> io::Result<Option<String>> {
    let Some(failure) = task.trials.failures.last() else { return Ok(None) };
    let attempts = root.join("runs").join(task.id.as_str()).join("attempts");
    let path = attempts.join(failure.attempt.to_string()).join(EVIDENCE);
    let wire = read_if_there(&path)?.and_then(|text| serde_json::from_str(&text).ok());
    let evidence = wire.and_then(|wire: EvidenceWire| Evidence::try_from(wire).ok());
    Ok(evidence.as_ref().and_then(Evidence::failed).map(|check| {
        let head = Check { tail: String::new(), ..check.clone() }.in_words();
        // What it printed must not end the block it stands in.
        let said = check.tail.replace("```", "'''");
        if said.trim().is_empty() { head } else { format!("{head}\n\n```\n{said}\n```") }
    }))
}

/// Returns what a person answered, the first answer first.
fn answers(inputs: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(inputs) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        entries => entries?,
    };
    let mut numbered: Vec<(u64, String)> = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name().into_string().unwrap_or_default();
        let number = name.strip_prefix("answer-").and_then(|rest| rest.strip_suffix(".md"));
        if let Some(number) = number.and_then(|number| number.parse().ok()) {
            numbered.extend(read_if_there(&entry.path())?.map(|text| (number, text)));
        }
    }
    numbered.sort_unstable();
    Ok(numbered.into_iter().map(|(_, text)| text).collect())
}

/// Reads a plain file. Most of these lie where an agent can write: a link is not followed, a pipe
/// is not waited for, and what has no end is read no further than an order may be long.
fn read_if_there(path: &Path) -> io::Result<Option<String>> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) if file.metadata()?.is_file() => file,
        Ok(_) => return Ok(None),
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(PAPER_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}
