//! Explains why a task does not start: one sentence for each reason.

use adjutant_model::actor::AgentId;
use adjutant_model::command_text::exact_command;
use adjutant_model::field_reader::REASON_CHARS_MAX;
use adjutant_model::policy::Policy;
use adjutant_model::review::ReviewPolicy;
use adjutant_model::sandbox_level::SandboxLevel;
use adjutant_model::status::Status;
use adjutant_model::story::StepStatus;
use adjutant_model::story::StoryId;
use adjutant_model::task::{Task, TaskRouting};
use adjutant_model::task_id::TaskId;
use adjutant_model::time::Time;
use adjutant_model::usage::{ParkedAgent, UsageBudget};
use adjutant_model::work::RefusedMerge;
use adjutant_model::work_log::single_line;

use super::agent_availability::{UnavailableReason, agent_unavailable_for_task, exceeded_budget};
use super::slots::AgentSlots;
use crate::world::World;
use crate::world::dependency::is_in_cycle;
use crate::world::task_queue::backoff_end;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskHold {
    /// A stable word for scripts.
    pub code: &'static str,
    /// A sentence for people.
    pub text: String,
}

/// Returns every reason why a task does not start; empty if it can be assigned now.
pub fn hold_reasons(world: &World, id: &TaskId, now: Time) -> Vec<TaskHold> {
    let Some(task) = world.task(id) else {
        return vec![if world.unreadable().contains(id) {
            hold("unreadable", "Its file cannot be read; `adjutant doctor` says why.")
        } else {
            hold("task_not_found", "There is no such task.")
        }];
    };
    let mut holds: Vec<TaskHold> = status(world, task).into_iter().collect();
    holds.extend(file_fault_hold(world, id));
    if task.status().is_closed() || task.status() == Status::InProgress {
        return holds;
    }
    holds.extend(open_run(task));
    holds.extend(unaccepted_checks(task));
    holds.extend(story(world, task));
    holds.extend(story_home_hold(world, task));
    holds.extend(dependencies(world, task));
    holds.extend(back_off(task, now));
    holds.extend(budget(world, task));
    holds.extend(agents(world, task, now));
    holds.extend(resource(world, task));
    holds.extend(concurrency(world));
    holds
}

fn hold(code: &'static str, text: impl Into<String>) -> TaskHold {
    TaskHold { code, text: text.into() }
}

fn file_fault_hold(world: &World, id: &TaskId) -> Option<TaskHold> {
    let fault = world.file_fault(id)?;
    Some(hold("on_hold", format!("It is on hold: {fault}; {}.", fault.fix)))
}

fn status(world: &World, task: &Task) -> Option<TaskHold> {
    let reason =
        task.history.reason.as_deref().map_or_else(String::new, |reason| format!(": {reason}"));
    Some(match task.status() {
        Status::Ready => return None,
        Status::Backlog => {
            let text = format!(
                "It is in the backlog; `adjutant task move {} ready` makes it ready.",
                task.id
            );
            hold("backlog", text)
        }
        Status::InProgress => hold("in_progress", in_progress(task)),
        Status::Blocked if task.history.blocked_by.is_some() => {
            hold("held_back", format!("The scheduler blocked it{reason}."))
        }
        Status::Blocked => hold("blocked", format!("It is blocked{reason}.")),
        Status::Review if task.story().is_some() => {
            hold("review", format!("It waits for a person to approve or reject it{reason}."))
        }
        Status::Review => hold("review", review(world, task)),
        Status::Done => hold("done", "It is done."),
        Status::Cancelled => hold("cancelled", "It was cancelled."),
        Status::Deadletter => {
            let again = format!("`adjutant task retry {}` tries it again", task.id);
            hold("deadletter", format!("It was given up (deadletter){reason}; {again}."))
        }
    })
}

fn review(world: &World, task: &Task) -> String {
    match task.history.merging().map(|merging| &merging.waits) {
        Some(Some(waits)) => format!("It is approved, but cannot be merged yet: {waits}"),
        Some(None) => match world.policy().absent(task) {
            Some(node) => format!(
                "It is approved. It will be merged when node {node}, which has its branch, is up."
            ),
            None => "It is approved and is being merged.".to_owned(),
        },
        None => match task.history.unsettled() {
            Some(why) => format!(
                "Its work could not be committed to its branch: {why}; a person must reject or \
                 cancel it"
            ),
            None => "It waits for a person to approve or reject it.".to_owned(),
        },
    }
}

