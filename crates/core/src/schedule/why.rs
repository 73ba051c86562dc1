//! What holds a task back, each thing in one sentence.

use super::dependency::cycle;
use super::purse::{Closed, closed_for, overdrawn};
use super::queue::waits_until;
use super::slots::Slots;
use crate::account::{Budget, Parked};
use crate::id::TaskId;
use crate::pipeline::Status as StepStatus;
use crate::status::Status;
use crate::task::Task;
use crate::time::Time;
use crate::world::World;

/// One thing that holds a task back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// A word for scripts.
    pub code: &'static str,
    /// A sentence for people.
    pub text: String,
}

/// Returns everything that holds a task back; nothing if it can be given out now.
pub fn why(world: &World, id: &TaskId, now: Time) -> Vec<Hold> {
    let Some(task) = world.task(id) else {
        return vec![if world.unreadable().contains(id) {
            hold("unreadable", "Its file cannot be read; `adjutant doctor` says why.")
        } else {
            hold("task_not_found", "There is no such task.")
        }];
    };
    let mut holds: Vec<Hold> = status(world, task).into_iter().collect();
    if task.status().is_closed() || task.status() == Status::InProgress {
        return holds;
    }
    holds.extend(open_run(task));
    holds.extend(story(task));
    holds.extend(home(world, task));
    holds.extend(dependencies(world, task));
    holds.extend(back_off(task, now));
    holds.extend(budget(world, task));
    holds.extend(agents(world, task, now));
    holds.extend(resource(world, task));
    holds.extend(concurrency(world));
    holds
}

fn hold(code: &'static str, text: impl Into<String>) -> Hold {
    Hold { code, text: text.into() }
}

fn status(world: &World, task: &Task) -> Option<Hold> {
    let reason = task.trials.reason.as_deref().map_or_else(String::new, |said| format!(": {said}"));
    Some(match task.status() {
        Status::Ready => return None,
        Status::Backlog => hold("backlog", "It is in the backlog, and has to be moved to ready."),
        Status::InProgress => hold("in_progress", in_progress(task)),
        Status::Blocked if task.trials.blocked_by.is_some() => {
            hold("held_back", format!("The scheduler holds it back{reason}."))
        }
        Status::Blocked => hold("blocked", format!("It is blocked{reason}.")),
        Status::Review if task.story().is_some() => {
            hold("review", format!("It waits for somebody to approve or reject it{reason}."))
        }
        Status::Review => hold("review", review(world, task)),
        Status::Done => hold("done", "It is done."),
        Status::Cancelled => hold("cancelled", "It was cancelled."),
        Status::Deadletter => {
            hold("deadletter", format!("It was given up{reason}; `task retry` tries it again."))
        }
    })
}

fn review(world: &World, task: &Task) -> String {
    match task.trials.merging().map(|merging| &merging.waits) {
        Some(Some(waits)) => format!("It is approved, and its merge waits: {waits}"),
        Some(None) => match world.policy().absent(task) {
            Some(node) => format!("It is approved, and merged when {node} is up, which has it."),
            None => "It is approved, and is being merged.".to_owned(),
        },
        None => "It waits for somebody to approve or reject it.".to_owned(),
    }
}

fn in_progress(task: &Task) -> String {
    match task.lease() {
        Some(lease) if task.trials.claim().is_some() => format!(
            "{} has reported on it (attempt {}), and that is being looked into.",
            lease.agent, lease.attempt
        ),
        Some(lease) => format!(
            "{} works on it: attempt {}, leased until {}.",
            lease.agent, lease.attempt, lease.expires_at
        ),
        None => "Somebody moved it to in-progress, and it waits for them.".to_owned(),
    }
}

fn open_run(task: &Task) -> Option<Hold> {
    let run = task.trials.open.as_ref()?;
    let text = format!("Attempt {} of {} has not ended yet.", run.attempt, run.agent);
    Some(hold("run_open", text))
}

