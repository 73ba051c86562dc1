//! `adjutant task edit`: changes fields or the body of a task.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use adjutant_model::command::{CommandCaller, TaskChanges};
use adjutant_model::time_limits::DurationLimit;
use adjutant_model::{AgentId, Command, Priority, TaskId, Time};
use adjutant_query::task::read_regular_file;

use super::show::not_found;
use super::{ChangedTask, ReviewArg, read_body, submit_and_show};
use crate::data::ProjectData;
use crate::folder_writer::rest;
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;
use crate::time_argument;

/// Change a task; without options, open it in your editor
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant task edit 042                                    open it in $EDITOR
  adjutant task edit 042 --due tomorrow --priority high --no-agent
  adjutant task edit 042 --check \"make test\" --budget-usd 2.5 --timeout 1h")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct TaskEditArgs {
    /// The id of the task
    id: String,
    /// The new title
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The new body, in Markdown
    #[arg(long, value_name = "TEXT", conflicts_with = "body_file")]
    body: Option<String>,
    /// A file with the new body; `-` is standard input
    #[arg(long, value_name = "FILE")]
    body_file: Option<PathBuf>,
    /// The new priority: critical, high, normal or low
    #[arg(long, value_name = "P", value_parser = super::priority)]
    priority: Option<Priority>,
    /// Assign it to this agent only
    #[arg(long, value_name = "A", value_parser = super::agent)]
    agent: Option<AgentId>,
    /// Assign it to any agent
    #[arg(long, conflicts_with = "agent")]
    no_agent: bool,
    /// Replace the tags by this one; may be repeated
    #[arg(long = "tag", value_name = "T")]
    tags: Vec<String>,
    /// Remove all tags
    #[arg(long, conflicts_with = "tags")]
    no_tags: bool,
    /// Replace the dependencies by this task; may be repeated
    #[arg(long, value_name = "ID")]
    depends_on: Vec<String>,
    /// Remove all dependencies
    #[arg(long, conflicts_with = "depends_on")]
    no_depends_on: bool,
    /// The task that this one is part of
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// Remove the parent task
    #[arg(long, conflicts_with = "parent")]
    no_parent: bool,
    /// Whether a person must approve finished work
    #[arg(long, value_enum)]
    review: Option<ReviewArg>,
    /// Run at most one task with this resource at a time
    #[arg(long, value_name = "R")]
    resource: Option<String>,
    /// Remove the resource
    #[arg(long, conflicts_with = "resource")]
    no_resource: bool,
    /// When the task is due: 2026-12-01, tomorrow, friday, 18:00, 'in 3 days' or an RFC 3339 time
    #[arg(long, value_name = "TIME", value_parser = time_argument::deadline)]
    due: Option<Time>,
    /// Remove the due time
    #[arg(long, conflicts_with = "due")]
    no_due: bool,
    /// A command that must pass, instead of those it has; may be given more than once
    #[arg(long = "check", value_name = "CMD")]
    checks: Vec<String>,
    /// Remove its own checks: those of the agent or the project apply
    #[arg(long, conflicts_with = "checks")]
    no_checks: bool,
    /// Only agents with this mode may do it
    #[arg(long, value_name = "M")]
    mode: Option<String>,
    /// Let agents of any mode do it
    #[arg(long, conflicts_with = "mode")]
    no_mode: bool,
    /// Only agents with this role may do it
    #[arg(long, value_name = "R")]
    role: Option<String>,
    /// Let agents of any role do it
    #[arg(long, conflicts_with = "role")]
    no_role: bool,
    /// The most that all its runs together may cost, in dollars
    #[arg(long, value_name = "USD", value_parser = super::dollars)]
    budget_usd: Option<u64>,
    /// The most tokens that all its runs together may use
    #[arg(long, value_name = "N")]
    budget_tokens: Option<u64>,
    /// Remove its budgets
    #[arg(long, conflicts_with_all = ["budget_usd", "budget_tokens"])]
    no_budget: bool,
    /// The longest time a run may take, such as 1h30m, or off
    #[arg(long, value_name = "TIME", value_parser = super::time_limit)]
    timeout: Option<DurationLimit>,
    /// Remove its timeout: that of the agent applies
    #[arg(long, conflicts_with = "timeout")]
    no_timeout: bool,
    /// The longest time a run may print and report nothing, such as 15m, or off
    #[arg(long, value_name = "TIME", value_parser = super::time_limit)]
    idle_timeout: Option<DurationLimit>,
    /// Remove its idle timeout: that of the agent applies
    #[arg(long, conflicts_with = "idle_timeout")]
    no_idle_timeout: bool,
}

