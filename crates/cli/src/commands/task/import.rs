//! `adjutant task import`: creates tasks from a Markdown checklist, CSV or JSON.
//!
//! The readers turn a file into items of named texts; `import_item.rs` turns those into tasks. The
//! core decides whether all of them can be created.

mod checklist;
mod csv;
mod import_item;
mod json;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use adjutant_core::decide::find_existing;
use adjutant_core::{Input, decide};
use adjutant_engine::EngineRequest;
use adjutant_model::command::{ImportedTask, TaskImport};
use adjutant_model::{AgentId, AnswerVerdict, Command, Event, TaskId};
use adjutant_process::clock::{Clock, SystemClock};
use serde_json::{Value, json};

use self::import_item::{ImportItem, ItemDefaults, LineProblem, to_imported_tasks};
use super::{StartArg, read_text};
use crate::data::{ProjectData, require_accepted};
use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, clean};

/// The largest file: an import is one request and one commit.
const FILE_BYTES_MAX: usize = 512 << 10;

/// Create tasks from a file: a Markdown checklist, CSV or JSON
///
/// Markdown: each unchecked item `- [ ] Title` is a task, and the text indented under it is its
/// body. An item that is indented under another one is a part of it, and the other one waits for
/// it. Checked items are left out.
///
/// CSV: the first line names the columns, in any order. JSON: a list of objects, or one object a
/// line, with the same names. `title` is required; the others are `key`, `body`, `priority`,
/// `agent`, `mode`, `role`, `tags`, `depends_on`, `parent`, `resource`, `due`, `review`, `status`,
/// `checks`, `budget_usd`, `budget_tokens`, `timeout` and `idle_timeout`. `depends_on` and `parent`
/// name the `key` of another task of the file, or the id of an existing task. In a CSV cell,
/// several tags or keys are separated by `;`, and checks by line breaks.
///
/// All tasks are created in one commit. If a line is wrong, no task is created. A task whose title
/// exists already, even as a closed task, is not created again, so that a file can be imported
/// twice; `--again` creates it nevertheless.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  adjutant task import plan.md --dry-run
  adjutant task import plan.md --status ready --tag release
  adjutant task import tasks.csv
  adjutant task import - --as json < tasks.json")]
pub(crate) struct TaskImportArgs {
    /// The file; `-` is standard input
    file: PathBuf,
    /// The format [default: by the end of the file name, else Markdown]
    #[arg(long = "as", value_name = "FORMAT", value_enum)]
    format: Option<ImportFormat>,
    /// Show the tasks that would be created, and create none
    #[arg(long)]
    dry_run: bool,
    /// The status of tasks for which the file has none
    #[arg(long, value_enum, default_value = "backlog")]
    status: StartArg,
    /// The agent of tasks for which the file has none
    #[arg(long, value_name = "A", value_parser = super::agent)]
    agent: Option<AgentId>,
    /// A tag of all tasks, added to those of the file; may be given more than once
    #[arg(long = "tag", value_name = "T")]
    tags: Vec<String>,
    /// Also create tasks whose title exists already
    #[arg(long)]
    again: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ImportFormat {
    Md,
    Csv,
    Json,
}

impl ImportFormat {
    fn of_file(path: &Path) -> Self {
        match path.extension().and_then(|end| end.to_str()) {
            Some("csv") => Self::Csv,
            Some("json" | "jsonl" | "ndjson") => Self::Json,
            _ => Self::Md,
        }
    }

    fn read(self, text: &str) -> Result<Vec<ImportItem>, Vec<LineProblem>> {
        match self {
            Self::Md => checklist::read(text),
            Self::Csv => csv::read(text),
            Self::Json => json::read(text),
        }
    }
}

impl TaskImportArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        let attempt = format!("cannot import {}", self.file.display());
        let text = read_text(&self.file)?;
        let tasks = self.read_tasks(&text, data);
        let tasks = tasks.map_err(|problems| invalid_file(&attempt, &problems))?;
        let import = TaskImport { tasks, repeat: self.again };
        let world = data.load_world(out)?;
        let titles = import.tasks.iter().map(|item| &*item.task.title);
        let existing =
            if self.again { vec![None; import.tasks.len()] } else { find_existing(&world, titles) };
        let command = Command::Import(import.clone());
        if self.dry_run {
            let input = Input::Command { by: data.caller(), command };
            let answer = decide(&world, &input, SystemClock.now()).answer;
            if answer.verdict == AnswerVerdict::Rejected {
                return Err(CommandFailure::refused(attempt, &answer));
            }
            for warning in &answer.warnings {
                out.warn(warning);
            }
            let shown = ImportResult { tasks: &import.tasks, existing, created: None };
            return shown.print(out);
        }
        let request = EngineRequest::command(data.caller(), command);
        let answered = require_accepted(data.submit(request, out)?, &attempt)?;
        for warning in &answered.answer.warnings {
            out.warn(warning);
        }
        let created = answered.events.iter().filter_map(|event| match &event.new_event.event {
            Event::TaskCreated { task, .. } => Some(task.id.clone()),
            _ => None,
        });
        let created = Some(created.collect());
        ImportResult { tasks: &import.tasks, existing, created }.print(out)
    }

    fn read_tasks(
        &self,
        text: &str,
        data: &ProjectData,
    ) -> Result<Vec<ImportedTask>, Vec<LineProblem>> {
        if text.len() > FILE_BYTES_MAX {
            let message = format!("it is larger than {} KiB", FILE_BYTES_MAX >> 10);
            return Err(vec![LineProblem::of_file(message)]);
        }
        let format = self.format.unwrap_or_else(|| ImportFormat::of_file(&self.file));
        let items = format.read(text)?;
        let defaults = ItemDefaults {
            start: self.status.into(),
            agent: self.agent.clone(),
            tags: self.tags.clone(),
        };
        to_imported_tasks(items, &defaults, &|text: &str| data.find_task_id(text))
    }
}