/// What keeps a step of a story from being given out.
fn story(task: &Task) -> Vec<Hold> {
    let Some(position) = task.story() else { return vec![] };
    let story = &position.story;
    let mut holds: Vec<Hold> = position
        .waits_for
        .iter()
        .map(|other| {
            let text = format!("It waits for the story {other}, which is not done.");
            hold("story_waits", text)
        })
        .collect();
    if !position.auto {
        let text = format!(
            "Its steps are started by hand; `adjutant story auto {story}` has agents do them."
        );
        holds.push(hold("story_by_hand", text));
    }
    if task.status() == Status::Ready && position.status != StepStatus::Pending {
        holds.push(hold(
            "story_step",
            format!("Its story moves on first: {}.", position.in_words()),
        ));
    }
    holds
}

/// What keeps a story from being gone on with where its files are.
fn home(world: &World, task: &Task) -> Option<Hold> {
    let (nodes, story) = (&world.policy().nodes, &task.story()?.story);
    let text = match task.home() {
        _ if nodes.is_empty() => return None,
        Some(node) if nodes.contains_key(node) => return None,
        Some(node) => format!("The files of {story} are on {node}, which is not up."),
        None => format!("No node that is up has the files of {story}."),
    };
    Some(hold("story_away", text))
}

fn dependencies(world: &World, task: &Task) -> Vec<Hold> {
    let mut holds: Vec<Hold> = task.depends_on.iter().filter_map(|id| waits(world, id)).collect();
    if cycle(world, &task.id) {
        holds.push(hold("dependency_cycle", "It waits for itself, by way of others."));
    }
    holds
}

fn waits(world: &World, id: &TaskId) -> Option<Hold> {
    let Some(dependency) = world.task(id) else {
        return Some(if world.unreadable().contains(id) {
            let text = format!("It waits for {id}, whose file cannot be read.");
            hold("dependency_unreadable", text)
        } else {
            hold("dependency_missing", format!("It waits for {id}, which is not there."))
        });
    };
    match dependency.status() {
        Status::Done => None,
        status @ (Status::Cancelled | Status::Deadletter) => Some(hold(
            "dependency_given_up",
            format!("It waits for {id}, which was given up ({status})."),
        )),
        status => Some(hold("dependency_open", format!("It waits for {id}, which is {status}."))),
    }
}

fn budget(world: &World, task: &Task) -> Option<Hold> {
    let used = overdrawn(world, task)?;
    let text = format!("It has used up its budget: {used}; give it a higher one in its metadata.");
    Some(hold("budget_task", text))
}

fn back_off(task: &Task, now: Time) -> Option<Hold> {
    let until = waits_until(task, now)?;
    let mut parked = task.trials.parked().iter();
    if let Some(parked) = parked.find(|parked| parked.until == Some(until)) {
        return Some(limited(parked, until));
    }
    if let Some(reason) = task.trials.reason.as_deref() {
        return Some(hold("deferred", format!("It waits until {until}: it {reason}.")));
    }
    let failed = counted(task.trials.failures.len(), "attempt");
    let text = format!("It waits until {until} after {failed} without a result.");
    Some(hold("back_off", text))
}

fn limited(parked: &Parked, until: Time) -> Hold {
    let (who, reason) = (parked.who(), &parked.reason);
    hold("agent_limited", format!("{who} has reached a limit, until {until}: {reason}."))
}

fn unusable(parked: &Parked) -> Hold {
    let there = parked.node.as_ref().map(|node| format!(" on {node}")).unwrap_or_default();
    let again = format!("`adjutant agents test {}`{there} tries it again", parked.agent);
    let (who, reason) = (parked.who(), &parked.reason);
    hold("agent_unusable", format!("{who} cannot be used: {reason}; {again}."))
}

/// Says why no agent that a task may go to is given anything.
fn shut(world: &World, task: &Task, now: Time) -> Option<Hold> {
    let mut all = world.policy().agents_for(&task.routing).map(|(name, _)| name);
    let first = all.next()?;
    let why = closed_for(world, first, task, now)?;
    all.all(|name| closed_for(world, name, task, now).is_some()).then(|| match why {
        Closed::Parked(_, parked) => match parked.until {
            Some(until) => limited(parked, until),
            None => unusable(parked),
        },
        Closed::Spent(used) => {
            hold("budget_day", format!("{first} has used up its budget of the day: {used}."))
        }
        Closed::AllSpent(used) => {
            hold("budget_day", format!("The budget of the day is used up: {used}."))
        }
    })
}

