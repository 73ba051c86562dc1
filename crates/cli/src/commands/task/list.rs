//! `adjutant task list`: lists tasks, one line each.

use std::process::ExitCode;

use adjutant_core::World;
use adjutant_model::mission::EpicId;
use adjutant_model::{AgentId, Status, Task};
use adjutant_query::task::{TaskView, serialize_list};
use adjutant_query::task_list::{TaskQuery, parse_status};

use crate::data::ProjectData;
use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, TextColour};
use crate::table::{self, TableCell};
use crate::view::task::colour;

/// List tasks, one per line
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant task list --status review --status blocked
  adjutant task list --open --tag web --text \"login page\"")]
pub(crate) struct TaskListArgs {
    /// Only tasks with this status; may be repeated
    #[arg(long = "status", value_name = "S", value_parser = parse_status)]
    statuses: Vec<Status>,
    /// Only tasks that this agent works on or that are assigned to it
    #[arg(long, value_name = "A", value_parser = super::agent)]
    agent: Option<AgentId>,
    /// Only tasks of this epic, with a summary line
    #[arg(long, value_name = "E", value_parser = epic)]
    epic: Option<EpicId>,
    /// Only tasks that have this tag; if repeated, only tasks that have all of them
    #[arg(long = "tag", value_name = "T")]
    tags: Vec<String>,
    /// Only tasks with all these words in their title, or with this text in an id
    #[arg(long, value_name = "WORDS")]
    text: Option<String>,
    /// Only tasks that are neither done nor cancelled
    #[arg(long)]
    open: bool,
    /// Show at most N tasks
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

impl TaskListArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        let world = data.load_world(out)?;
        let query = TaskQuery {
            statuses: self.statuses,
            agent: self.agent,
            epic: self.epic.clone(),
            tags: self.tags,
            text: self.text,
            is_open: self.open,
            ..TaskQuery::default()
        };
        let mut tasks = query.select(&world);
        let all = tasks.len();
        for (id, fault) in world.file_faults() {
            out.warn(&format!("{id} is on hold: {fault}; {}", fault.fix));
        }
        for id in world.unreadable() {
            out.warn(&format!("{id} cannot be read; `adjutant doctor` says why"));
        }
        let summary = self.epic.as_ref().map(|epic| epic_summary(epic, &tasks));
        tasks.truncate(self.limit.unwrap_or(usize::MAX));
        if out.is_json() {
            let views = tasks.iter().filter_map(|task| {
                let view = TaskView::read(&data.folder, &task.id, task.status());
                let view = view.or_else(|| TaskView::find(&data.folder, &task.id))?;
                Some(view.with_hold(world.file_fault(&task.id)))
            });
            out.document(&serialize_list(&views.collect::<Vec<_>>()))?;
            return Ok(ExitCode::SUCCESS);
        }
        if all == 0 {
            out.line(empty_message(&query))?;
            return Ok(ExitCode::SUCCESS);
        }
        if let Some(summary) = summary {
            out.line(&summary)?;
        }
        let rows: Vec<[TableCell; 5]> =
            tasks.iter().map(|task| row(task, shown_status(&world, task))).collect();
        table::print(out, ["TASK", "STATUS", "PRIORITY", "AGENT", "TITLE"], &rows)?;
        if tasks.len() < all {
            out.line(&out.paint(TextColour::Dim, &format!("… and {} more", all - tasks.len())))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn empty_message(query: &TaskQuery) -> &'static str {
    if query.is_unfiltered() {
        "no tasks yet; `adjutant task add TITLE` creates one"
    } else {
        "no matching tasks; `adjutant task list` without options lists all"
    }
}

/// Counts the tasks of an epic: how many are done, and the rest by status.
fn epic_summary(epic: &EpicId, tasks: &[&Task]) -> String {
    let count = |status: Status| tasks.iter().filter(|task| task.status() == status).count();
    let open = Status::ALL.into_iter().filter(|status| *status != Status::Done);
    let rest: Vec<String> = open
        .map(|status| (status, count(status)))
        .filter(|(_, count)| *count > 0)
        .map(|(status, count)| format!("{count} {status}"))
        .collect();
    let rest = if rest.is_empty() { String::new() } else { format!("; {}", rest.join(", ")) };
    format!("{epic}: {} of {} done{rest}", count(Status::Done), tasks.len())
}

fn epic(text: &str) -> Result<EpicId, String> {
    EpicId::parse(text).map_err(|error| error.to_string())
}

/// Returns the id of a task, with its first id from elsewhere if it has one.
fn display_id(task: &Task) -> String {
    match task.origin.as_deref().and_then(|foreign| foreign.ids().next()) {
        Some(foreign) => format!("{} ({foreign})", task.id),
        None => task.id.to_string(),
    }
}

/// Returns the status to show: a task whose files cannot be changed counts as blocked.
fn shown_status(world: &World, task: &Task) -> Status {
    if world.file_fault(&task.id).is_some() { Status::Blocked } else { task.status() }
}

fn row(task: &Task, status: Status) -> [TableCell; 5] {
    let agent = task.lease().map(|lease| &lease.agent).or(task.routing.agent.as_ref());
    [
        TableCell::new(&*display_id(task)),
        TableCell::coloured(colour(status), status.as_str()),
        TableCell::new(task.priority.as_str()),
        TableCell::new(agent.map_or("-", AgentId::as_str)),
        TableCell::new(&*task.title),
    ]
}