fn in_progress(task: &Task) -> String {
    match task.lease() {
        Some(lease) if task.history.claim().is_some() => format!(
            "{} has reported on it (attempt {}), and the work is being checked.",
            lease.agent, lease.attempt
        ),
        Some(lease) => format!(
            "{} is working on it: attempt {}, next heartbeat due by {}.",
            lease.agent, lease.attempt, lease.expires_at
        ),
        None => "It was moved to in-progress by hand, so no agent works on it.".to_owned(),
    }
}

fn open_run(task: &Task) -> Option<TaskHold> {
    let run = task.history.open.as_ref()?;
    let text = format!("Attempt {} by {} has not ended yet.", run.attempt, run.agent);
    Some(hold("run_open", text))
}

fn unaccepted_checks(task: &Task) -> Option<TaskHold> {
    let text = unaccepted_checks_text(task)?;
    let text = format!("I{}; `adjutant trust {}` accepts them.", &text["i".len()..], task.id);
    Some(hold("checks_not_accepted", text))
}

/// Describes the checks in a task's file that no command of the operator wrote, as a fragment that
/// begins with `its`; `None` if there are none.
pub(super) fn unaccepted_checks_text(task: &Task) -> Option<String> {
    if !task.history.has_unaccepted_checks() {
        return None;
    }
    let commands: Vec<String> = task
        .history
        .checks
        .iter()
        .flatten()
        .map(|check| format!("`{}`", exact_command(check)))
        .collect();
    let what = if commands.is_empty() { "none".to_owned() } else { commands.join(", ") };
    Some(format!("its checks were changed in its file and are not accepted yet: {what}"))
}

/// Says that the finished work of a task could not be merged, as a fragment that begins with `its`;
/// `None` if it could, or if the task has moved on since.
pub(super) fn refused_merge_text(task: &Task) -> Option<String> {
    let RefusedMerge { reason, files } = task.history.refused_merge()?;
    let approved = match task.review {
        ReviewPolicy::Required => "was approved",
        ReviewPolicy::NotNeeded => "passed its checks",
    };
    let problem = match &files[..] {
        [] => format!("could not be merged: {}", shorten_line(reason)),
        files => {
            format!("conflicts with the base branch in: {}", shorten_line(&files.join(", ")))
        }
    };
    let next = match task.status() {
        Status::Ready => "the task is ready again, and its next run is told to resolve this",
        _ => "reject it to have it done again",
    };
    Some(format!("its change {approved}, but {problem}; {next}"))
}

/// Returns what a person should know about a task that does not hold it back, in sentences.
pub fn task_notes(task: &Task) -> Vec<String> {
    let sentence = |text: String| format!("I{}.", &text["i".len()..]);
    refused_merge_text(task).map(sentence).into_iter().collect()
}

/// Returns the reasons why a step of a story cannot be assigned.
fn story(world: &World, task: &Task) -> Vec<TaskHold> {
    let Some(position) = task.story() else { return vec![] };
    let story = &position.story;
    let mut holds: Vec<TaskHold> =
        position.waits_for.iter().map(|other| story_dependency_hold(world, other)).collect();
    if position.unaccepted {
        let text = "Agents would do its steps, but what they would run is not accepted; `adjutant \
                    trust` shows and accepts it.";
        holds.push(hold("story_unaccepted", text));
    } else if !position.auto {
        let text = format!(
            "Its steps are started by hand; `adjutant story auto {story}` lets agents do them."
        );
        holds.push(hold("story_by_hand", text));
    }
    if task.status() == Status::Ready && position.status != StepStatus::Pending {
        holds.push(hold(
            "story_step",
            format!("Its story must move to the next step first: {}.", position.in_words()),
        ));
    }
    holds
}