impl TaskEditArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        let id = data.task_id(&self.id)?;
        let changes = self.into_changes(data)?;
        if changes == TaskChanges::default() {
            return edit_file(data, out, &id);
        }
        let attempt = format!("cannot edit {id}");
        submit_and_show(data, out, &attempt, Command::Edit { id, changes: Box::new(changes) })
    }

    fn into_changes(self, data: &ProjectData) -> Result<TaskChanges, CommandFailure> {
        let parent = self.parent.map(|id| super::option_task_id(data, &id)).transpose()?;
        let depends_on = super::option_task_ids(data, &self.depends_on)?;
        Ok(TaskChanges {
            title: self.title,
            body: read_body(self.body, self.body_file)?,
            priority: self.priority,
            agent: field_change(self.agent, self.no_agent),
            tags: list_change(self.tags, self.no_tags),
            depends_on: list_change(depends_on, self.no_depends_on),
            parent: field_change(parent, self.no_parent),
            resource: field_change(self.resource, self.no_resource),
            due_by: field_change(self.due, self.no_due),
            review: self.review.map(Into::into),
            mode: field_change(self.mode, self.no_mode),
            role: field_change(self.role, self.no_role),
            checks: list_change(self.checks, self.no_checks),
            budget_tokens: field_change(self.budget_tokens, self.no_budget),
            budget_cost: field_change(self.budget_usd, self.no_budget),
            timeout: field_change(self.timeout, self.no_timeout),
            idle_timeout: field_change(self.idle_timeout, self.no_idle_timeout),
        })
    }
}

/// Returns `Some(None)` to clear the field, `Some(Some(_))` to set it, and `None` to keep it.
#[expect(clippy::option_option, reason = "to be none is something else than to stay")]
fn field_change<T>(value: Option<T>, cleared: bool) -> Option<Option<T>> {
    if cleared { Some(None) } else { value.map(Some) }
}

fn list_change<T>(values: Vec<T>, cleared: bool) -> Option<Vec<T>> {
    (cleared || !values.is_empty()).then_some(values)
}

/// Opens the task file in the user's editor and applies the edit afterwards.
fn edit_file(
    data: &ProjectData,
    out: &CommandOutput,
    id: &TaskId,
) -> Result<ExitCode, CommandFailure> {
    let attempt = format!("cannot edit {id}");
    if let CommandCaller::InsideRun(_) = data.caller() {
        // An empty edit is refused inside a run, and the event log records the refusal.
        let command = Command::Edit { id: id.clone(), changes: Box::default() };
        return submit_and_show(data, out, &attempt, command);
    }
    let found = data.task_path(id).and_then(|path| Some((read_regular_file(&path)?, path)));
    let Some((before, path)) = found else { return not_found(data, id, &attempt) };
    open_editor(&path, out)?;
    let note = if read_regular_file(&path) == Some(before) { super::UNCHANGED_NOTE } else { "" };
    let mut engine = data.open_engine()?;
    rest(&mut engine, out);
    if engine.world().unreadable().contains(id) {
        return not_found(data, id, &format!("cannot use the edited file of {id}"));
    }
    ChangedTask::read(data, id, note)?.show(out)
}

fn open_editor(path: &Path, out: &CommandOutput) -> Result<(), CommandFailure> {
    let named = |name| std::env::var(name).ok().filter(|editor: &String| !editor.trim().is_empty());
    let editor = ["VISUAL", "EDITOR"].into_iter().find_map(named);
    let Some(editor) = editor.filter(|_| out.is_terminal()) else {
        let hint = "use an option such as `--title TEXT`, or set EDITOR and use a terminal";
        return Err(CommandFailure::report_usage_error("no change was given").with_hint(hint));
    };
    let mut words = editor.split_whitespace();
    let ended = std::process::Command::new(words.next().unwrap_or_default())
        .args(words)
        .arg(path)
        .status()
        .map_err(|error| {
            CommandFailure::broken(format!("cannot start the editor {editor}"), &error)
        })?;
    if ended.success() {
        return Ok(());
    }
    let ended = std::io::Error::other(format!("it ended with {ended}"));
    Err(CommandFailure::broken(format!("the editor {editor} failed"), &ended))
}
