//! Parses a task file, which any program may have written, and names every problem in it.

use adjutant_model::answer::FieldProblem;
use adjutant_model::run_nonce::RunNonce;
use adjutant_model::sandbox_level::SandboxLevel;
use adjutant_model::task::{Lease, TITLE_CHARS_MAX, Task, TaskMetadata, TaskRouting, TaskState};
use adjutant_model::{Actor, AgentId, Priority, Status, TaskId, Time};
use serde_json::{Map, Value};

use super::limits::{self, TaskTimeLimits};
use crate::frontmatter::{self, FrontMatterParts};

/// A valid task file.
#[derive(Debug, Clone)]
pub struct ParsedTask {
    /// The task. Its status is that of its folder, if one was given.
    pub task: Task,
    /// All fields of the front matter.
    pub fields: Map<String, Value>,
    /// The `status` field of the front matter.
    pub stated_status: Option<Status>,
    pub limits: TaskTimeLimits,
}

/// Parses a task file. `name` is the id in the file name, `folder` the status of its folder.
pub fn parse(
    text: &str,
    name: Option<&TaskId>,
    folder: Option<Status>,
) -> Result<ParsedTask, Vec<FieldProblem>> {
    let problem = |message: String| vec![FieldProblem::new("", message)];
    let parts = FrontMatterParts::split(text).map_err(|error| problem(error.to_string()))?;
    let fields = frontmatter::read(parts.yaml()).map_err(|error| problem(error.to_string()))?;
    let mut reader = TaskFieldReader { fields: &fields, problems: vec![] };
    let (task, stated) = reader.task(name, folder);
    let limits = reader.limits();
    let problems = reader.problems;
    match task {
        Some(task) if problems.is_empty() => {
            Ok(ParsedTask { task, fields, stated_status: stated, limits })
        }
        _ => Err(problems),
    }
}

struct TaskFieldReader<'a> {
    fields: &'a Map<String, Value>,
    problems: Vec<FieldProblem>,
}

impl<'a> TaskFieldReader<'a> {
    fn task(
        &mut self,
        name: Option<&TaskId>,
        folder: Option<Status>,
    ) -> (Option<Task>, Option<Status>) {
        self.schema_version();
        let id = self.id(name);
        let title = self.title();
        let stated = self.status(folder);
        let created = self.time("createdAt");
        let updated = self.time("updatedAt");
        let moved = self.time("lastTransitionAt");
        let priority = self.parse_field("priority", |text| {
            Priority::parse(text).ok_or("must be one of: critical, high, normal, low")
        });
        let lease = self.lease();
        let routing = self.routing();
        let parent = self.parse_field("parentId", TaskId::parse);
        let depends_on = self.depends_on();
        let resource = self.text("resource");
        let due_by = self.time("dueBy");
        let created_by = self.text("createdBy");
        let metadata = self.object("metadata").map(TaskMetadata::read_lenient);
        let (Some(id), Some(title)) = (id, title) else { return (None, stated) };
        let Some(status) = folder.or(stated) else { return (None, stated) };
        let created_at = created.unwrap_or_else(|| start_of_day(&id));
        let mut task = Task {
            state: state(status, lease),
            priority: priority.unwrap_or_default(),
            updated_at: updated.unwrap_or(created_at),
            last_transition_at: moved.unwrap_or(created_at),
            created_by: created_by.unwrap_or_default().into(),
            routing,
            parent,
            depends_on,
            resource: resource.map(Into::into),
            due_by,
            title: title.into(),
            ..Task::new(id, "", &Actor::System, created_at)
        };
        task.set_metadata(metadata.unwrap_or_default());
        (Some(task), stated)
    }

    fn problem(&mut self, path: &str, message: impl Into<String>) {
        self.problems.push(FieldProblem::new(path, message));
    }

