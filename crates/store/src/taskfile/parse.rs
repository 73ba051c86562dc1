//! Reads a task from a file that anybody may have written, and names everything wrong with it.

use adjutant_core::answer::Problem;
use adjutant_core::foreign::Foreign;
use adjutant_core::task::{LastRun, Lease, Review, Routing, State, TITLE_CHARS_MAX, Task};
use adjutant_core::trials::Trials;
use adjutant_core::{AgentId, Priority, Status, TaskId, Time};
use serde_json::{Map, Value};

use super::limits::{self, Limits};
use super::trials;
use crate::frontmatter::{self, Parts};

/// A task file that is in order.
#[derive(Debug, Clone)]
pub struct Parsed {
    /// The task; its status is that of the folder it lies in, if one was given.
    pub task: Task,
    /// What the front matter says, all of it.
    pub fields: Map<String, Value>,
    /// What `status` in the front matter says.
    pub said: Option<Status>,
    /// How long its runs may take, where it says so.
    pub limits: Limits,
}

/// Reads a task file. `name` is the id its file name gives, `folder` the status its folder gives.
pub fn parse(
    text: &str,
    name: Option<&TaskId>,
    folder: Option<Status>,
) -> Result<Parsed, Vec<Problem>> {
    let problem = |message: String| vec![Problem::new("", message)];
    let parts = Parts::split(text).map_err(|error| problem(error.to_string()))?;
    let fields = frontmatter::read(parts.yaml()).map_err(|error| problem(error.to_string()))?;
    let mut reader = Reader { fields: &fields, problems: vec![] };
    let (task, said) = reader.task(name, folder);
    let limits = reader.limits();
    let problems = reader.problems;
    match task {
        Some(task) if problems.is_empty() => Ok(Parsed { task, fields, said, limits }),
        _ => Err(problems),
    }
}

struct Reader<'a> {
    fields: &'a Map<String, Value>,
    problems: Vec<Problem>,
}

impl<'a> Reader<'a> {
    fn task(
        &mut self,
        name: Option<&TaskId>,
        folder: Option<Status>,
    ) -> (Option<Task>, Option<Status>) {
        self.schema_version();
        let id = self.id(name);
        let title = self.title();
        let said = self.status(folder);
        let created = self.time("createdAt");
        let updated = self.time("updatedAt");
        let moved = self.time("lastTransitionAt");
        let priority = self.parsed("priority", |text| {
            Priority::parse(text).ok_or("must be one of: critical, high, normal, low")
        });
        let lease = self.lease();
        let routing = self.routing();
        let parent = self.parsed("parentId", TaskId::parse);
        let depends_on = self.depends_on();
        let resource = self.text("resource");
        let due_by = self.time("dueBy");
        let created_by = self.text("createdBy");
        let metadata = self.metadata();
        let (Some(id), Some(title)) = (id, title) else { return (None, said) };
        let Some(status) = folder.or(said) else { return (None, said) };
        let created_at = created.unwrap_or_else(|| start_of_day(&id));
        let task = Task {
            id,
            title: title.into(),
            state: state(status, lease),
            priority: priority.unwrap_or_default(),
            created_at,
            updated_at: updated.unwrap_or(created_at),
            last_transition_at: moved.unwrap_or(created_at),
            created_by: created_by.unwrap_or_default().into(),
            routing,
            parent,
            depends_on,
            resource: resource.map(Into::into),
            due_by,
            review: metadata.review,
            depth: metadata.depth,
            last_run: metadata.last_run,
            reported_by: metadata.reported_by,
            reported_fence: metadata.reported_fence,
            feedback: metadata.feedback,
            trials: metadata.trials,
            foreign: metadata.foreign,
        };
        (Some(task), said)
    }

    fn problem(&mut self, path: &str, message: impl Into<String>) {
        self.problems.push(Problem::new(path, message));
    }

    /// Returns a field that says something; null says nothing.
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

