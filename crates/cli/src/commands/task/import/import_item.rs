//! One task of an imported file, as named texts, and how it becomes a task.

use std::collections::BTreeMap;
use std::fmt;

use adjutant_model::command::{ImportedTask, InitialStatus, NewTask};
use adjutant_model::review::ReviewPolicy;
use adjutant_model::{AgentId, Priority, TaskId};

use super::super::{dollars, priority, time_limit};
use crate::output::error::CommandFailure;
use crate::time_argument;

/// A task as the file describes it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ImportItem {
    /// The line of the file, from 1.
    pub(super) line: u32,
    /// The fields by their names in the file, each with one or more texts.
    pub(super) fields: Vec<(String, Vec<String>)>,
    /// The item that this one is a part of, by its place in the list.
    pub(super) parent: Option<usize>,
    /// The items that must be done first.
    pub(super) depends_on: Vec<usize>,
}

/// A problem in a file, and the line where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineProblem {
    line: Option<u32>,
    message: String,
}

/// What is set for tasks for which the file says nothing.
pub(super) struct ItemDefaults {
    pub(super) start: InitialStatus,
    pub(super) agent: Option<AgentId>,
    pub(super) tags: Vec<String>,
}

/// Finds the existing task that a text names.
pub(super) type FindTask<'a> = &'a dyn Fn(&str) -> Result<Option<TaskId>, CommandFailure>;

/// The fields that a file may have, as errors list them.
const FIELDS: &str = "title, key, body, priority, agent, mode, role, tags, depends_on, parent, \
                      resource, due, review, status, checks, budget_usd, budget_tokens, timeout, \
                      idle_timeout";

impl LineProblem {
    pub(super) fn new(line: u32, message: impl Into<String>) -> Self {
        Self { line: Some(line), message: message.into() }
    }

    pub(super) fn of_file(message: impl Into<String>) -> Self {
        Self { line: None, message: message.into() }
    }
}

impl fmt::Display for LineProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// Turns items into tasks, or names everything that is wrong.
pub(super) fn to_imported_tasks(
    items: Vec<ImportItem>,
    defaults: &ItemDefaults,
    find: FindTask<'_>,
) -> Result<Vec<ImportedTask>, Vec<LineProblem>> {
    let mut reader = ItemReader { keys: BTreeMap::new(), defaults, find, problems: vec![] };
    for (place, item) in items.iter().enumerate() {
        reader.note_key(place, item);
    }
    let tasks: Vec<ImportedTask> = items.into_iter().map(|item| reader.read(item)).collect();
    if reader.problems.is_empty() { Ok(tasks) } else { Err(reader.problems) }
}

struct ItemReader<'a> {
    /// The places of the items that have a key.
    keys: BTreeMap<String, usize>,
    defaults: &'a ItemDefaults,
    find: FindTask<'a>,
    problems: Vec<LineProblem>,
}

/// A task that a link of the file names.
enum LinkTarget {
    Item(usize),
    Existing(TaskId),
}

impl ItemReader<'_> {
    fn note_key(&mut self, place: usize, item: &ImportItem) {
        let fields = item.fields.iter().filter(|(name, _)| plain_name(name) == "key");
        for key in fields.flat_map(|(_, texts)| texts) {
            if self.keys.insert(key.clone(), place).is_some() {
                let message = format!("key: another task has the key {key:?}");
                self.problems.push(LineProblem::new(item.line, message));
            }
        }
    }

    fn read(&mut self, item: ImportItem) -> ImportedTask {
        let mut task = NewTask { start: self.defaults.start, ..NewTask::default() };
        task.routing.agent.clone_from(&self.defaults.agent);
        let to_place = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
        let mut imported = ImportedTask {
            line: item.line,
            task,
            parent: item.parent.map(to_place),
            depends_on: item.depends_on.into_iter().map(to_place).collect(),
        };
        for (name, texts) in item.fields {
            if let Err(message) = self.set_field(&mut imported, &name, texts) {
                self.problems.push(LineProblem::new(item.line, format!("{name}: {message}")));
            }
        }
        if imported.task.title.trim().is_empty() {
            self.problems.push(LineProblem::new(item.line, "title: must not be empty"));
        }
        let tags = &mut imported.task.routing.tags;
        for tag in &self.defaults.tags {
            if !tags.iter().any(|own| **own == **tag) {
                tags.push(tag.as_str().into());
            }
        }
        imported
    }

    fn set_field(
        &self,
        imported: &mut ImportedTask,
        name: &str,
        texts: Vec<String>,
    ) -> Result<(), String> {
        let one = || match &texts[..] {
            [one] => Ok(one.as_str()),
            _ => Err("must be one value".to_owned()),
        };
        let task = &mut imported.task;
        match &*plain_name(name) {
            "key" => {}
            "title" => task.title = one()?.to_owned(),
            "body" => task.body = one()?.to_owned(),
            "priority" => task.priority = parse_priority(one()?)?,
            "agent" => task.routing.agent = Some(super::super::agent(one()?)?),
            "mode" => task.routing.mode = Some(one()?.into()),
            "role" => task.routing.role = Some(one()?.into()),
            "tags" | "tag" => task.routing.tags = texts.into_iter().map(Into::into).collect(),
            "resource" => task.resource = Some(one()?.to_owned()),
            "due" | "dueby" => task.due_by = Some(time_argument::deadline(one()?)?),
            "review" | "reviewrequired" => task.review = parse_review(one()?)?,
            "status" => task.start = parse_start(one()?)?,
            "checks" | "check" => task.checks = texts,
            "budgetusd" => task.budget.cost = Some(dollars(one()?)?),
            "budgettokens" => {
                let tokens = one()?.parse::<u64>();
                let wrong = "must be a whole number of tokens";
                task.budget.tokens = Some(tokens.map_err(|_| wrong.to_owned())?);
            }
            "timeout" => task.limits.timeout = Some(time_limit(one()?)?),
            "idletimeout" => task.limits.idle_timeout = Some(time_limit(one()?)?),
            "dependson" => {
                for text in &texts {
                    match self.find_link(text)? {
                        LinkTarget::Item(place) => {
                            imported.depends_on.push(u32::try_from(place).unwrap_or(u32::MAX));
                        }
                        LinkTarget::Existing(id) => task.depends_on.push(id),
                    }
                }
            }
            "parent" | "parentid" => match self.find_link(one()?)? {
                LinkTarget::Item(place) => imported.parent = u32::try_from(place).ok(),
                LinkTarget::Existing(id) => task.parent = Some(id),
            },
            _ => return Err(format!("there is no such field; there are {FIELDS}")),
        }
        Ok(())
    }

    fn find_link(&self, text: &str) -> Result<LinkTarget, String> {
        if let Some(place) = self.keys.get(text) {
            return Ok(LinkTarget::Item(*place));
        }
        match (self.find)(text) {
            Ok(Some(id)) => Ok(LinkTarget::Existing(id)),
            Ok(None) => Err(format!("{text:?} is neither a key of the file nor a task")),
            Err(failure) => Err(failure.message_with_causes()),
        }
    }
}

