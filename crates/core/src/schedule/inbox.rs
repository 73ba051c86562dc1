//! The inbox: everything that needs a person.

use std::collections::{BTreeMap, BTreeSet};

use adjutant_model::actor::AgentId;
use adjutant_model::merge_mode::MergeMode;
use adjutant_model::node_id::NodeId;
use adjutant_model::permission::choose;
use adjutant_model::run_history::AgentQuestion;
use adjutant_model::status::Status;
use adjutant_model::story::{StoryId, StoryPosition};
use adjutant_model::task::Task;
use adjutant_model::task_id::TaskId;
use adjutant_model::time::Time;
use adjutant_model::usage::{ParkedAgent, RefusedHost};

use super::agent_availability::exceeded_budget;
use super::hold_reasons::{
    daily_budget_hold, refused_merge_text, routing_warning, shorten_line, unaccepted_checks_text,
};
use crate::world::World;
use crate::world::dependency::is_in_cycle;
use crate::world::file_fault::FileFault;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttentionItem {
    pub kind: AttentionKind,
    pub task: TaskId,
    /// `None` where the time is not known.
    pub since: Option<Time>,
    pub text: String,
    /// What would settle the item.
    pub actions: Vec<InboxAction>,
}

/// What a person can do about an inbox item. An action is about the task of the item unless it
/// names something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InboxAction {
    Approve,
    /// Approves, with a note for the next executor.
    ApproveWithNote,
    /// Approves work that changes these protected files.
    ApproveProtected {
        files: Vec<Box<str>>,
    },
    /// Accepts the checks in the file of the task. They are part of it, because the file may change
    /// before a person accepts them.
    AcceptChecks {
        checks: Option<Vec<String>>,
    },
    Reject,
    /// Answers the question, or removes the blocker.
    Answer,
    /// Grants a permission. The number of the request is part of it, because the run may ask
    /// something else before a person answers.
    Allow {
        request: u32,
    },
    Deny {
        request: u32,
    },
    /// Answers a permission request with one of the agent's own choices.
    Choose {
        request: u32,
        choice: String,
    },
    Retry,
    Cancel,
    Edit,
    /// Shows the changes of the work.
    ShowDiff,
    /// Shows why the task does not run.
    Explain,
    /// Applies a report that did not count when it arrived.
    ApplySalvage {
        name: String,
    },
    TestAgent {
        agent: AgentId,
    },
    /// Adds a host to the list of an agent.
    AllowHost {
        agent: AgentId,
        host: Box<str>,
    },
    /// Looks for the damage in the data folder.
    Diagnose,
    /// Accepts the configuration as it is now.
    AcceptConfig,
    ApproveStory {
        story: StoryId,
    },
    RejectStory {
        story: StoryId,
    },
}

/// The kinds of inbox items, in the order of the inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AttentionKind {
    /// A permission request of a run that waits for the answer.
    Permission,
    Question,
    /// The agent needs something that it cannot get by itself.
    Blocked,
    /// Checks in the file of a task that no command of the operator wrote.
    Checks,
    /// A run was refused a host that is not on its agent's list.
    Network,
    /// An agent that cannot be used until a person repairs it.
    Unusable,
    /// A used-up budget of a task or of the day.
    Budget,
    /// Work that was approved and could not be merged.
    Merge,
    Deadletter,
    /// A task file that cannot be read.
    Unreadable,
    /// A task whose files cannot be changed.
    OnHold,
    /// A task that cannot start: its dependencies can never be done, or no place can run it.
    HeldBack,
    /// A report that did not count when it arrived: too late, or refused.
    Salvage,
    /// Work to approve or reject.
    Review,
}

/// Returns whether approving a task merges its work.
pub fn approval_merges(world: &World, task: &Task) -> bool {
    task.status() == Status::Review
        && task.last_run.is_some()
        && world.policy().merge_of(task) != MergeMode::None
}

/// Returns the inbox item of the permission request, question or blocker that a task waits with.
pub fn pending_question(task: &Task) -> Option<AttentionItem> {
    match task.status() {
        Status::InProgress => permission_item(task),
        Status::Review => review_question_item(task),
        Status::Blocked if task.story().is_none() && task.history.blocked_by.is_none() => {
            Some(blocked_item(task))
        }
        Status::Backlog
        | Status::Ready
        | Status::Blocked
        | Status::Done
        | Status::Cancelled
        | Status::Deadletter => None,
    }
}