    fn parsed<T, E: ToString>(
        &mut self,
        key: &str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Option<T> {
        let text = self.text(key)?;
        parse(text).map_err(|error| self.problem(key, error.to_string())).ok()
    }

    fn time(&mut self, key: &str) -> Option<Time> {
        self.parsed(key, Time::parse)
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
        let id = self.parsed("id", TaskId::parse)?;
        if let Some(name) = name.filter(|name| **name != id) {
            self.problem("id", format!("must be {name}, as the file is called"));
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

    /// The folder decides; what the front matter says must still be a status.
    fn status(&mut self, folder: Option<Status>) -> Option<Status> {
        if folder.is_none() && self.value("status").is_none() {
            self.problem("status", "is required");
        }
        self.parsed("status", |text| {
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
                self.problems.push(Problem::new(format!("dependsOn[{i}]"), problem));
            }
            id
        });
        ids.collect()
    }

    fn routing(&mut self) -> Routing {
        let Some(object) = self.object("routing") else { return Routing::default() };
        let mut inner = Reader { fields: object, problems: vec![] };
        let agent = inner.parsed("agent", AgentId::parse);
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
        self.take_over("routing", inner.problems);
        Routing { agent, mode, role, tags }
    }

    fn lease(&mut self) -> Option<Lease> {
        let object = self.object("lease")?;
        let mut inner = Reader { fields: object, problems: vec![] };
        for key in ["agent", "acquiredAt", "expiresAt"] {
            if inner.value(key).is_none() {
                inner.problem(key, "is required");
            }
        }
        let agent = inner.parsed("agent", AgentId::parse);
        let times = (inner.time("acquiredAt"), inner.time("expiresAt"));
        let count = |key: &str| inner.value(key).and_then(Value::as_u64);
        let (renewed, attempt, fence) = (count("renewCount"), count("attempt"), count("fence"));
        self.take_over("lease", inner.problems);
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
        })
    }

    fn take_over(&mut self, parent: &str, problems: Vec<Problem>) {
        let moved = problems.into_iter();
        self.problems.extend(moved.map(|problem| Problem {
            path: format!("{parent}.{}", problem.path),
            message: problem.message,
        }));
    }

    /// Who says how long a run may take means it: what makes no sense is not passed over.
    fn limits(&mut self) -> Limits {
        let metadata = self.value("metadata").and_then(Value::as_object);
        match metadata.map(limits::read).transpose() {
            Ok(limits) => limits.unwrap_or_default(),
            Err(problems) => {
                self.take_over("metadata", problems);
                Limits::default()
            }
        }
    }

    /// Metadata belongs to everybody: what is not as we would write it counts as absent.
    fn metadata(&mut self) -> Metadata {
        let Some(object) = self.object("metadata") else { return Metadata::default() };
        let text = |key: &str| object.get(key).and_then(Value::as_str);
        let depth = object.get("delegationDepth").and_then(Value::as_u64);
        Metadata {
            review: match object.get("reviewRequired") {
                Some(Value::Bool(false)) => Review::NotNeeded,
                _ => Review::Required,
            },
            depth: depth.map_or(0, |depth| u32::try_from(depth).unwrap_or(u32::MAX)),
            last_run: object.get("lastRun").and_then(last_run),
            reported_by: text("reportedBy").and_then(|text| AgentId::parse(text).ok()),
            reported_fence: object.get("reportedFence").and_then(Value::as_u64),
            feedback: text("feedback").map(Into::into),
            trials: trials::read(object),
            foreign: foreign(object).map(Box::new),
        }
    }
}

#[derive(Default)]
struct Metadata {
    review: Review,
    depth: u32,
    last_run: Option<LastRun>,
    reported_by: Option<AgentId>,
    reported_fence: Option<u64>,
    feedback: Option<Box<str>>,
    trials: Trials,
    foreign: Option<Box<Foreign>>,
}

fn foreign(metadata: &Map<String, Value>) -> Option<Foreign> {
    let [mission, delegation, story] =
        ["mission", "delegation", "story"].map(|key| metadata.get(key));
    Foreign::read(mission, delegation, story)
}

fn last_run(value: &Value) -> Option<LastRun> {
    Some(LastRun {
        agent: AgentId::parse(value.get("agent")?.as_str()?).ok()?,
        attempt: u32::try_from(value.get("attempt")?.as_u64()?).ok()?,
        fence: value.get("fence")?.as_u64()?,
    })
}

fn state(status: Status, lease: Option<Lease>) -> State {
    match status {
        Status::InProgress => State::InProgress(lease),
        other => State::entered(other),
    }
}

/// A file without any time is as old as its id says.
fn start_of_day(id: &TaskId) -> Time {
    Time::parse(&format!("{}T00:00:00Z", id.day())).unwrap_or(Time::from_millis(0))
}
