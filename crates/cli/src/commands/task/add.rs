//! `adjutant task add`: creates a task.

use std::path::PathBuf;
use std::process::ExitCode;

use adjutant_model::command::NewTask;
use adjutant_model::task::TaskRouting;
use adjutant_model::time_limits::{DurationLimit, TaskTimeLimits};
use adjutant_model::usage::UsageBudget;
use adjutant_model::{AgentId, Command, Priority, Time};

use super::{ReviewArg, StartArg, read_body, submit_and_show};
use crate::data::ProjectData;
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;
use crate::time_argument;

/// Create a task
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant task add \"Fix the login form\" --status ready
  adjutant task add \"Test the login form\" --depends-on 042 --due friday --check \"make test\"")]
pub(crate) struct TaskAddArgs {
    /// What to do, in one line
    title: String,
    /// The full description, in Markdown
    #[arg(long, value_name = "TEXT", conflicts_with = "body_file")]
    body: Option<String>,
    /// A file with the full description; `-` is standard input
    #[arg(long, value_name = "FILE")]
    body_file: Option<PathBuf>,
    /// How urgent the task is: critical, high, normal or low
    #[arg(long, value_name = "P", value_parser = super::priority, default_value = "normal")]
    priority: Priority,
    /// Assign it to this agent only
    #[arg(long, value_name = "A", value_parser = super::agent)]
    agent: Option<AgentId>,
    /// Assign it only to agents with this tag; may be repeated
    #[arg(long = "tag", value_name = "T")]
    tags: Vec<String>,
    /// Do not start before this task is done; may be repeated
    #[arg(long, value_name = "ID")]
    depends_on: Vec<String>,
    /// The task that this one is part of
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// Whether a person must approve finished work
    #[arg(long, value_enum, default_value = "required")]
    review: ReviewArg,
    /// The first status: `ready` may start at once, `backlog` waits until you move it to ready
    #[arg(long, value_enum, default_value = "backlog")]
    status: StartArg,
    /// Run at most one task with this resource at a time
    #[arg(long, value_name = "R")]
    resource: Option<String>,
    /// When the task is due: 2026-12-01, tomorrow, friday, 18:00, 'in 3 days' or an RFC 3339 time
    #[arg(long, value_name = "TIME", value_parser = time_argument::deadline)]
    due: Option<Time>,
    /// A command that must pass before the work counts as done, instead of the checks of the agent
    /// and the project; may be repeated
    #[arg(long = "check", value_name = "CMD")]
    checks: Vec<String>,
    /// Only agents with this mode may do it
    #[arg(long, value_name = "M")]
    mode: Option<String>,
    /// Only agents with this role may do it
    #[arg(long, value_name = "R")]
    role: Option<String>,
    /// The most that all its runs together may cost, in dollars
    #[arg(long, value_name = "USD", value_parser = super::dollars)]
    budget_usd: Option<u64>,
    /// The most tokens that all its runs together may use
    #[arg(long, value_name = "N")]
    budget_tokens: Option<u64>,
    /// The longest time a run may take, such as 1h30m, or off [default: the agent's]
    #[arg(long, value_name = "TIME", value_parser = super::time_limit)]
    timeout: Option<DurationLimit>,
    /// The longest time a run may print and report nothing, such as 15m, or off [default: the
    /// agent's]
    #[arg(long, value_name = "TIME", value_parser = super::time_limit)]
    idle_timeout: Option<DurationLimit>,
}

impl TaskAddArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        let new = NewTask {
            title: self.title,
            body: read_body(self.body, self.body_file)?.unwrap_or_default(),
            priority: self.priority,
            routing: TaskRouting {
                agent: self.agent,
                mode: self.mode.map(Into::into),
                role: self.role.map(Into::into),
                tags: self.tags.into_iter().map(Into::into).collect(),
                ..TaskRouting::default()
            },
            parent: self.parent.map(|id| super::option_task_id(data, &id)).transpose()?,
            depends_on: super::option_task_ids(data, &self.depends_on)?,
            resource: self.resource,
            due_by: self.due,
            review: self.review.into(),
            start: self.status.into(),
            checks: self.checks,
            budget: UsageBudget { tokens: self.budget_tokens, cost: self.budget_usd },
            limits: TaskTimeLimits { timeout: self.timeout, idle_timeout: self.idle_timeout },
        };
        submit_and_show(data, out, "cannot add the task", Command::Add(Box::new(new)))
    }
}