    /// Returns a field; `null` counts as absent.
    fn value(&self, key: &str) -> Option<&'a Value> {
        self.fields.get(key).filter(|value| !value.is_null())
    }

    fn text(&mut self, key: &str) -> Option<&'a str> {
        let text = self.value(key)?.as_str();
        if text.is_none() {
            self.problem(key, "must be text");
        }
        text
    }

    fn parse_field<T, E: ToString>(
        &mut self,
        key: &str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Option<T> {
        let text = self.text(key)?;
        parse(text).map_err(|error| self.problem(key, error.to_string())).ok()
    }

    fn time(&mut self, key: &str) -> Option<Time> {
        self.parse_field(key, Time::parse)
    }

    fn schema_version(&mut self) {
        match self.value("schemaVersion").map(Value::as_u64) {
            None | Some(Some(1 | 2)) => {}
            Some(_) => self.problem("schemaVersion", "must be 1 or 2"),
        }
    }

    fn id(&mut self, name: Option<&TaskId>) -> Option<TaskId> {
        if self.value("id").is_none() {
            self.problem("id", "is required");
        }
        let id = self.parse_field("id", TaskId::parse)?;
        if let Some(name) = name.filter(|name| **name != id) {
            self.problem("id", format!("must be {name}, like the name of the file"));
        }
        Some(id)
    }

    fn title(&mut self) -> Option<&'a str> {
        if self.value("title").is_none() {
            self.problem("title", "is required");
        }
        let title = self.text("title")?;
        if title.trim().is_empty() {
            self.problem("title", "must not be empty");
        } else if title.chars().nth(TITLE_CHARS_MAX).is_some() {
            self.problem("title", format!("must have at most {TITLE_CHARS_MAX} characters"));
        }
        Some(title)
    }

    /// The folder decides the status, but the `status` field must still be valid.
    fn status(&mut self, folder: Option<Status>) -> Option<Status> {
        if folder.is_none() && self.value("status").is_none() {
            self.problem("status", "is required");
        }
        self.parse_field("status", |text| {
            let all = Status::ALL.map(Status::as_str).join(", ");
            Status::parse(text).ok_or_else(|| format!("must be one of: {all}"))
        })
    }

    fn object(&mut self, key: &str) -> Option<&'a Map<String, Value>> {
        let object = self.value(key)?.as_object();
        if object.is_none() {
            self.problem(key, "must be a mapping");
        }
        object
    }

    fn depends_on(&mut self) -> Vec<TaskId> {
        let items = match self.value("dependsOn") {
            None => return vec![],
            Some(Value::Array(items)) => items,
            Some(_) => {
                self.problem("dependsOn", "must be a list");
                return vec![];
            }
        };
        let ids = items.iter().enumerate().filter_map(|(i, item)| {
            let id = item.as_str().and_then(|text| TaskId::parse(text).ok());
            if id.is_none() {
                let problem = "must match TASK-YYYY-MM-DD-NNN";
                self.problems.push(FieldProblem::new(format!("dependsOn[{i}]"), problem));
            }
            id
        });
        ids.collect()
    }

    fn routing(&mut self) -> TaskRouting {
        let Some(object) = self.object("routing") else { return TaskRouting::default() };
        let mut inner = TaskFieldReader { fields: object, problems: vec![] };
        let agent = inner.parse_field("agent", AgentId::parse);
        let mode = inner.text("mode").map(Into::into);
        let role = inner.text("role").map(Into::into);
        let tags = match inner.value("tags") {
            None => vec![],
            Some(Value::Array(tags)) if tags.iter().all(Value::is_string) => {
                tags.iter().filter_map(Value::as_str).map(Into::into).collect()
            }
            Some(_) => {
                inner.problem("tags", "must be a list of texts");
                vec![]
            }
        };
        let sandbox = inner.parse_field("sandbox", |text| {
            SandboxLevel::parse(text).ok_or("must be one of: none, landlock, strict")
        });
        self.add_nested_problems("routing", inner.problems);
        TaskRouting { agent, mode, role, tags, sandbox: sandbox.unwrap_or_default() }
    }

    fn lease(&mut self) -> Option<Lease> {
        let object = self.object("lease")?;
        let mut inner = TaskFieldReader { fields: object, problems: vec![] };
        for key in ["agent", "acquiredAt", "expiresAt"] {
            if inner.value(key).is_none() {
                inner.problem(key, "is required");
            }
        }
        let agent = inner.parse_field("agent", AgentId::parse);
        let times = (inner.time("acquiredAt"), inner.time("expiresAt"));
        let count = |key: &str| inner.value(key).and_then(Value::as_u64);
        let (renewed, attempt, fence) = (count("renewCount"), count("attempt"), count("fence"));
        let nonce = inner.value("nonce").and_then(Value::as_str).and_then(RunNonce::parse);
        self.add_nested_problems("lease", inner.problems);
        let (Some(agent), (Some(acquired_at), Some(expires_at))) = (agent, times) else {
            return None;
        };
        let small = |count: Option<u64>| count.and_then(|count| u32::try_from(count).ok());
        Some(Lease {
            agent,
            acquired_at,
            expires_at,
            renew_count: small(renewed).unwrap_or(0),
            attempt: small(attempt).unwrap_or(1),
            fence: fence.unwrap_or(0),
            nonce,
        })
    }

    fn add_nested_problems(&mut self, parent: &str, problems: Vec<FieldProblem>) {
        let moved = problems.into_iter();
        self.problems.extend(moved.map(|problem| FieldProblem {
            path: format!("{parent}.{}", problem.path),
            message: problem.message,
        }));
    }

    /// An invalid limit is an error and does not count as absent: its author meant to set one.
    fn limits(&mut self) -> TaskTimeLimits {
        let metadata = self.value("metadata").and_then(Value::as_object);
        match metadata.map(limits::read).transpose() {
            Ok(limits) => limits.unwrap_or_default(),
            Err(problems) => {
                self.add_nested_problems("metadata", problems);
                TaskTimeLimits::default()
            }
        }
    }
}

fn state(status: Status, lease: Option<Lease>) -> TaskState {
    match status {
        Status::InProgress => TaskState::InProgress(lease),
        other => TaskState::entered(other),
    }
}

/// A file without any time was created on the day in its id.
fn start_of_day(id: &TaskId) -> Time {
    Time::parse(&format!("{}T00:00:00Z", id.day())).unwrap_or(Time::from_millis(0))
}