/// Returns everything that needs a person: first what blocks agents, then conflicts and failures,
/// then reviews. Within a kind, the longest waiting comes first.
pub fn inbox(world: &World, now: Time) -> Vec<AttentionItem> {
    let mut items: Vec<AttentionItem> = [Status::Review, Status::Blocked, Status::Deadletter]
        .into_iter()
        .flat_map(|status| world.with_status(status))
        .map(|task| status_item(world, task))
        .collect();
    items.extend(world.with_status(Status::Review).filter_map(review_question_item));
    items.extend(world.with_status(Status::InProgress).filter_map(permission_item));
    let unclosed = [Status::Backlog, Status::Ready, Status::InProgress, Status::Review];
    let unclosed = unclosed.into_iter().flat_map(|status| world.with_status(status));
    items.extend(unclosed.filter_map(checks_item));
    items.extend(world.with_status(Status::Ready).filter_map(refused_merge_item));
    items.extend(world.with_status(Status::Ready).filter_map(|task| held_back_item(world, task)));
    items.extend(world.with_status(Status::Backlog).filter_map(|task| routing_item(world, task)));
    items
        .extend(world.queue().parked_agents().flat_map(|agent| unusable_agent_items(world, agent)));
    items.extend(missing_program_items(world));
    items.extend(world.with_status(Status::Ready).filter_map(|task| task_budget_item(world, task)));
    items.extend(daily_budget_items(world, now));
    let stopped = [Status::Ready, Status::Blocked, Status::Review, Status::Deadletter];
    let stopped = stopped.into_iter().flat_map(|status| world.with_status(status));
    items.extend(stopped.filter_map(refused_hosts_item));
    items.extend(world.unreadable().iter().map(unreadable_item));
    items.extend(world.file_faults().iter().map(|(id, fault)| file_fault_item(world, id, fault)));
    items.sort_by(|a, b| (a.kind, a.since, &a.task).cmp(&(b.kind, b.since, &b.task)));
    items
}

fn item(
    kind: AttentionKind,
    task: &Task,
    text: String,
    actions: impl Into<Vec<InboxAction>>,
) -> AttentionItem {
    AttentionItem {
        kind,
        task: task.id.clone(),
        since: Some(task.last_transition_at),
        text,
        actions: actions.into(),
    }
}

fn status_item(world: &World, task: &Task) -> AttentionItem {
    let title = &task.title;
    let reason = task.history.reason.as_deref();
    let because = |otherwise: &str| format!("{title}: {}", reason.unwrap_or(otherwise));
    match task.status() {
        Status::Review | Status::Blocked if task.story().is_some() => story_item(task),
        Status::Deadletter => item(
            AttentionKind::Deadletter,
            task,
            because("too many failed attempts"),
            [InboxAction::Retry, InboxAction::Cancel],
        ),
        Status::Blocked if task.history.blocked_by.is_some() => item(
            AttentionKind::HeldBack,
            task,
            because("a task it depends on will not be done"),
            [InboxAction::Edit, InboxAction::Cancel],
        ),
        Status::Blocked => blocked_item(task),
        _ => {
            let by = task.reported_by.as_ref().map_or_else(String::new, |by| format!(" by {by}"));
            let reason =
                reason.map_or_else(String::new, |reason| format!(": {}", shorten_line(reason)));
            let found = task.history.work.as_ref().and_then(|work| work.evidence.as_deref());
            let found =
                found.map_or_else(String::new, |found| format!(" ({})", shorten_line(found)));
            let waits = merge_state(task).unwrap_or_else(|| "waits for review".to_owned());
            let protected = protected_text(task);
            let text = format!("{title}: reported{by}, {waits}{protected}{found}{reason}");
            let mut actions = match task.history.unsettled() {
                Some(_) => vec![InboxAction::Reject, InboxAction::Cancel],
                None => vec![approve_action(task), InboxAction::Reject],
            };
            actions.extend(world.policy().is_on_branch(task).then_some(InboxAction::ShowDiff));
            item(AttentionKind::Review, task, text, actions)
        }
    }
}

/// Returns the action that approves a task: work that changes protected paths needs consent to it.
fn approve_action(task: &Task) -> InboxAction {
    match task.history.protected_files() {
        [] => InboxAction::Approve,
        files => InboxAction::ApproveProtected { files: files.to_vec() },
    }
}

