//! Everything that waits for a person.

use std::collections::{BTreeMap, BTreeSet};

use super::dependency::cycle;
use super::purse::overdrawn;
use super::why::spent_today;
use crate::account::Parked;
use crate::fields::REASON_CHARS_MAX;
use crate::id::TaskId;
use crate::name::AgentId;
use crate::node::NodeId;
use crate::permit::choose;
use crate::pipeline::Position;
use crate::status::Status;
use crate::task::Task;
use crate::time::Time;
use crate::trials::Question;
use crate::worklog::single_line;
use crate::world::World;

/// Something that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What kind of thing.
    pub kind: Kind,
    /// The task it is about.
    pub task: TaskId,
    /// Since when; none where nobody can tell.
    pub since: Option<Time>,
    /// What it is about, in a sentence.
    pub text: String,
    /// The commands that would settle it.
    pub actions: Vec<String>,
}

/// What kind of thing waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Work to be looked at.
    Review,
    /// A question an agent asks.
    Question,
    /// Something a run wants to be allowed, while it waits.
    Permission,
    /// Something an agent cannot get by itself.
    Blocked,
    /// A task that was given up after too many attempts.
    Deadletter,
    /// A task that waits in vain for another.
    HeldBack,
    /// A report that did not count when it came: too late, or refused.
    Salvage,
    /// An agent that cannot be used until a person does something.
    Unusable,
    /// A budget that is used up.
    Budget,
    /// A file that cannot be read.
    Unreadable,
}

/// Returns everything that waits for a person: by kind, then the longest waiting first.
pub fn inbox(world: &World, now: Time) -> Vec<Item> {
    let mut items: Vec<Item> = [Status::Review, Status::Blocked, Status::Deadletter]
        .into_iter()
        .flat_map(|status| world.with_status(status))
        .map(stuck)
        .collect();
    items.extend(world.with_status(Status::Review).filter_map(asked_meanwhile));
    items.extend(world.with_status(Status::InProgress).filter_map(permission));
    items.extend(world.with_status(Status::Ready).filter_map(|task| in_vain(world, task)));
    items.extend(world.queue().agents_parked().flat_map(|agent| unusable(world, agent)));
    items.extend(world.with_status(Status::Ready).filter_map(|task| spent(world, task)));
    items.extend(spent_days(world, now));
    items.extend(world.unreadable().iter().map(unreadable));
    items.sort_by(|a, b| (a.kind, a.since, &a.task).cmp(&(b.kind, b.since, &b.task)));
    items
}

fn item(kind: Kind, task: &Task, text: String, actions: &[&str]) -> Item {
    let command = |action: &&str| action.replacen("ID", task.id.as_str(), 1);
    Item {
        kind,
        task: task.id.clone(),
        since: Some(task.last_transition_at),
        text,
        actions: actions.iter().map(command).collect(),
    }
}

fn stuck(task: &Task) -> Item {
    let title = &task.title;
    let said = task.trials.reason.as_deref();
    let because = |otherwise: &str| format!("{title}: {}", said.unwrap_or(otherwise));
    match task.status() {
        Status::Review | Status::Blocked if task.story().is_some() => asks_for_a_person(task),
        Status::Deadletter => item(
            Kind::Deadletter,
            task,
            because("given up after too many attempts"),
            &["task retry ID", "task cancel ID"],
        ),
        Status::Blocked if task.trials.blocked_by.is_some() => item(
            Kind::HeldBack,
            task,
            because("a task it depends on was given up"),
            &["task edit ID", "task cancel ID"],
        ),
        Status::Blocked if task.trials.question.is_some() => item(
            Kind::Question,
            task,
            asked(task).unwrap_or_default(),
            &["answer ID TEXT", "task cancel ID"],
        ),
        Status::Blocked => item(
            Kind::Blocked,
            task,
            because("blocked, and nobody said why"),
            &["answer ID TEXT", "task retry ID", "task cancel ID"],
        ),
        _ => {
            let by = task.reported_by.as_ref().map_or_else(String::new, |by| format!(" by {by}"));
            let said = said.map_or_else(String::new, |said| format!(": {}", brief(said)));
            let found = task.trials.work.as_ref().and_then(|work| work.evidence.as_deref());
            let found = found.map_or_else(String::new, |found| format!(" ({})", brief(found)));
            let waits = merge(task).unwrap_or_else(|| "waits for review".to_owned());
            let text = format!("{title}: reported{by}, {waits}{found}{said}");
            item(Kind::Review, task, text, &["approve ID", "reject ID --reason TEXT"])
        }
    }
}

