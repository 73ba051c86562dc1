//! `adjutant task edit`: changes fields or the body of a task.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use adjutant_core::command::{Caller, Changes};
use adjutant_core::{AgentId, Command, Priority, TaskId, Time};

use super::show::not_found;
use super::{ReviewArg, body, change};
use crate::data::{Data, rest};
use crate::error::Failure;
use crate::output::Output;
use crate::view::task::read_plain;

/// Change a task; without options, in your editor
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
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
    /// Another priority: critical, high, normal or low
    #[arg(long, value_name = "P", value_parser = super::priority)]
    priority: Option<Priority>,
    /// Another agent
    #[arg(long, value_name = "A", value_parser = super::agent)]
    agent: Option<AgentId>,
    /// For any agent
    #[arg(long, conflicts_with = "agent")]
    no_agent: bool,
    /// A tag, instead of those it has; may be given more than once
    #[arg(long = "tag", value_name = "T")]
    tags: Vec<String>,
    /// Without tags
    #[arg(long, conflicts_with = "tags")]
    no_tags: bool,
    /// A task that must be done before, instead of those it has; may be given more than once
    #[arg(long, value_name = "ID")]
    depends_on: Vec<String>,
    /// Without tasks that must be done before
    #[arg(long, conflicts_with = "depends_on")]
    no_depends_on: bool,
    /// Another task it is a part of
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// A part of no other task
    #[arg(long, conflicts_with = "parent")]
    no_parent: bool,
    /// Whether finished work waits for somebody to look at it, or is done
    #[arg(long, value_enum)]
    review: Option<ReviewArg>,
    /// What only one task may use at a time
    #[arg(long, value_name = "R")]
    resource: Option<String>,
    /// Without a resource
    #[arg(long, conflicts_with = "resource")]
    no_resource: bool,
    /// When it should be done: a time as 2026-02-10T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = super::time)]
    due: Option<Time>,
    /// Without a time when it should be done
    #[arg(long, conflicts_with = "due")]
    no_due: bool,
}

impl Edit {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        let id = data.task_id(&self.id)?;
        let changes = self.changes(data)?;
        if changes == Changes::default() {
            return edit_file(data, out, &id);
        }
        let attempt = format!("cannot edit {id}");
        change(data, out, &attempt, Command::Edit { id, changes: Box::new(changes) })
    }

    fn changes(self, data: &Data) -> Result<Changes, Failure> {
        let parent = self.parent.map(|id| super::id(data, &id)).transpose()?;
        let depends_on = super::ids(data, &self.depends_on)?;
        Ok(Changes {
            title: self.title,
            body: body(self.body, self.body_file)?,
            priority: self.priority,
            agent: one(self.agent, self.no_agent),
            tags: many(self.tags, self.no_tags),
            depends_on: many(depends_on, self.no_depends_on),
            parent: one(parent, self.no_parent),
            resource: one(self.resource, self.no_resource),
            due_by: one(self.due, self.no_due),
            review: self.review.map(Into::into),
        })
    }
}

/// Returns another value, or that there is to be none; none of both leaves what is there.
#[expect(clippy::option_option, reason = "to be none is something else than to stay")]
fn one<T>(value: Option<T>, cleared: bool) -> Option<Option<T>> {
    if cleared { Some(None) } else { value.map(Some) }
}

fn many<T>(values: Vec<T>, cleared: bool) -> Option<Vec<T>> {
    (cleared || !values.is_empty()).then_some(values)
}

/// Opens the file itself in the person's editor: it is theirs, and what they write is taken in.
fn edit_file(data: &Data, out: &Output, id: &TaskId) -> Result<ExitCode, Failure> {
    let attempt = format!("cannot edit {id}");
    if let Caller::InsideRun(_) = data.caller() {
        // An edit of nothing: it is refused, and the refusal is in the record.
        let command = Command::Edit { id: id.clone(), changes: Box::default() };
        return change(data, out, &attempt, command);
    }
    let found = data.task_path(id).and_then(|path| Some((read_plain(&path)?, path)));
    let Some((before, path)) = found else { return not_found(data, id, &attempt) };
    open_editor(&path, out)?;
    let note = if read_plain(&path) == Some(before) { super::NOTHING } else { "" };
    let mut engine = data.engine()?;
    rest(&mut engine, out);
    if engine.world().unreadable().contains(id) {
        return not_found(data, id, &format!("cannot take in {id} as it is now"));
    }
    super::show(data, out, id, note)
}

fn open_editor(path: &Path, out: &Output) -> Result<(), Failure> {
    let named = |name| std::env::var(name).ok().filter(|editor: &String| !editor.trim().is_empty());
    let editor = ["VISUAL", "EDITOR"].into_iter().find_map(named);
    let Some(editor) = editor.filter(|_| out.is_terminal()) else {
        let hint = "give what to change, as `--title TEXT`, or set EDITOR and use a terminal";
        return Err(Failure::usage("there is nothing to change").hint(hint));
    };
    let mut words = editor.split_whitespace();
    let ended = std::process::Command::new(words.next().unwrap_or_default())
        .args(words)
        .arg(path)
        .status()
        .map_err(|error| Failure::broken(format!("cannot start the editor {editor}"), &error))?;
    if ended.success() {
        return Ok(());
    }
    let ended = std::io::Error::other(format!("it ended with {ended}"));
    Err(Failure::broken(format!("the editor {editor} failed"), &ended))
}
