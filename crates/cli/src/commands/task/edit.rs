//! `adjutant task edit`: changes fields or the body of a task.

use std::path::PathBuf;
use std::process::ExitCode;

use adjutant_core::command::Changes;
use adjutant_core::{AgentId, Command, Priority, TaskId, Time};

use super::{ReviewArg, body, change};
use crate::data::{Data, task_id};
use crate::error::Failure;
use crate::output::Output;
use crate::view::task::TaskView;

/// Change a task; without options, in your editor
#[derive(Debug, clap::Args)]
pub(crate) struct Edit {
    /// The task
    id: String,
    /// Another title
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Another body
    #[arg(long, value_name = "TEXT", conflicts_with = "body_file")]
    body: Option<String>,
    /// A file with another body; `-` is standard input
    #[arg(long, value_name = "FILE")]
    body_file: Option<PathBuf>,
    /// critical, high, normal or low
    #[arg(long, value_name = "P", value_parser = super::priority)]
    priority: Option<Priority>,
    /// Another agent
    #[arg(long, value_name = "A", value_parser = super::agent)]
    agent: Option<AgentId>,
    /// Any agent
    #[arg(long, conflicts_with = "agent")]
    no_agent: bool,
    /// Other tags, instead of those it has
    #[arg(long = "tag", value_name = "T")]
    tags: Vec<String>,
    /// Other tasks that must be done before, instead of those it has
    #[arg(long, value_name = "ID", value_parser = super::id)]
    depends_on: Vec<TaskId>,
    /// No task must be done before
    #[arg(long, conflicts_with = "depends_on")]
    no_depends_on: bool,
    /// Another task it is a part of
    #[arg(long, value_name = "ID", value_parser = super::id)]
    parent: Option<TaskId>,
    /// Whether finished work waits for somebody to look at it
    #[arg(long, value_enum)]
    review: Option<ReviewArg>,
    /// What only one task may use at a time
    #[arg(long, value_name = "R")]
    resource: Option<String>,
    /// When it should be done
    #[arg(long, value_name = "TIME", value_parser = super::time)]
    due: Option<Time>,
}

impl Edit {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        let id = task_id(&self.id)?;
        let changes = self.changes()?;
        if changes == Changes::default() {
            return edit_file(data, out, &id);
        }
        let attempt = format!("cannot edit {id}");
        change(data, out, &attempt, Command::Edit { id, changes: Box::new(changes) })
    }

    fn changes(self) -> Result<Changes, Failure> {
        let listed = |items: Vec<String>| (!items.is_empty()).then_some(items);
        Ok(Changes {
            title: self.title,
            body: body(self.body, self.body_file)?,
            priority: self.priority,
            agent: if self.no_agent { Some(None) } else { self.agent.map(Some) },
            tags: listed(self.tags),
            depends_on: if self.no_depends_on || !self.depends_on.is_empty() {
                Some(self.depends_on)
            } else {
                None
            },
            parent: self.parent.map(Some),
            resource: self.resource.map(Some),
            due_by: self.due.map(Some),
            review: self.review.map(Into::into),
        })
    }
}

/// Opens the file itself in the person's editor: it is theirs, and what they write is taken in.
fn edit_file(data: &Data, out: &Output, id: &TaskId) -> Result<ExitCode, Failure> {
    let view = TaskView::find(&data.folder, id);
    let Some(view) = view else { return super::show::not_found(data, id) };
    let editor = ["VISUAL", "EDITOR"].into_iter().find_map(|name| std::env::var(name).ok());
    let Some(editor) = editor.filter(|_| out.is_terminal()) else {
        let hint = "give what to change, as --title TEXT, or set EDITOR and use a terminal";
        return Err(Failure::usage("there is nothing to change").hint(hint));
    };
    let path = data.folder.root().join(adjutant_store::document::task_file(view.status, id));
    let mut words = editor.split_whitespace();
    let ended = std::process::Command::new(words.next().unwrap_or("vi"))
        .args(words)
        .arg(&path)
        .status()
        .map_err(|error| Failure::broken(format!("cannot start {editor}"), &error))?;
    if !ended.success() {
        return Err(Failure::usage(format!("{editor} ended with {ended}")));
    }
    data.engine()?.rest()?;
    out.line(&format!("{id} taken in as it is"))?;
    Ok(ExitCode::SUCCESS)
}