fn story_dependency_hold(world: &World, story: &StoryId) -> TaskHold {
    let given_up = world.task_of_story(story).filter(|task| is_given_up(task.status()));
    match given_up {
        Some(task) => hold(
            "dependency_given_up",
            format!(
                "It depends on the story {story}, which will not be done ({}); `adjutant story auto \
                 {story}` takes it up again.",
                task.status()
            ),
        ),
        None => hold("story_waits", format!("It depends on the story {story}, which is not done.")),
    }
}

const fn is_given_up(status: Status) -> bool {
    matches!(status, Status::Cancelled | Status::Deadletter)
}

/// Returns why a story cannot continue on the node that has its files.
fn story_home_hold(world: &World, task: &Task) -> Option<TaskHold> {
    let (nodes, story) = (&world.policy().nodes, &task.story()?.story);
    let text = match task.home() {
        _ if nodes.is_empty() => return None,
        Some(node) if nodes.contains_key(node) => return None,
        Some(node) => format!("The files of {story} are on node {node}, which is down."),
        None => format!("No node that is up has the files of {story}."),
    };
    Some(hold("story_away", text))
}

fn dependencies(world: &World, task: &Task) -> Vec<TaskHold> {
    let mut holds: Vec<TaskHold> =
        task.depends_on.iter().filter_map(|id| dependency_hold(world, id)).collect();
    if is_in_cycle(world, &task.id) {
        let text = "It depends on itself, directly or through other tasks.";
        holds.push(hold("dependency_cycle", text));
    }
    holds
}

fn dependency_hold(world: &World, id: &TaskId) -> Option<TaskHold> {
    let Some(dependency) = world.task(id) else {
        return Some(if world.unreadable().contains(id) {
            let text = format!("It depends on {id}, whose file cannot be read.");
            hold("dependency_unreadable", text)
        } else {
            hold("dependency_missing", format!("It depends on {id}, which does not exist."))
        });
    };
    match dependency.status() {
        Status::Done => None,
        status @ (Status::Cancelled | Status::Deadletter) => Some(hold(
            "dependency_given_up",
            format!("It depends on {id}, which will not be done ({status})."),
        )),
        status => Some(hold("dependency_open", format!("It depends on {id}, which is {status}."))),
    }
}

fn budget(world: &World, task: &Task) -> Option<TaskHold> {
    let used = exceeded_budget(world, task)?;
    let text = format!("It has used up its budget: {used}; raise the budget in its metadata.");
    Some(hold("budget_task", text))
}

fn back_off(task: &Task, now: Time) -> Option<TaskHold> {
    let until = backoff_end(task, now)?;
    let mut parked = task.history.parked().iter();
    if let Some(parked) = parked.find(|parked| parked.until == Some(until)) {
        return Some(limited(parked, until));
    }
    if let Some(reason) = task.history.reason.as_deref() {
        return Some(hold("deferred", format!("It waits until {until}: it {reason}.")));
    }
    let failed = count_noun(task.history.failures.len(), "failed attempt");
    let last = task.history.failures.last();
    let last = last.map_or_else(String::new, |last| format!(" ({})", shorten_line(&last.reason)));
    let id = &task.id;
    let text = format!(
        "It waits until {until}, after {failed}{last}; `adjutant task retry {id}` starts it now."
    );
    Some(hold("back_off", text))
}

/// Returns whether a task waits because its last run could not start, which a person must repair.
pub(super) fn is_deferred(task: &Task) -> bool {
    let until = task.history.not_before;
    let by_limit = task.history.parked().iter().any(|parked| parked.until == until);
    until.is_some() && !by_limit && task.history.reason.is_some()
}

fn limited(parked: &ParkedAgent, until: Time) -> TaskHold {
    let (who, reason) = (parked.who(), &parked.reason);
    hold("agent_limited", format!("{who} has reached a usage limit until {until}: {reason}."))
}

fn unusable(parked: &ParkedAgent) -> TaskHold {
    let there = parked.node.as_ref().map(|node| format!(" on {node}")).unwrap_or_default();
    let again = format!("`adjutant agents test {}`{there} tries it again", parked.agent);
    let (who, reason) = (parked.who(), &parked.reason);
    hold("agent_unusable", format!("{who} cannot be used: {reason}; {again}."))
}

