//! `adjutant task list`: every task in a line.

use std::process::ExitCode;

use adjutant_core::foreign::Foreign;
use adjutant_core::mission::EpicId;
use adjutant_core::{AgentId, Status, Task, TaskId, World};
use serde_json::Value;

use crate::data::Data;
use crate::error::Failure;
use crate::output::{Colour, Output};
use crate::table::{self, Cell};
use crate::view::task::{Body, TaskView, colour, in_order};

/// List tasks, a line each
#[derive(Debug, clap::Args)]
pub(crate) struct List {
    /// Only those with this status; may be given more than once
    #[arg(long = "status", value_name = "S", value_parser = super::status)]
    pub(crate) statuses: Vec<Status>,
    /// Only those this agent works on, or that are for it
    #[arg(long, value_name = "A", value_parser = super::agent)]
    pub(crate) agent: Option<AgentId>,
    /// Only those of this epic, after a line that says how it stands
    #[arg(long, value_name = "E", value_parser = epic)]
    pub(crate) epic: Option<EpicId>,
    /// Only the first so many
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

impl List {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        let world = data.world(out)?;
        let mut tasks = self.select(&world);
        let all = tasks.len();
        for id in world.unreadable() {
            out.warn(&format!("{id} cannot be read; `adjutant doctor` says why"));
        }
        let glance = self.epic.as_ref().map(|epic| at_a_glance(epic, &tasks));
        tasks.truncate(self.limit.unwrap_or(usize::MAX));
        if out.is_json() {
            let listed = tasks.iter().map(|task| (&task.id, task.status()));
            out.document(&json(data, listed))?;
            return Ok(ExitCode::SUCCESS);
        }
        if all == 0 {
            out.line(self.nothing())?;
            return Ok(ExitCode::SUCCESS);
        }
        if let Some(glance) = glance {
            out.line(&glance)?;
        }
        let rows: Vec<[Cell; 5]> = tasks.iter().map(|task| row(task)).collect();
        table::print(out, ["TASK", "STATUS", "PRIORITY", "AGENT", "TITLE"], &rows)?;
        if tasks.len() < all {
            out.line(&out.paint(Colour::Dim, &format!("… and {} more", all - tasks.len())))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Returns the tasks that are wanted, in the order of a list.
    pub(crate) fn select<'w>(&self, world: &'w World) -> Vec<&'w Task> {
        let mut tasks: Vec<&Task> = world.tasks().filter(|task| self.wants(task)).collect();
        tasks.sort_by_key(|&task| in_order(task));
        tasks
    }

    fn nothing(&self) -> &'static str {
        if self.statuses.is_empty() && self.agent.is_none() && self.epic.is_none() {
            "no tasks yet; `adjutant task add TITLE` makes one"
        } else {
            "no such tasks; without options, `adjutant task list` lists all of them"
        }
    }

    pub(crate) fn wants(&self, task: &Task) -> bool {
        let there = self.statuses.is_empty() || self.statuses.contains(&task.status());
        let whose = task.lease().map(|lease| &lease.agent).or(task.routing.agent.as_ref());
        let epic = task.foreign.as_deref().and_then(Foreign::epic);
        let grouped = self.epic.is_none() || epic == self.epic.as_ref();
        there && grouped && (self.agent.is_none() || whose == self.agent.as_ref())
    }
}

/// Says how an epic stands: how much of it is done, and where the rest is.
fn at_a_glance(epic: &EpicId, tasks: &[&Task]) -> String {
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

/// Returns what a list calls a task: its id, and the one others know it by.
fn name(task: &Task) -> String {
    match task.foreign.as_deref().and_then(|foreign| foreign.ids().next()) {
        Some(foreign) => format!("{} ({foreign})", task.id),
        None => task.id.to_string(),
    }
}

/// Returns tasks as JSON, as their files have them.
pub(crate) fn json<'t>(
    data: &Data,
    tasks: impl IntoIterator<Item = (&'t TaskId, Status)>,
) -> Value {
    let views = tasks.into_iter().filter_map(|(id, status)| {
        let view = TaskView::read(&data.folder, id, status);
        view.or_else(|| TaskView::find(&data.folder, id))
    });
    Value::Array(views.map(|view| view.json(Body::Left)).collect())
}

fn row(task: &Task) -> [Cell; 5] {
    let agent = task.lease().map(|lease| &lease.agent).or(task.routing.agent.as_ref());
    [
        Cell::new(&*name(task)),
        Cell::coloured(colour(task.status()), task.status().as_str()),
        Cell::new(task.priority.as_str()),
        Cell::new(agent.map_or("-", AgentId::as_str)),
        Cell::new(&*task.title),
    ]
}