/// Says that a task waits because a budget of the day is used up; none if it does not.
pub(super) fn spent_today(world: &World, task: &Task, now: Time) -> Option<String> {
    let policy = world.policy();
    let limits = policy.agents.values().map(|agent| agent.budget_day);
    if limits.chain([policy.scheduler.budget_day]).all(|limit| limit == Budget::default()) {
        return None;
    }
    shut(world, task, now).filter(|hold| hold.code == "budget_day").map(|hold| hold.text)
}

fn agents(world: &World, task: &Task, now: Time) -> Option<Hold> {
    let mut fitting = world.policy().agents_for(&task.routing).peekable();
    if fitting.peek().is_none() {
        return Some(no_agent(world, task));
    }
    if let Some(shut) = shut(world, task, now) {
        let said = waits_until(task, now).is_some();
        return (!said || shut.code != "agent_limited").then_some(shut);
    }
    let busy = |name| world.queue().busy(name);
    let full: Option<Vec<String>> = fitting
        .map(|(name, agent)| {
            if busy(name) >= agent.slots {
                return Some(format!("{name} ({} of {})", busy(name), agent.slots));
            }
            closed_for(world, name, task, now).map(|_| format!("{name} (cannot work now)"))
        })
        .collect();
    let Some(full) = full else { return no_room(world, task, now) };
    Some(hold("agent_busy", format!("No slot is free: {}.", full.join(", "))))
}

/// Says that there is a free slot, and none where a task may go.
fn no_room(world: &World, task: &Task, now: Time) -> Option<Hold> {
    let (policy, slots) = (world.policy(), Slots::of(world, now));
    let is_said = slots.are_full() || home(world, task).is_some();
    if policy.nodes.is_empty() || is_said || slots.desk_for(task).is_some() {
        return None;
    }
    let text = match policy.keeper(task) {
        Some(node) => format!("It goes on where its branch is, on {node}, which has no room now."),
        None => "No node that it may go to has room now.".to_owned(),
    };
    Some(hold("agent_busy", text))
}

fn no_agent(world: &World, task: &Task) -> Hold {
    let routing = &task.routing;
    if let Some(agent) = &routing.agent
        && world.policy().agents.contains_key(agent)
    {
        let text = format!("No node that is up has {agent} and what its tags ask for.");
        return hold("no_agent", text);
    }
    let text = match (&routing.agent, &routing.role) {
        (None, _) if routing.mode.is_some() => {
            let mode = routing.mode.as_deref().unwrap_or_default();
            format!("No agent in the configuration has the mode {mode}.")
        }
        (Some(agent), _) => {
            format!("Agent {agent} is not in the configuration; it waits until {agent} fetches it.")
        }
        (None, Some(role)) => format!("No agent in the configuration has the role {role}."),
        (None, None) if !routing.tags.is_empty() => {
            format!("No agent in the configuration has the tags {}.", routing.tags.join(", "))
        }
        (None, None) => "There is no agent in the configuration.".to_owned(),
    };
    hold("no_agent", text)
}

fn resource(world: &World, task: &Task) -> Option<Hold> {
    let resource = task.resource.as_deref().filter(|resource| world.queue().users(resource) > 0)?;
    // Its own run that has not ended yet uses it too, and is named above.
    (task.trials.open.is_none())
        .then(|| hold("resource_busy", format!("Somebody else uses {resource}.")))
}

fn concurrency(world: &World) -> Option<Hold> {
    let (runs, limit) = (world.queue().runs(), world.policy().scheduler.concurrency);
    let is = if runs == 1 { "is" } else { "are" };
    (runs >= limit).then(|| {
        let runs = counted(runs as usize, "run");
        hold("concurrency", format!("{runs} {is} under way, and {limit} may be at once."))
    })
}

fn counted(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}
