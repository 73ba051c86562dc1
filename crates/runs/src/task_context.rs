//! Reads the files about a task from the data folder, from which its work order is made.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use adjutant_model::constraints::RunConstraints;
use adjutant_model::evidence::{CheckResult, WorkEvidence};
use adjutant_model::handoff::TaskHandoff;
use adjutant_model::mission::MissionOrder;
use adjutant_model::relative_path::RelPath;
use adjutant_model::task_origin::TaskOrigin;
use adjutant_model::{AgentId, Policy, Task};
use adjutant_run_files::attempt_files::EVIDENCE_FILE;
use adjutant_store::document_paths::{companion_folder, epic_memory_file, task_file};
use adjutant_store::file::DataFolder;
use adjutant_store::frontmatter::FrontMatterParts;
use adjutant_store::taskfile::body_text;
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::work_order::{ReportingMethod, WorkOrderContent, write_order};

/// How much of one file is read.
const CONTEXT_FILE_BYTES_MAX: u64 = 4 << 20;

/// What the data folder holds about a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskContext {
    pub body: String,
    /// `handoff.md`, the readable form of `handoff`.
    pub handoff_text: Option<String>,
    pub handoff: Option<TaskHandoff>,
    /// The operator's answers, oldest first.
    pub answers: Vec<String>,
    /// The check that failed in the last attempt, with its output.
    pub check: Option<String>,
    /// The commands that must pass when the agent reports done.
    pub checks: Vec<String>,
    /// Relative to the workspace.
    pub task_file: Option<RelPath>,
    /// The file with the memory of the task's epic, relative to the workspace.
    pub memory: Option<RelPath>,
    /// The task's own folder, as an absolute path.
    pub folder: PathBuf,
}

impl TaskContext {
    pub fn read(folder: &DataFolder, task: &Task) -> io::Result<Self> {
        let root = folder.root();
        let path = task_file(task.status(), &task.id);
        let file = fs::read_to_string(root.join(&path))?;
        let own = root.join(companion_folder(task.status(), &task.id));
        let json = read_if_there(&own.join("inputs/handoff.json"))?;
        let handoff = json.and_then(|json| serde_json::from_str::<TaskHandoff>(&json).ok());
        let memory = task.origin.as_deref().and_then(TaskOrigin::epic).map(epic_memory_file);
        let memory = memory.filter(|memory| root.join(memory).is_file());
        Ok(Self {
            body: FrontMatterParts::split(&file)
                .map_or("", |parts| body_text(parts.body()))
                .to_owned(),
            handoff_text: read_if_there(&own.join("inputs/handoff.md"))?,
            handoff,
            answers: read_answers(&own.join("inputs"))?,
            check: failed_check(root, task)?,
            checks: vec![],
            task_file: workspace_relative(root, &path),
            memory: memory.and_then(|memory| workspace_relative(root, &memory)),
            folder: std::path::absolute(&own)?,
        })
    }

    /// Adds the checks that must pass when the agent reports done. A story has none here.
    #[must_use]
    pub fn with_checks(mut self, policy: &Policy, task: &Task) -> Self {
        let checks = if task.story().is_some() { &[] } else { policy.checks_of(task) };
        self.checks = checks.iter().map(ToString::to_string).collect();
        self
    }

    /// Writes the work order in plain words.
    pub fn work_order(
        &self,
        task: &Task,
        agent: &AgentId,
        attempt: u32,
        by: ReportingMethod,
    ) -> String {
        let failures: Vec<&str> = task.history.failures.iter().map(|f| &*f.reason).collect();
        let due = task.due_by.map(|due| due.to_string());
        let foreign = task.origin.as_deref();
        let rules = foreign.and_then(TaskOrigin::constraints).map(RunConstraints::to_sentences);
        let rules = rules.unwrap_or_default();
        write_order(&WorkOrderContent {
            task: task.id.as_str(),
            title: &task.title,
            body: &self.body,
            agent: agent.as_str(),
            attempt,
            due: due.as_deref(),
            folder: &self.folder.to_string_lossy(),
            handoff: self.handoff_text.as_deref(),
            context: &self.context_files(foreign.and_then(TaskOrigin::mission)),
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

impl TaskContext {
    /// Returns the files that a mission names; the epic's memory replaces the mission's own.
    fn context_files<'a>(&'a self, mission: Option<&'a MissionOrder>) -> Vec<&'a str> {
        let named = mission.map(MissionOrder::paths).unwrap_or_default();
        let own = |name: &str| name == "context.memory" && self.memory.is_some();
        let kept = named.into_iter().filter(|(name, _)| !own(name)).map(|(_, path)| path);
        kept.chain(&self.memory).map(RelPath::as_str).collect()
    }
}

/// Converts a path in the data folder to one relative to the workspace.
fn workspace_relative(root: &Path, path: &str) -> Option<RelPath> {
    let name = root.file_name()?.to_str()?;
    RelPath::parse(&format!("{name}/{path}")).ok()
}

/// Returns the check that failed in the last failed attempt, if its evidence has one.
fn failed_check(root: &Path, task: &Task) -> io::Result<Option<String>> {
    let Some(failure) = task.history.failures.last() else { return Ok(None) };
    let attempts = root.join("runs").join(task.id.as_str()).join("attempts");
    let path = attempts.join(failure.attempt.to_string()).join(EVIDENCE_FILE);
    let text = read_if_there(&path)?;
    let evidence = text.and_then(|text| serde_json::from_str::<WorkEvidence>(&text).ok());
    Ok(evidence.as_ref().and_then(WorkEvidence::failed).map(|check| {
        let head = CheckResult { tail: String::new(), ..check.clone() }.in_words();
        // The output must not end the code block around it.
        let said = check.tail.replace("```", "'''");
        if said.trim().is_empty() { head } else { format!("{head}\n\n```\n{said}\n```") }
    }))
}

/// Returns the operator's answers, oldest first.
fn read_answers(inputs: &Path) -> io::Result<Vec<String>> {
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

/// Reads a regular file; `None` if there is none. Agents can write to most of these folders, so
/// this follows no link, does not wait for a pipe and stops at `CONTEXT_FILE_BYTES_MAX`.
pub(crate) fn read_if_there(path: &Path) -> io::Result<Option<String>> {
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
    file.take(CONTEXT_FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}