/// Returns the reason why no agent that may take a task gets work.
fn unavailable_agents_hold(world: &World, task: &Task, now: Time) -> Option<TaskHold> {
    let mut all = world.policy().agents_for(&task.routing).map(|(name, _)| name);
    let first = all.next()?;
    let why = agent_unavailable_for_task(world, first, task, now)?;
    all.all(|name| agent_unavailable_for_task(world, name, task, now).is_some()).then(
        || match why {
            UnavailableReason::Parked(_, parked) => match parked.until {
                Some(until) => limited(parked, until),
                None => unusable(parked),
            },
            UnavailableReason::AgentBudgetSpent(used) => {
                hold("budget_day", format!("{first} has used up its daily budget: {used}."))
            }
            UnavailableReason::TotalBudgetSpent(used) => {
                hold("budget_day", format!("The daily budget is used up: {used}."))
            }
            UnavailableReason::CannotStart(problem) => {
                hold("agent_unusable", format!("{first} cannot be started: {problem}."))
            }
        },
    )
}

/// Returns the sentence about a used-up budget of the day, if that is why the task waits.
pub(super) fn daily_budget_hold(world: &World, task: &Task, now: Time) -> Option<String> {
    let policy = world.policy();
    let limits = policy.agents.values().map(|agent| agent.budget_day);
    if limits.chain([policy.scheduler.budget_day]).all(|limit| limit == UsageBudget::default()) {
        return None;
    }
    unavailable_agents_hold(world, task, now)
        .filter(|hold| hold.code == "budget_day")
        .map(|hold| hold.text)
}

fn agents(world: &World, task: &Task, now: Time) -> Option<TaskHold> {
    let mut fitting = world.policy().agents_for(&task.routing).peekable();
    if fitting.peek().is_none() {
        return Some(no_agent(world, task));
    }
    if let Some(shut) = unavailable_agents_hold(world, task, now) {
        let is_explained = backoff_end(task, now).is_some();
        return (!is_explained || shut.code != "agent_limited").then_some(shut);
    }
    let busy = |name| world.queue().run_count(name);
    let full: Option<Vec<String>> = fitting
        .map(|(name, agent)| {
            if busy(name) >= agent.slots {
                return Some(format!("{name} ({} of {} in use)", busy(name), agent.slots));
            }
            agent_unavailable_for_task(world, name, task, now)
                .map(|_| format!("{name} (unavailable)"))
        })
        .collect();
    let Some(full) = full else { return no_free_node_hold(world, task, now) };
    Some(hold("agent_busy", format!("No slot is free: {}.", full.join(", "))))
}

/// Returns the reason if there is a free slot, but none on a node that may run the task.
fn no_free_node_hold(world: &World, task: &Task, now: Time) -> Option<TaskHold> {
    let (policy, slots) = (world.policy(), AgentSlots::new(world, now));
    let is_said = slots.is_full() || story_home_hold(world, task).is_some();
    if policy.nodes.is_empty() || is_said || slots.find_target(task).is_some() {
        return None;
    }
    let text = match policy.keeper(task) {
        Some(node) => {
            format!("It continues on node {node}, which has its branch and no free slot.")
        }
        None => "No node that may run it has a free slot.".to_owned(),
    };
    Some(hold("agent_busy", text))
}

fn no_agent(world: &World, task: &Task) -> TaskHold {
    let text = match unmet_routing(world.policy(), &task.routing) {
        Some(unmet) => format!("N{}.", &unmet["n".len()..]),
        None => "No agent is configured.".to_owned(),
    };
    hold("no_agent", text)
}

/// Returns what the operator should know about the routing of a task: no configured agent has what
/// it asks for. An agent that is not configured may fetch its tasks; one that has a run does.
pub(crate) fn routing_warning(world: &World, routing: &TaskRouting) -> Option<String> {
    let fetches = |agent: &AgentId| world.queue().run_count(agent) > 0;
    let unmet = unmet_routing(world.policy(), routing)?;
    (!routing.agent.as_ref().is_some_and(fetches)).then_some(unmet)
}

