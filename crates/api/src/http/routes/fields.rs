//! The fields of what was sent, and everything that is wrong with them.

use adjutant_core::command::{self, Changes, Start};
use adjutant_core::task::{Review, Routing};
use adjutant_core::{AgentId, Command, Priority, TaskId, Time};

use super::{Edit, NewTask};
use crate::http::App;
use crate::http::problem::Problem;

/// Everything that is wrong with what was sent.
#[derive(Default)]
pub(super) struct Wrong(Vec<String>);

impl Wrong {
    /// Reads a field that must be there.
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

    /// Reads a field that may be there.
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

    /// Finds the task a field names.
    async fn task(&mut self, app: &App, key: &str, text: String) -> Option<TaskId> {
        match app.office(move |office| office.known(&text)).await {
            Ok(id) => Some(id),
            Err(problem) => {
                self.0.push(format!("{key}: {}", problem.detail));
                None
            }
        }
    }

    async fn tasks(&mut self, app: &App, key: &str, ids: Vec<String>) -> Vec<TaskId> {
        let mut found = Vec::new();
        for (n, id) in ids.into_iter().enumerate() {
            found.extend(self.task(app, &format!("{key}[{n}]"), id).await);
        }
        found
    }

    pub(super) fn push(&mut self, wrong: String) {
        self.0.push(wrong);
    }

    /// Says everything that is wrong, if anything is.
    pub(super) fn check(self) -> Result<(), Problem> {
        if self.0.is_empty() { Ok(()) } else { Err(Problem::invalid(self.0)) }
    }
}

pub(super) fn text_of(key: &str, value: Option<String>) -> Result<String, Problem> {
    let mut wrong = Wrong::default();
    let text = wrong.required(key, value, |text| Ok(text.to_owned()));
    wrong.check()?;
    Ok(text.unwrap_or_default())
}

fn priority(text: &str) -> Result<Priority, String> {
    let all = Priority::ALL.map(Priority::as_str).join(", ");
    Priority::parse(text).ok_or(format!("must be one of: {all}"))
}

pub(super) fn agent(text: &str) -> Result<AgentId, String> {
    AgentId::parse(text).map_err(|bad| format!("the name of an agent {bad}"))
}

fn time(text: &str) -> Result<Time, String> {
    Time::parse(text).map_err(|error| error.to_string())
}

fn start(text: &str) -> Result<Start, String> {
    match text {
        "backlog" => Ok(Start::Backlog),
        "ready" => Ok(Start::Ready),
        _ => Err("must be one of: backlog, ready".to_owned()),
    }
}

pub(super) async fn made(app: &App, new: NewTask) -> Result<Command, Problem> {
    let mut wrong = Wrong::default();
    let title = wrong.required("title", new.title, |text| Ok(text.to_owned()));
    let priority = wrong.optional("priority", new.priority, priority);
    let agent = wrong.optional("agent", new.agent, agent);
    let due_by = wrong.optional("dueBy", new.due_by, time);
    let start = wrong.optional("status", new.status, start);
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
        routing: Routing { agent, role: None, mode: None, tags },
        parent,
        depends_on,
        resource: new.resource,
        due_by,
        review: review(new.review_required.unwrap_or(true)),
        start: start.unwrap_or_default(),
        checks: new.checks.unwrap_or_default(),
    })))
}

pub(super) async fn changed(app: &App, edit: Edit) -> Result<Changes, Problem> {
    let mut wrong = Wrong::default();
    let priority = wrong.optional("priority", edit.priority, priority);
    let agent = edit.agent.map(|name| wrong.optional("agent", name, agent));
    let due_by = edit.due_by.map(|text| wrong.optional("dueBy", text, time));
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
    Ok(Changes {
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
    })
}

fn review(required: bool) -> Review {
    if required { Review::Required } else { Review::NotNeeded }
}