/// Returns a name without case, spaces and separators: `Depends on`, `depends_on` and `dependsOn`
/// are one field.
fn plain_name(name: &str) -> String {
    let kept = name.chars().filter(|c| !matches!(c, ' ' | '_' | '-'));
    kept.flat_map(char::to_lowercase).collect()
}

fn parse_priority(text: &str) -> Result<Priority, String> {
    priority(&text.to_lowercase())
}

fn parse_review(text: &str) -> Result<ReviewPolicy, String> {
    match text {
        "required" | "true" | "yes" => Ok(ReviewPolicy::Required),
        "none" | "false" | "no" => Ok(ReviewPolicy::NotNeeded),
        _ => Err("must be required or none".to_owned()),
    }
}

fn parse_start(text: &str) -> Result<InitialStatus, String> {
    match text {
        "backlog" => Ok(InitialStatus::Backlog),
        "ready" => Ok(InitialStatus::Ready),
        _ => Err("must be backlog or ready".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(line: u32, fields: &[(&str, &[&str])]) -> ImportItem {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let fields = fields.iter().map(|(name, values)| ((*name).to_owned(), texts(values)));
        ImportItem { line, fields: fields.collect(), ..ImportItem::default() }
    }

    fn read(items: Vec<ImportItem>) -> Result<Vec<ImportedTask>, Vec<String>> {
        let defaults =
            ItemDefaults { start: InitialStatus::Ready, agent: None, tags: vec!["plan".into()] };
        let known = TaskId::parse("TASK-2026-02-09-057").expect("an id");
        let find = |text: &str| Ok((text == "057").then(|| known.clone()));
        let read = to_imported_tasks(items, &defaults, &find);
        read.map_err(|problems| problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn item_links_to_keys_and_to_existing_tasks() {
        let first = item(2, &[("key", &["a"]), ("Title", &["One"]), ("depends on", &["b", "057"])]);
        let second = item(3, &[("key", &["b"]), ("title", &["Two"]), ("parentId", &["a"])]);
        let tasks = read(vec![first, second]).expect("it is good");
        assert_eq!((&tasks[0].depends_on, tasks[0].task.depends_on.len()), (&vec![1], 1));
        assert_eq!((tasks[1].parent, &*tasks[1].task.routing.tags[0]), (Some(0), "plan"));
        assert_eq!(tasks[1].task.start, InitialStatus::Ready);
    }

    #[test]
    fn item_problems_name_line_and_field() {
        let problems = read(vec![
            item(2, &[("title", &[" "]), ("priority", &["urgent"])]),
            item(3, &[("title", &["Two"]), ("depends_on", &["nothing"]), ("colour", &["red"])]),
            item(4, &[("title", &["Three"]), ("key", &["a"])]),
            item(5, &[("title", &["Four"]), ("key", &["a"]), ("status", &["done"])]),
        ]);
        assert_eq!(
            problems.expect_err("it is wrong"),
            [
                "line 5: key: another task has the key \"a\"",
                "line 2: priority: must be one of: critical, high, normal, low",
                "line 2: title: must not be empty",
                "line 3: depends_on: \"nothing\" is neither a key of the file nor a task",
                &format!("line 3: colour: there is no such field; there are {FIELDS}"),
                "line 5: status: must be backlog or ready",
            ]
        );
    }
}