/// Returns what a routing asks for that no configured agent has, as a fragment that begins with
/// `no`; `None` if an agent has it, or if the routing asks for nothing.
fn unmet_routing(policy: &Policy, routing: &TaskRouting) -> Option<String> {
    if policy.agents_for(routing).next().is_some() {
        return None;
    }
    let TaskRouting { agent, mode, role, tags, sandbox } = routing;
    if !sandbox.is_none() {
        let without = TaskRouting { sandbox: SandboxLevel::None, ..routing.clone() };
        if policy.agents_for(&without).next().is_some() {
            return Some(format!(
                "no agent that fits has `sandbox = \"{sandbox}\"`, as the run that delegated the \
                 task"
            ));
        }
    }
    if let Some(agent) = agent {
        return Some(if policy.agents.contains_key(agent) {
            format!("no node that is up has agent {agent} and the tags of the task")
        } else if policy.config.unaccepted.iter().any(|name| is_setting_of(name, agent)) {
            format!("no accepted agent is named \"{agent}\"; `adjutant trust` accepts it")
        } else {
            let others: Vec<&str> = policy.agents.keys().map(AgentId::as_str).collect();
            let route = match &others[..] {
                [] => String::new(),
                others => format!(
                    ", or route the task to one that is (`adjutant task edit ID --agent NAME`): {}",
                    others.join(", ")
                ),
            };
            format!(
                "no agent named \"{agent}\" is configured; add [agents.{agent}] to \
                 adjutant.toml{route}; {}",
                fetch_advice(agent.as_str())
            )
        });
    }
    let mut parts: Vec<String> = vec![];
    parts.extend(mode.as_ref().map(|mode| format!("the mode \"{mode}\"")));
    parts.extend(role.as_ref().map(|role| format!("the role \"{role}\"")));
    let tags: Vec<String> = tags.iter().map(|tag| format!("\"{tag}\"")).collect();
    match &tags[..] {
        [] => {}
        [tag] => parts.push(format!("the tag {tag}")),
        tags => parts.push(format!("the tags {}", tags.join(", "))),
    }
    let text = format!("no configured agent has {}", parts.join(" and "));
    match mode {
        _ if parts.is_empty() => None,
        Some(mode) if parts.len() == 1 => {
            Some(format!("{text}; set it for an agent in adjutant.toml; {}", fetch_advice(mode)))
        }
        _ => Some(text),
    }
}

/// Returns whether a setting, such as `agents.fixer.command`, belongs to an agent.
fn is_setting_of(setting: &str, agent: &AgentId) -> bool {
    let key = setting.strip_prefix("agents.").and_then(|rest| rest.strip_prefix(agent.as_str()));
    key.is_some_and(|key| key.starts_with('.'))
}

fn fetch_advice(name: &str) -> String {
    format!("an agent that runs elsewhere can fetch it with `adjutant mcp --agent {name}`")
}

fn resource(world: &World, task: &Task) -> Option<TaskHold> {
    let resource = task
        .resource
        .as_deref()
        .filter(|resource| world.queue().resource_user_count(resource) > 0)?;
    // If the task's own open run uses the resource, `open_run` reports it already.
    (task.history.open.is_none())
        .then(|| hold("resource_busy", format!("Another task is using the resource {resource}.")))
}

fn concurrency(world: &World) -> Option<TaskHold> {
    let (runs, limit) = (world.queue().runs(), world.policy().scheduler.concurrency);
    let is = if runs == 1 { "is" } else { "are" };
    (runs >= limit).then(|| {
        let runs = count_noun(runs as usize, "run");
        hold("concurrency", format!("{runs} {is} active, and `concurrency` allows {limit}."))
    })
}

fn count_noun(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Shortens a text to one line of limited length. The limit is long enough for a breach; an agent's
/// notes may be a whole page. The end is kept, because it has the error.
pub(super) fn shorten_line(text: &str) -> String {
    let line = single_line(text);
    if line.chars().nth(REASON_CHARS_MAX).is_none() {
        return line;
    }
    let end_chars = (REASON_CHARS_MAX - 1) / 2;
    let end_from = line.chars().count() - end_chars;
    let begin = line.chars().take(REASON_CHARS_MAX - 1 - end_chars);
    begin.chain(['…']).chain(line.chars().skip(end_from)).collect()
}