fn protected_text(task: &Task) -> String {
    match task.history.protected_files() {
        [] => String::new(),
        files => format!("; it changes protected paths: {}", shorten_line(&files.join(", "))),
    }
}

/// Returns the item of checks that no command of the operator wrote.
fn checks_item(task: &Task) -> Option<AttentionItem> {
    let text = format!("{}: {}", task.title, unaccepted_checks_text(task)?);
    let checks = task.history.checks.as_deref();
    let checks = checks.map(|checks| checks.iter().map(ToString::to_string).collect());
    let accept = InboxAction::AcceptChecks { checks };
    let actions = [accept, InboxAction::Edit, InboxAction::Cancel];
    Some(item(AttentionKind::Checks, task, text, actions))
}

/// Returns the item of a story whose step is for a person, or that cannot continue without one.
fn story_item(task: &Task) -> AttentionItem {
    let kind = if task.status() == Status::Review {
        AttentionKind::Review
    } else {
        AttentionKind::Blocked
    };
    let stands = task.story().map(StoryPosition::in_words).unwrap_or_default();
    let text = format!("{}: {}", task.title, shorten_line(&stands));
    let actions = [InboxAction::ApproveWithNote, InboxAction::Reject, InboxAction::Cancel];
    item(kind, task, text, actions)
}

/// Returns the state of the merge of finished work.
fn merge_state(task: &Task) -> Option<String> {
    let Some(merging) = task.history.merging() else { return refused_merge_text(task) };
    Some(match &merging.waits {
        Some(waits) => format!("approved, but cannot be merged yet: {}", shorten_line(waits)),
        None => "approved, being merged".to_owned(),
    })
}

/// Returns the item of an approved change that went back because it could not be merged.
fn refused_merge_item(task: &Task) -> Option<AttentionItem> {
    let text = format!("{}: {}", task.title, refused_merge_text(task)?);
    let actions = [InboxAction::ShowDiff, InboxAction::Explain, InboxAction::Cancel];
    Some(item(AttentionKind::Merge, task, text, actions))
}

/// Returns the hosts that the last run of a task was refused. The next run starts a new list.
fn refused_hosts_item(task: &Task) -> Option<AttentionItem> {
    let refused = &task.history.account()?.refused_hosts;
    let hosts: Vec<&str> = refused.iter().map(|refused| &*refused.host).collect();
    let agent = &refused.first()?.agent;
    let text = format!("{}: {agent} may not connect to {}", task.title, hosts.join(", "));
    let allow = |refused: &RefusedHost| InboxAction::AllowHost {
        agent: refused.agent.clone(),
        host: refused.host.clone(),
    };
    let actions: Vec<InboxAction> = refused.iter().map(allow).collect();
    Some(item(AttentionKind::Network, task, text, actions))
}

/// Returns the item of a question that an agent ended its run with, or of what blocks it.
fn blocked_item(task: &Task) -> AttentionItem {
    if let Some(question) = question_text(task) {
        let actions = [InboxAction::Answer, InboxAction::Cancel];
        return item(AttentionKind::Question, task, question, actions);
    }
    let reason = task.history.reason.as_deref().unwrap_or("blocked without a reason");
    let actions = [InboxAction::Answer, InboxAction::Retry, InboxAction::Cancel];
    item(AttentionKind::Blocked, task, format!("{}: {reason}", task.title), actions)
}

/// Returns the agent's question, with the answer it suggests.
fn question_text(task: &Task) -> Option<String> {
    let AgentQuestion { text, suggestion } = task.history.question.as_deref()?;
    let suggested = suggestion.as_ref().map_or_else(String::new, |s| format!(" (suggested: {s})"));
    Some(format!("{}: {text}{suggested}", task.title))
}

/// Returns the item of a pending permission request.
fn permission_item(task: &Task) -> Option<AttentionItem> {
    let permit = task.history.permit.as_deref()?;
    let agent = task.lease().map_or_else(String::new, |lease| lease.agent.to_string());
    let text =
        format!("{}: {agent} asks for permission: {}", task.title, shorten_line(&permit.text));
    let request = permit.number;
    let mut actions = vec![];
    if choose(&permit.choices, true).is_some() {
        actions.push(InboxAction::Allow { request });
    }
    actions.push(InboxAction::Deny { request });
    let plain = |id: &str| id.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    let more = permit.choices.iter().filter(|choice| {
        let narrow = choose(&permit.choices, choice.kind.allows()).map(|narrow| &narrow.id);
        narrow != Some(&choice.id) && plain(&choice.id)
    });
    actions.extend(more.map(|choice| InboxAction::Choose { request, choice: choice.id.clone() }));
    actions.push(InboxAction::Cancel);
    let mut item = item(AttentionKind::Permission, task, text, actions);
    item.since = Some(permit.since);
    Some(item)
}

