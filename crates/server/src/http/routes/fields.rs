//! Validates the fields of a request and collects all errors.

use adjutant_model::command::{self, InitialStatus, TaskChanges};
use adjutant_model::encoding::usd::millionths;
use adjutant_model::review::ReviewPolicy;
use adjutant_model::task::TaskRouting;
use adjutant_model::time_limits::{DurationLimit, TaskTimeLimits};
use adjutant_model::usage::UsageBudget;
use adjutant_model::{AgentId, Command, Priority, TaskId, Time};

use super::{Edit, NewTask};
use crate::http::SharedState;
use crate::http::problem::ApiProblem;

/// The errors found so far.
#[derive(Default)]
pub(super) struct FieldErrors(Vec<String>);

impl FieldErrors {
    /// Parses a required field.
    pub(super) fn required<T>(
        &mut self,
        key: &str,
        value: Option<String>,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        if value.is_none() {
            self.0.push(format!("{key}: is required"));
        }
        self.optional(key, value, parse)
    }

    /// Parses an optional field.
    pub(super) fn optional<T>(
        &mut self,
        key: &str,
        value: Option<String>,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        match value.map(|text| parse(&text)) {
            Some(Err(wrong)) => {
                self.0.push(format!("{key}: {wrong}"));
                None
            }
            Some(Ok(value)) => Some(value),
            None => None,
        }
    }

    /// Converts an amount of dollars to millionths.
    fn dollars(&mut self, key: &str, amount: f64) -> Option<u64> {
        let cost = millionths(amount);
        if cost.is_none() {
            self.0.push(format!("{key}: must be a number of dollars, like 2.5"));
        }
        cost
    }

    /// Resolves the task that a field names.
    async fn task(&mut self, app: &SharedState, key: &str, text: String) -> Option<TaskId> {
        match app.with_project(move |project| project.queries.resolve_task(&text)).await {
            Ok(id) => Some(id),
            Err(problem) => {
                self.0.push(format!("{key}: {}", problem.detail));
                None
            }
        }
    }

    async fn tasks(&mut self, app: &SharedState, key: &str, ids: Vec<String>) -> Vec<TaskId> {
        let mut found = Vec::new();
        for (n, id) in ids.into_iter().enumerate() {
            found.extend(self.task(app, &format!("{key}[{n}]"), id).await);
        }
        found
    }

    pub(super) fn push(&mut self, wrong: String) {
        self.0.push(wrong);
    }

    /// Returns all errors as one problem.
    pub(super) fn check(self) -> Result<(), ApiProblem> {
        if self.0.is_empty() { Ok(()) } else { Err(ApiProblem::invalid(self.0)) }
    }
}

pub(super) fn required_text(key: &str, value: Option<String>) -> Result<String, ApiProblem> {
    let mut wrong = FieldErrors::default();
    let text = wrong.required(key, value, |text| Ok(text.to_owned()));
    wrong.check()?;
    Ok(text.unwrap_or_default())
}

fn priority(text: &str) -> Result<Priority, String> {
    let all = Priority::ALL.map(Priority::as_str).join(", ");
    Priority::parse(text).ok_or(format!("must be one of: {all}"))
}

pub(super) fn agent(text: &str) -> Result<AgentId, String> {
    AgentId::parse(text).map_err(|bad| format!("is not an agent name: it {bad}"))
}

fn time(text: &str) -> Result<Time, String> {
    Time::parse(text).map_err(|error| error.to_string())
}

fn limit(text: &str) -> Result<DurationLimit, String> {
    DurationLimit::parse(text).map_err(|error| error.to_string())
}

pub(super) fn start(text: &str) -> Result<InitialStatus, String> {
    match text {
        "backlog" => Ok(InitialStatus::Backlog),
        "ready" => Ok(InitialStatus::Ready),
        _ => Err("must be one of: backlog, ready".to_owned()),
    }
}

pub(super) async fn to_add_command(app: &SharedState, new: NewTask) -> Result<Command, ApiProblem> {
    let mut wrong = FieldErrors::default();
    let title = wrong.required("title", new.title, |text| Ok(text.to_owned()));
    let priority = wrong.optional("priority", new.priority, priority);
    let agent = wrong.optional("agent", new.agent, agent);
    let due_by = wrong.optional("dueBy", new.due_by, time);
    let start = wrong.optional("status", new.status, start);
    let budget = UsageBudget {
        tokens: new.budget_tokens,
        cost: new.budget_usd.and_then(|amount| wrong.dollars("budgetUsd", amount)),
    };
    let limits = TaskTimeLimits {
        timeout: wrong.optional("timeout", new.timeout, limit),
        idle_timeout: wrong.optional("idleTimeout", new.idle_timeout, limit),
    };
    let depends_on = wrong.tasks(app, "dependsOn", new.depends_on.unwrap_or_default()).await;
    let parent = match new.parent_id {
        Some(id) => wrong.task(app, "parentId", id).await,
        None => None,
    };
    wrong.check()?;
    let tags = new.tags.unwrap_or_default().into_iter().map(Into::into).collect();
    Ok(Command::Add(Box::new(command::NewTask {
        title: title.unwrap_or_default(),
        body: new.body.unwrap_or_default(),
        priority: priority.unwrap_or_default(),
        routing: TaskRouting {
            agent,
            role: new.role.map(Into::into),
            mode: new.mode.map(Into::into),
            tags,
            ..TaskRouting::default()
        },
        parent,
        depends_on,
        resource: new.resource,
        due_by,
        review: review(new.review_required.unwrap_or(true)),
        start: start.unwrap_or_default(),
        checks: new.checks.unwrap_or_default(),
        budget,
        limits,
    })))
}

pub(super) async fn to_task_changes(
    app: &SharedState,
    edit: Edit,
) -> Result<TaskChanges, ApiProblem> {
    let mut wrong = FieldErrors::default();
    let priority = wrong.optional("priority", edit.priority, priority);
    let agent = edit.agent.map(|name| wrong.optional("agent", name, agent));
    let due_by = edit.due_by.map(|text| wrong.optional("dueBy", text, time));
    let budget_cost =
        edit.budget_usd.map(|amount| amount.and_then(|amount| wrong.dollars("budgetUsd", amount)));
    let timeout = edit.timeout.map(|text| wrong.optional("timeout", text, limit));
    let idle_timeout = edit.idle_timeout.map(|text| wrong.optional("idleTimeout", text, limit));
    let depends_on = match edit.depends_on {
        Some(ids) => Some(wrong.tasks(app, "dependsOn", ids).await),
        None => None,
    };
    let parent = match edit.parent_id {
        Some(Some(id)) => Some(wrong.task(app, "parentId", id).await),
        Some(None) => Some(None),
        None => None,
    };
    wrong.check()?;
    Ok(TaskChanges {
        title: edit.title,
        body: edit.body,
        priority,
        agent,
        tags: edit.tags,
        depends_on,
        parent,
        resource: edit.resource,
        due_by,
        review: edit.review_required.map(review),
        mode: edit.mode,
        role: edit.role,
        checks: edit.checks,
        budget_tokens: edit.budget_tokens,
        budget_cost,
        timeout,
        idle_timeout,
    })
}

fn review(required: bool) -> ReviewPolicy {
    if required { ReviewPolicy::Required } else { ReviewPolicy::NotNeeded }
}