/// A story whose step is a person's, or that does not go on without one.
fn asks_for_a_person(task: &Task) -> Item {
    let kind = if task.status() == Status::Review { Kind::Review } else { Kind::Blocked };
    let stands = task.story().map(Position::in_words).unwrap_or_default();
    let text = format!("{}: {}", task.title, brief(&stands));
    let actions = ["approve ID --note TEXT", "reject ID --reason TEXT", "task cancel ID"];
    item(kind, task, text, &actions)
}

/// Returns how far the merge of approved work is.
fn merge(task: &Task) -> Option<String> {
    Some(match &task.trials.merging()?.waits {
        Some(waits) => format!("approved, and its merge waits: {}", brief(waits)),
        None => "approved, and is being merged".to_owned(),
    })
}

/// Returns what was said of work to be looked at, in one line that is not too long: a breach fits
/// in, and the notes of an agent may be a whole page.
fn brief(said: &str) -> String {
    let line = single_line(said);
    if line.chars().nth(REASON_CHARS_MAX).is_none() {
        return line;
    }
    line.chars().take(REASON_CHARS_MAX - 1).chain(['…']).collect()
}

/// Returns what the agent of a task asks, with how it would resolve it.
fn asked(task: &Task) -> Option<String> {
    let Question { text, suggestion } = task.trials.question.as_deref()?;
    let suggested = suggestion.as_ref().map_or_else(String::new, |s| format!(" (suggested: {s})"));
    Some(format!("{}: {text}{suggested}", task.title))
}

/// Something a run wants to be allowed. The number in the commands says which question is meant:
/// what is asked by the time they are given may be another.
fn permission(task: &Task) -> Option<Item> {
    let permit = task.trials.permit.as_deref()?;
    let agent = task.lease().map_or_else(String::new, |lease| lease.agent.to_string());
    let text = format!("{}: {agent} wants to: {}", task.title, brief(&permit.text));
    let number = permit.number;
    let mut words = vec![];
    if choose(&permit.choices, true).is_some() {
        words.push("allow".to_owned());
    }
    words.push("deny".to_owned());
    let plain = |id: &str| id.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    let more = permit.choices.iter().filter(|choice| {
        let narrow = choose(&permit.choices, choice.kind.allows()).map(|narrow| &narrow.id);
        narrow != Some(&choice.id) && plain(&choice.id)
    });
    words.extend(more.map(|choice| choice.id.clone()));
    let commands = words.iter().map(|word| format!("answer ID {number}:{word}"));
    let commands: Vec<String> = commands.chain(["task cancel ID".to_owned()]).collect();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let mut item = item(Kind::Permission, task, text, &commands);
    item.since = Some(permit.since);
    Some(item)
}

/// A question beside work that waits for review: whoever looks at it has to know.
fn asked_meanwhile(task: &Task) -> Option<Item> {
    let actions = ["reject ID --reason TEXT", "approve ID"];
    Some(item(Kind::Question, task, asked(task)?, &actions))
}

/// A ready task that has no place to be worked on, or whose dependencies can never be done as things
/// are.
fn in_vain(world: &World, task: &Task) -> Option<Item> {
    let title = &task.title;
    if let Some(reason) = task.trials.reason.as_deref().filter(|_| task.trials.not_before.is_some())
    {
        let text = format!("{title}: {}", brief(reason));
        return Some(item(Kind::HeldBack, task, text, &["why ID", "task cancel ID"]));
    }
    if task.depends_on.is_empty() {
        return None;
    }
    let missing = |id: &&TaskId| world.task(id).is_none() && !world.unreadable().contains(*id);
    let text = if let Some(missing) = task.depends_on.iter().find(missing) {
        format!("{title}: waits for {missing}, which is not there")
    } else if cycle(world, &task.id) {
        format!("{title}: waits for itself, by way of others")
    } else {
        return None;
    };
    Some(item(Kind::HeldBack, task, text, &["task edit ID", "task cancel ID"]))
}