/// Returns the item of a question that came with work in review: the reviewer needs to know it.
fn review_question_item(task: &Task) -> Option<AttentionItem> {
    let actions = [InboxAction::Reject, approve_action(task)];
    Some(item(AttentionKind::Question, task, question_text(task)?, &actions))
}

/// Returns the item of a ready task that no place can run, or whose dependencies can never be done.
fn held_back_item(world: &World, task: &Task) -> Option<AttentionItem> {
    let title = &task.title;
    if let Some(reason) =
        task.history.reason.as_deref().filter(|_| task.history.not_before.is_some())
    {
        let text = format!("{title}: {}", shorten_line(reason));
        return Some(item(
            AttentionKind::HeldBack,
            task,
            text,
            [InboxAction::Explain, InboxAction::Cancel],
        ));
    }
    if let Some(item) = routing_item(world, task) {
        return Some(item);
    }
    if task.depends_on.is_empty() {
        return None;
    }
    let missing = |id: &&TaskId| world.task(id).is_none() && !world.unreadable().contains(*id);
    let text = if let Some(missing) = task.depends_on.iter().find(missing) {
        format!("{title}: depends on {missing}, which does not exist")
    } else if is_in_cycle(world, &task.id) {
        format!("{title}: depends on itself, directly or through other tasks")
    } else {
        return None;
    };
    Some(item(AttentionKind::HeldBack, task, text, [InboxAction::Edit, InboxAction::Cancel]))
}

/// Returns an item for a task whose routing no configured agent satisfies. It is worth telling before
/// the task is ready: a misspelt name is easier to correct right after it was typed.
fn routing_item(world: &World, task: &Task) -> Option<AttentionItem> {
    let unmet = routing_warning(world, &task.routing).filter(|_| wants_agent(task))?;
    let text = format!("{}: {unmet}", task.title);
    Some(item(AttentionKind::HeldBack, task, text, [InboxAction::Edit, InboxAction::Cancel]))
}

/// Returns whether a task waits for an agent: the steps of a story may be done by hand.
fn wants_agent(task: &Task) -> bool {
    task.story().is_none_or(|position| position.auto)
}

/// Returns one item for each node on which an agent cannot be used, with one of the tasks that wait
/// for it. Usage limits are left out, because they end by themselves.
fn unusable_agent_items(world: &World, agent: &AgentId) -> Vec<AttentionItem> {
    let counts = |parked: &ParkedAgent| {
        let known = world.policy().agent_on(agent, parked.node.as_ref());
        parked.until.is_none() && known.is_some_and(|known| known.settings == parked.settings)
    };
    let found = world.queue().parkings_of(agent).filter(|(_, parked)| counts(parked));
    let mut by_node: BTreeMap<Option<&NodeId>, AttentionItem> = BTreeMap::new();
    for (task, parked) in found.filter_map(|(id, parked)| Some((world.task(id)?, parked))) {
        by_node.entry(parked.node.as_ref()).or_insert_with(|| unusable_agent_item(task, parked));
    }
    by_node.into_values().collect()
}

fn unusable_agent_item(task: &Task, parked: &ParkedAgent) -> AttentionItem {
    let text = format!("agent {} cannot be used: {}", parked.who(), parked.reason);
    let try_agent = InboxAction::TestAgent { agent: parked.agent.clone() };
    item(AttentionKind::Unusable, task, text, [try_agent, InboxAction::Cancel])
}