fn invalid_file(attempt: &str, problems: &[LineProblem]) -> CommandFailure {
    let mut failure = CommandFailure::report_usage_error(attempt);
    failure.causes = problems.iter().map(ToString::to_string).collect();
    failure.with_hint("no task was created; `adjutant task import --help` describes the formats")
}

/// What an import did, or would do.
struct ImportResult<'a> {
    tasks: &'a [ImportedTask],
    /// For each task, the one that has its title already.
    existing: Vec<Option<TaskId>>,
    /// The tasks that were created, in order; `None` for a dry run.
    created: Option<Vec<TaskId>>,
}

impl ImportResult<'_> {
    fn print(&self, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
        let mut created = self.created.iter().flatten();
        let mut documents = Vec::new();
        for (item, known) in self.tasks.iter().zip(&self.existing) {
            let id = known.as_ref().or_else(|| created.next());
            if out.is_json() {
                documents.push(self.document(item, id, known.is_none()));
            } else {
                out.line(&self.line(item, id, known.is_none()))?;
            }
        }
        if out.is_json() {
            let document = json!({"dryRun": self.created.is_none(), "tasks": documents});
            out.document(&document)?;
        } else {
            out.line(&self.summary())?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn line(&self, item: &ImportedTask, id: Option<&TaskId>, is_new: bool) -> String {
        let title = clean(item.task.title.trim());
        match id {
            Some(id) if is_new => format!("{id} {}: {title}", item.task.start.status()),
            Some(id) => format!("{id} exists already: {title}"),
            None => {
                let status = item.task.start.status();
                format!("line {}: {title} ({status}{})", item.line, self.links(item))
            }
        }
    }

    /// Describes the links of a task that has no id yet.
    fn links(&self, item: &ImportedTask) -> String {
        let line = |place: &u32| self.tasks.get(*place as usize).map(|other| other.line);
        let lines = item.depends_on.iter().filter_map(line).map(|line| format!("line {line}"));
        let ids = item.task.depends_on.iter().map(ToString::to_string);
        let waits: Vec<String> = lines.chain(ids).collect();
        let mut text = String::new();
        if !waits.is_empty() {
            text = format!(", waits for {}", waits.join(", "));
        }
        let parent = item.parent.as_ref().and_then(line).map(|line| format!("line {line}"));
        if let Some(parent) = parent.or(item.task.parent.as_ref().map(ToString::to_string)) {
            text = format!("{text}, part of {parent}");
        }
        text
    }

    fn document(&self, item: &ImportedTask, id: Option<&TaskId>, is_new: bool) -> Value {
        let line = |place: &u32| self.tasks.get(*place as usize).map(|other| other.line);
        json!({
            "line": item.line,
            "id": id.map(TaskId::as_str),
            "created": is_new && self.created.is_some(),
            "exists": !is_new,
            "title": item.task.title.trim(),
            "status": item.task.start.status().as_str(),
            "dependsOn": item.task.depends_on,
            "dependsOnLines": item.depends_on.iter().filter_map(line).collect::<Vec<_>>(),
            "parentId": item.task.parent,
            "parentLine": item.parent.as_ref().and_then(line),
        })
    }

    fn summary(&self) -> String {
        let count = self.existing.iter().filter(|known| known.is_none()).count();
        let tasks = if count == 1 { "1 task".to_owned() } else { format!("{count} tasks") };
        let exist = match self.existing.len() - count {
            0 => String::new(),
            known => format!("; {known} of the file exist already"),
        };
        match self.created {
            Some(_) => format!("created {tasks}{exist}"),
            None => format!("would create {tasks}{exist}; nothing was changed"),
        }
    }
}