/// An agent that cannot be used, once for each node, with one of the tasks that wait for it. A limit
/// ends by itself.
fn unusable(world: &World, agent: &AgentId) -> Vec<Item> {
    let counts = |parked: &Parked| {
        let known = world.policy().agent_on(agent, parked.node.as_ref());
        parked.until.is_none() && known.is_some_and(|known| known.settings == parked.settings)
    };
    let found = world.queue().parked(agent).filter(|(_, parked)| counts(parked));
    let mut by_node: BTreeMap<Option<&NodeId>, Item> = BTreeMap::new();
    for (task, parked) in found.filter_map(|(id, parked)| Some((world.task(id)?, parked))) {
        by_node.entry(parked.node.as_ref()).or_insert_with(|| without(task, parked));
    }
    by_node.into_values().collect()
}

fn without(task: &Task, parked: &Parked) -> Item {
    let text = format!("agent {} cannot be used: {}", parked.who(), parked.reason);
    let mut item = item(Kind::Unusable, task, text, &["task cancel ID"]);
    item.actions.insert(0, format!("agents test {}", parked.agent));
    item
}

/// A ready task that has used up its budget.
fn spent(world: &World, task: &Task) -> Option<Item> {
    let used = overdrawn(world, task)?;
    let text = format!("{}: has used up its budget: {used}", task.title);
    Some(item(Kind::Budget, task, text, &["task edit ID", "task cancel ID"]))
}

/// The budgets of the day that are used up, each once, with the first task that waits for another
/// day.
fn spent_days(world: &World, now: Time) -> Vec<Item> {
    let mut told = BTreeSet::new();
    let mut first = |task: &Task| {
        let text = spent_today(world, task, now).filter(|text| told.insert(text.clone()))?;
        Some(item(Kind::Budget, task, format!("{}: {text}", task.title), &["why ID"]))
    };
    world.with_status(Status::Ready).filter_map(&mut first).collect()
}

/// Returns the item for a report that did not count when it came. Where it lies is for a store to
/// say, and what it said if that is known.
pub fn salvage(world: &World, id: &TaskId, name: &str, said: Option<&str>) -> Item {
    let title = world.task(id).map_or_else(|| id.to_string(), |task| task.title.to_string());
    let said = said.map_or_else(String::new, |said| format!(": {said}"));
    // A document of another dialect is kept as it is only if it makes no sense; one that does is
    // kept as a message.
    let (text, actions) = if name.ends_with("message.json") || name.ends_with("run_result.json") {
        let text = format!("{title}: a report did not count when it came ({name}){said}");
        (text, vec![format!("inbox apply {id} {name}")])
    } else {
        let text = format!("{title}: a report makes no sense (runs/{id}/salvage/{name}){said}");
        (text, vec![])
    };
    Item { kind: Kind::Salvage, task: id.clone(), since: None, text, actions }
}

fn unreadable(id: &TaskId) -> Item {
    Item {
        kind: Kind::Unreadable,
        task: id.clone(),
        since: None,
        text: "the file of the task cannot be read".to_owned(),
        actions: vec!["doctor".to_owned()],
    }
}

impl Kind {
    /// Returns the word `inbox` prints.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Review => "review",
            Self::Question => "question",
            Self::Permission => "permission",
            Self::Blocked => "blocked",
            Self::Deadletter => "deadletter",
            Self::HeldBack => "held_back",
            Self::Salvage => "salvage",
            Self::Unusable => "unusable",
            Self::Budget => "budget",
            Self::Unreadable => "unreadable",
        }
    }
}