/// Returns one item for each agent whose program cannot be started, with the first ready task that
/// is for it. An agent that no task is for needs no person yet.
fn missing_program_items(world: &World) -> Vec<AttentionItem> {
    let mut problems: Vec<(&AgentId, Option<&NodeId>, &str)> = vec![];
    let here = world.policy().agents.iter().filter(|_| world.policy().nodes.is_empty());
    let here = here.map(|(name, agent)| (name, None, agent));
    let nodes = world.policy().nodes.iter();
    let there =
        nodes.flat_map(|(node, at)| at.agents.iter().map(move |(name, it)| (name, Some(node), it)));
    for (name, node, agent) in here.chain(there) {
        problems.extend(agent.program_problem.as_deref().map(|problem| (name, node, problem)));
    }
    problems
        .into_iter()
        .filter_map(|(name, node, problem)| {
            let fits = |task: &&Task| {
                world.policy().agents_for(&task.routing).any(|(agent, _)| agent == name)
            };
            let task = world.with_status(Status::Ready).find(fits)?;
            let place = node.map(|node| format!(" on {node}")).unwrap_or_default();
            let text = format!("agent {name}{place} cannot be started: {problem}");
            let try_agent = InboxAction::TestAgent { agent: name.clone() };
            Some(item(AttentionKind::Unusable, task, text, [try_agent, InboxAction::Explain]))
        })
        .collect()
}

/// Returns the item of a ready task that has used up its budget.
fn task_budget_item(world: &World, task: &Task) -> Option<AttentionItem> {
    let used = exceeded_budget(world, task)?;
    let text = format!("{}: has used up its budget: {used}", task.title);
    Some(item(AttentionKind::Budget, task, text, [InboxAction::Edit, InboxAction::Cancel]))
}

/// Returns one item for each used-up budget of the day, with the first task that it holds back.
fn daily_budget_items(world: &World, now: Time) -> Vec<AttentionItem> {
    let mut listed = BTreeSet::new();
    let mut first = |task: &Task| {
        let text =
            daily_budget_hold(world, task, now).filter(|text| listed.insert(text.clone()))?;
        Some(item(
            AttentionKind::Budget,
            task,
            format!("{}: {text}", task.title),
            [InboxAction::Explain],
        ))
    };
    world.with_status(Status::Ready).filter_map(&mut first).collect()
}

/// Returns the item of a report that did not count when it arrived. `name` is the file in the
/// salvage folder, which only a store can list; `summary` is the content, if known.
pub fn salvage_item(
    world: &World,
    id: &TaskId,
    name: &str,
    summary: Option<&str>,
) -> AttentionItem {
    let title = world.task(id).map_or_else(|| id.to_string(), |task| task.title.to_string());
    let summary = summary.map_or_else(String::new, |summary| format!(": {summary}"));
    // A document of another dialect is stored unchanged only if it cannot be parsed; otherwise it
    // is stored as a message.
    let (text, actions) = if name.ends_with("message.json") || name.ends_with("run_result.json") {
        let text = format!("{title}: a report was kept but not applied ({name}){summary}");
        (text, vec![InboxAction::ApplySalvage { name: name.to_owned() }])
    } else {
        let text =
            format!("{title}: a report cannot be parsed (runs/{id}/salvage/{name}){summary}");
        (text, vec![])
    };
    AttentionItem { kind: AttentionKind::Salvage, task: id.clone(), since: None, text, actions }
}

fn unreadable_item(id: &TaskId) -> AttentionItem {
    AttentionItem {
        kind: AttentionKind::Unreadable,
        task: id.clone(),
        since: None,
        text: "the task's file cannot be read".to_owned(),
        actions: vec![InboxAction::Diagnose],
    }
}

/// Returns the item of a task that is on hold because its files cannot be changed.
fn file_fault_item(world: &World, id: &TaskId, fault: &FileFault) -> AttentionItem {
    let title = world.task(id).map_or_else(|| id.to_string(), |task| task.title.to_string());
    AttentionItem {
        kind: AttentionKind::OnHold,
        task: id.clone(),
        since: None,
        text: format!("{title}: the task is on hold: {fault}; {}", fault.fix),
        actions: vec![InboxAction::Diagnose],
    }
}

impl AttentionKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Review => "review",
            Self::Merge => "merge",
            Self::Question => "question",
            Self::Permission => "permission",
            Self::Checks => "checks",
            Self::Blocked => "blocked",
            Self::Deadletter => "deadletter",
            Self::HeldBack => "held_back",
            Self::Salvage => "salvage",
            Self::Unusable => "unusable",
            Self::Budget => "budget",
            Self::Network => "network",
            Self::Unreadable => "unreadable",
            Self::OnHold => "on_hold",
        }
    }
}
