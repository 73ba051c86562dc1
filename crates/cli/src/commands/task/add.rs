//! `adjutant task add`: makes a task.

use std::path::PathBuf;
use std::process::ExitCode;

use adjutant_core::command::{NewTask, Start};
use adjutant_core::task::Routing;
use adjutant_core::{AgentId, Command, Priority, Time};

use super::{ReviewArg, body, change};
use crate::data::Data;
use crate::error::Failure;
use crate::output::Output;

/// Make a task
#[derive(Debug, clap::Args)]
pub(crate) struct Add {
    /// One line that says what is to be done
    title: String,
    /// Everything else about it, in Markdown
    #[arg(long, value_name = "TEXT", conflicts_with = "body_file")]
    body: Option<String>,
    /// A file with everything else about it; `-` is standard input
    #[arg(long, value_name = "FILE")]
    body_file: Option<PathBuf>,
    /// How urgent it is: critical, high, normal or low
    #[arg(long, value_name = "P", value_parser = super::priority, default_value = "normal")]
    priority: Priority,
    /// The agent it is for
    #[arg(long, value_name = "A", value_parser = super::agent)]
    agent: Option<AgentId>,
    /// What an agent should be good at; may be given more than once
    #[arg(long = "tag", value_name = "T")]
    tags: Vec<String>,
    /// A task that must be done before this one; may be given more than once
    #[arg(long, value_name = "ID")]
    depends_on: Vec<String>,
    /// The task it is a part of
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// Whether finished work waits for somebody to look at it, or is done
    #[arg(long, value_enum, default_value = "required")]
    review: ReviewArg,
    /// Where it begins: to be looked at first, or to be given out at once
    #[arg(long, value_enum, default_value = "backlog")]
    status: StartArg,
    /// What only one task may use at a time
    #[arg(long, value_name = "R")]
    resource: Option<String>,
    /// When it should be done: a time as 2026-02-10T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = super::time)]
    due: Option<Time>,
    /// A command that must pass before the work counts as done, in place of those of the agent and
    /// the project; may be given more than once
    #[arg(long = "check", value_name = "CMD")]
    checks: Vec<String>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum StartArg {
    Backlog,
    Ready,
}

impl Add {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        let new = NewTask {
            title: self.title,
            body: body(self.body, self.body_file)?.unwrap_or_default(),
            priority: self.priority,
            routing: Routing {
                agent: self.agent,
                mode: None,
                role: None,
                tags: self.tags.into_iter().map(Into::into).collect(),
            },
            parent: self.parent.map(|id| super::id(data, &id)).transpose()?,
            depends_on: super::ids(data, &self.depends_on)?,
            resource: self.resource,
            due_by: self.due,
            review: self.review.into(),
            start: match self.status {
                StartArg::Backlog => Start::Backlog,
                StartArg::Ready => Start::Ready,
            },
            checks: self.checks,
        };
        change(data, out, "cannot add the task", Command::Add(Box::new(new)))
    }
}
