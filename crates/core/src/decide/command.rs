//! Decides what an operator's command does.

use adjutant_model::actor::{Actor, AgentId};
use adjutant_model::answer::{AnswerVerdict, FieldProblem, Reason};
use adjutant_model::command::{
    Command, CommandCaller, InitialStatus, NewTask, TaskChanges, TaskFileContent,
};
use adjutant_model::effect::Effect;
use adjutant_model::event::{Event, TransitionCause};
use adjutant_model::run_history::RunHistory;
use adjutant_model::status::Status;
use adjutant_model::task::{TITLE_CHARS_MAX, Task, TaskState};
use adjutant_model::task_id::TaskId;
use adjutant_model::time::Time;
use adjutant_model::work_log::strip_work_log;

use super::draft::DecisionDraft;
use super::handoff::is_descendant_of;
use super::message::find_task;
use super::permission::{self, PermissionDecision};
use super::{fetch_task, import, salvage, story, task_size};
use crate::decision::Decision;
use crate::schedule::{approval_merges, routing_warning, tasks_that_parked};
use crate::world::World;
use crate::world::file_fault::FileFault;

pub(super) fn decide(world: &World, by: &CommandCaller, command: &Command, now: Time) -> Decision {
    let draft = |actor: &Actor| DecisionDraft::new(actor.clone(), command.task().cloned());
    let actor = match by {
        CommandCaller::Operator(actor) => actor,
        CommandCaller::InsideRun(actor) => {
            return refuse(draft(actor), command, Reason::OperatorOnly, vec![]);
        }
    };
    if let Some(problem) = task_size::oversized_text(command) {
        return refuse(draft(actor), command, Reason::InvalidArgument, vec![problem]);
    }
    let decision = decide_for_operator(world, actor, command, now);
    match task_size::oversized_task(world, &decision) {
        Some(problem) => refuse(draft(actor), command, Reason::InvalidArgument, vec![problem]),
        None => decision,
    }
}

fn decide_for_operator(world: &World, actor: &Actor, command: &Command, now: Time) -> Decision {
    let mut draft = DecisionDraft::new(actor.clone(), None);
    if let Some((task, problem)) = story::refuse_position_command(world, command) {
        draft.load_task(task);
        return refuse(draft, command, Reason::StoryOwned, vec![problem]);
    }
    match command {
        Command::Add(new) => {
            let created = CreatedTask { world, command, actor, now };
            created.add(draft, new, initial_history(new))
        }
        Command::Import(tasks) => import::decide(world, draft, command, tasks, actor, now),
        Command::Edit { id, changes } => with_task(world, draft, command, id, |draft, task| {
            edit(world, draft, command, task, changes, now)
        }),
        Command::Move { id, to, reason } => with_task(world, draft, command, id, |draft, task| {
            if task.status() == *to {
                return draft.finish(AnswerVerdict::Noop, None);
            }
            if let Some(problem) = unsettled_work(task).filter(|_| *to == Status::Done) {
                return refuse(draft, command, Reason::UnsettledWork, vec![problem]);
            }
            transition(draft, command, task, *to, reason)
        }),
        Command::Approve { id, note } => with_task(world, draft, command, id, |draft, task| {
            if let Some(problem) = unallowed_files(task) {
                return refuse(draft, command, Reason::ProtectedPaths, vec![problem]);
            }
            approve(world, draft, command, task, note)
        }),
        Command::ApproveProtected { id, note } => {
            with_task(world, draft, command, id, |mut draft, task| {
                if unallowed_files(task).is_some() {
                    let files = task.history.protected_files().iter().map(ToString::to_string);
                    draft.push(Event::ProtectedAllowed { files: files.collect() });
                }
                approve(world, draft, command, task, note)
            })
        }
        Command::AcceptChecks { id, checks } => {
            with_task(world, draft, command, id, |draft, task| {
                accept_checks(draft, command, task, checks.as_deref())
            })
        }
        Command::Reject { id, reason } => with_task(world, draft, command, id, |draft, task| {
            if let Some(asked) = permission::pending_request(task) {
                return permission::answer(
                    draft,
                    command,
                    task,
                    asked,
                    &PermissionDecision::Deny(reason),
                );
            }
            transition_from(&[Status::Review], draft, command, task, Status::Ready, reason)
        }),
        Command::Cancel { id, reason } => with_task(world, draft, command, id, |draft, task| {
            transition(draft, command, task, Status::Cancelled, reason)
        }),
        Command::Reopen { id, reason } => {
            with_task(world, draft, command, id, |draft, task| reopen(draft, command, task, reason))
        }
        Command::Copy { id, start, content } => {
            with_task(world, draft, command, id, |draft, task| {
                let created = CreatedTask { world, command, actor, now };
                copy(draft, &created, task, *start, content.as_deref())
            })
        }
        Command::Retry { id } => {
            with_task(world, draft, command, id, |draft, task| retry(draft, command, task))
        }
        Command::Chore(_) => draft.finish(AnswerVerdict::Applied, None),
        Command::Answer { id, text } => {
            with_task(world, draft, command, id, |draft, task| answer(draft, command, task, text))
        }
        Command::Take { agent, nonce } => fetch_task::decide(world, agent, *nonce, now),
        Command::Free { agent } => unpark_agent(world, draft, agent),
        Command::ApplySalvage { id, name, text } => {
            with_task(world, draft, command, id, |draft, task| {
                salvage::apply_salvaged(draft, command, task, name, text.as_deref())
            })
        }
    }
}

pub(super) fn refuse(
    mut draft: DecisionDraft,
    command: &Command,
    reason: Reason,
    problems: Vec<FieldProblem>,
) -> Decision {
    draft.push(Event::CommandRefused { command: command.name().to_owned(), reason });
    let mut decision = draft.finish(AnswerVerdict::Rejected, Some(reason));
    decision.answer.problems = problems;
    decision
}

fn with_task(
    world: &World,
    mut draft: DecisionDraft,
    command: &Command,
    id: &TaskId,
    then: impl FnOnce(DecisionDraft, &Task) -> Decision,
) -> Decision {
    match find_task(world, id) {
        Ok(task) => {
            draft.load_task(task);
            if let Some(fault) = world.file_fault(id) {
                return refuse(draft, command, Reason::TaskOnHold, fault_problems(fault));
            }
            then(draft, task)
        }
        Err(reason) => {
            draft.set_task_id(id);
            refuse(draft, command, reason, vec![])
        }
    }
}

/// Lists what cannot be done with the files of a task, and how to repair that.
fn fault_problems(fault: &FileFault) -> Vec<FieldProblem> {
    let FileFault { problem, cause, fix } = fault;
    [problem, cause, fix].map(|text| FieldProblem::new("", text.clone())).into()
}

/// Returns the protected files that work in review changes, as a problem; `None` if there are none
/// or a person has allowed them.
fn unallowed_files(task: &Task) -> Option<FieldProblem> {
    let work = task.history.work.as_ref()?;
    let mut files = work.protected.iter().filter(|file| !work.allowed.contains(*file));
    if task.status() != Status::Review || files.next().is_none() {
        return None;
    }
    let text = format!("it changes protected paths: {}", work.protected.join(", "));
    Some(FieldProblem::new("protected", text))
}

/// Accepts the checks in the file of a task, if they are still those that the person saw.
fn accept_checks(
    mut draft: DecisionDraft,
    command: &Command,
    task: &Task,
    seen: Option<&[String]>,
) -> Decision {
    let asked = task.history.checks.as_deref();
    let asked = asked.map(|checks| checks.iter().map(ToString::to_string).collect::<Vec<_>>());
    if asked.as_deref() != seen {
        let problem = FieldProblem::new("checks", "have changed since they were shown");
        return refuse(draft, command, Reason::InvalidArgument, vec![problem]);
    }
    if !task.history.has_unaccepted_checks() {
        return draft.finish(AnswerVerdict::Noop, None);
    }
    draft.push(Event::ChecksAccepted { checks: asked });
    draft.finish(AnswerVerdict::Applied, None)
}

/// Approves work in review. Work on its own branch is merged first if the policy asks for it; work
/// that is not on its branch cannot be approved. If
/// the run waits for a permission, this grants the permission instead.
fn approve(
    world: &World,
    mut draft: DecisionDraft,
    command: &Command,
    task: &Task,
    note: &str,
) -> Decision {
    if let Some(asked) = permission::pending_request(task) {
        return permission::answer(draft, command, task, asked, &PermissionDecision::Allow(note));
    }
    if let Some(problem) = unsettled_work(task) {
        return refuse(draft, command, Reason::UnsettledWork, vec![problem]);
    }
    let attempt = task.last_run.as_ref().map(|run| run.attempt);
    match attempt.filter(|_| task.status() == Status::Review) {
        Some(_) if task.history.merging().is_some() => draft.finish(AnswerVerdict::Noop, None),
        Some(attempt) if approval_merges(world, task) => {
            draft.push(Event::MergeRequested { note: note.to_owned() });
            draft.add_effect(Effect::MergeWork { task: task.id.clone(), attempt });
            draft.finish(AnswerVerdict::Applied, None)
        }
        _ => transition_from(&[Status::Review], draft, command, task, Status::Done, note),
    }
}

/// Returns why work in review is not on its branch, as a problem: such work is never done.
fn unsettled_work(task: &Task) -> Option<FieldProblem> {
    let why = task.history.unsettled().filter(|_| task.status() == Status::Review)?;
    let what =
        format!("could not be committed to its branch: {why}; reject it to have it done again");
    Some(FieldProblem::new("work", what))
}

fn transition_from(
    allowed: &[Status],
    draft: DecisionDraft,
    command: &Command,
    task: &Task,
    to: Status,
    reason: &str,
) -> Decision {
    if allowed.contains(&task.status()) {
        return transition(draft, command, task, to, reason);
    }
    let only: Vec<&str> = allowed.iter().map(|status| status.as_str()).collect();
    let what = format!("must be {}, but is {}", only.join(" or "), task.status());
    refuse(draft, command, Reason::InvalidTransition, vec![FieldProblem::new("status", what)])
}

fn transition(
    mut draft: DecisionDraft,
    command: &Command,
    task: &Task,
    to: Status,
    reason: &str,
) -> Decision {
    let from = task.status();
    if !from.may_move_to(to) {
        let ways: Vec<&str> = from.moves().iter().map(|status| status.as_str()).collect();
        let what = if ways.is_empty() {
            format!("a task that is {from} cannot be moved")
        } else {
            let ways = ways.join(", ");
            format!("a task cannot move from {from} to {to}; from {from} it can move to: {ways}")
        };
        return refuse(
            draft,
            command,
            Reason::InvalidTransition,
            vec![FieldProblem::new("status", what)],
        );
    }
    draft.transition(to, reason);
    draft.finish(AnswerVerdict::Applied, None)
}

/// Makes a stuck task ready again, or ends the wait of a ready task so that it starts at once.
fn retry(mut draft: DecisionDraft, command: &Command, task: &Task) -> Decision {
    let trials = &task.history;
    let held = trials.not_before.is_some() || !trials.parked().is_empty();
    let waits = held || !trials.failures.is_empty();
    if task.status() != Status::Ready || !waits {
        let stuck = [Status::Deadletter, Status::Blocked];
        return transition_from(&stuck, draft, command, task, Status::Ready, "retry");
    }
    draft.push(Event::TaskRetried {});
    draft.finish(AnswerVerdict::Applied, None)
}

/// Unparks an agent in every task that recorded it as unable to work.
fn unpark_agent(world: &World, mut draft: DecisionDraft, agent: &AgentId) -> Decision {
    let tasks = tasks_that_parked(world, agent);
    for task in &tasks {
        draft.set_task_id(task);
        draft.push(Event::AgentFreed { agent: agent.clone() });
    }
    draft.finish(if tasks.is_empty() { AnswerVerdict::Noop } else { AnswerVerdict::Applied }, None)
}

fn answer(mut draft: DecisionDraft, command: &Command, task: &Task, text: &str) -> Decision {
    if text.trim().is_empty() {
        let problem = FieldProblem::new("text", "must not be empty");
        return refuse(draft, command, Reason::InvalidArgument, vec![problem]);
    }
    if let Some(asked) = permission::pending_request(task) {
        return permission::answer(draft, command, task, asked, &PermissionDecision::Choose(text));
    }
    if task.status() == Status::Blocked && task.history.blocked_by.is_none() {
        draft.push(Event::TaskAnswered { text: text.to_owned() });
    } else if task.history.blocked_by.is_some() {
        let what = "it depends on a task that will not be done (cancelled or given up)";
        let problem = FieldProblem::new("dependsOn", what);
        return refuse(draft, command, Reason::HeldBack, vec![problem]);
    }
    transition_from(&[Status::Blocked], draft, command, task, Status::Ready, "answered")
}

/// Returns a cancelled task to the backlog. Tasks that depend on it wait for it again.
fn reopen(mut draft: DecisionDraft, command: &Command, task: &Task, reason: &str) -> Decision {
    let from = task.status();
    if from != Status::Cancelled {
        let problem = FieldProblem::new("status", format!("is {from}, not cancelled"));
        return refuse(draft, command, Reason::InvalidTransition, vec![problem]);
    }
    draft.move_to(from, Status::Backlog, reason, TransitionCause::Reopened);
    draft.finish(AnswerVerdict::Applied, None)
}

/// Creates a task with the content of another one. The document or story that the other one was
/// made from, its runs and its work log stay behind.
fn copy(
    draft: DecisionDraft,
    created: &CreatedTask<'_>,
    task: &Task,
    start: InitialStatus,
    content: Option<&TaskFileContent>,
) -> Decision {
    if let Some(position) = task.story() {
        let text = format!("{} is a story; `adjutant story start` starts one", position.story);
        let problem = FieldProblem::new("metadata.story", text);
        return refuse(draft, created.command, Reason::StoryOwned, vec![problem]);
    }
    let Some(content) = content else {
        return refuse(draft, created.command, Reason::TaskUnreadable, vec![]);
    };
    let new = NewTask {
        title: task.title.to_string(),
        body: strip_work_log(&content.body).to_owned(),
        priority: task.priority,
        routing: task.routing.clone(),
        parent: task.parent.clone(),
        depends_on: task.depends_on.clone(),
        resource: task.resource.as_deref().map(str::to_owned),
        due_by: task.due_by,
        review: task.review,
        start,
        checks: vec![],
        budget: task.history.account().map(|account| account.budget).unwrap_or_default(),
        limits: content.limits,
    };
    // An empty list of checks means something else than none, so the list is taken as it is.
    let RunHistory { checks, accepted_checks, .. } = task.history.clone();
    let history = RunHistory { checks, accepted_checks, ..initial_history(&new) };
    created.add(draft, &new, history)
}

/// What the creation of a task needs beside the task.
struct CreatedTask<'a> {
    world: &'a World,
    command: &'a Command,
    actor: &'a Actor,
    now: Time,
}

impl CreatedTask<'_> {
    fn add(&self, mut draft: DecisionDraft, new: &NewTask, history: RunHistory) -> Decision {
        let id = self.world.next_id(self.now);
        let checked = check_title(&new.title)
            .and_then(|()| check_commands(&new.checks))
            .and_then(|()| check_links(self.world, &id, new.parent.as_ref(), &new.depends_on));
        if let Err((reason, problem)) = checked {
            return refuse(draft, self.command, reason, vec![problem]);
        }
        let task = Task { history, ..new_task(id, new, self.actor, self.now) };
        draft.load_task(&task);
        draft.push(created_event(task, new));
        let mut decision = draft.finish(AnswerVerdict::Applied, None);
        decision.answer.warnings.extend(routing_warning(self.world, &new.routing));
        decision
    }
}

/// Makes a task as it is requested, without a history.
pub(super) fn new_task(id: TaskId, new: &NewTask, actor: &Actor, now: Time) -> Task {
    Task {
        state: TaskState::entered(new.start.status()),
        priority: new.priority,
        routing: new.routing.clone(),
        parent: new.parent.clone(),
        depends_on: new.depends_on.clone(),
        resource: new.resource.as_deref().map(Into::into),
        due_by: new.due_by,
        review: new.review,
        history: initial_history(new),
        ..Task::new(id, &new.title, actor, now)
    }
}

pub(super) fn created_event(task: Task, new: &NewTask) -> Event {
    let limits = Some(new.limits).filter(|limits| !limits.is_empty());
    Event::TaskCreated { task: Box::new(task), body: Some(new.body.clone()), limits }
}

fn initial_history(new: &NewTask) -> RunHistory {
    let mut history = RunHistory::default();
    history.set_checks(to_check_commands(&new.checks));
    history.keep(|account| account.budget = new.budget);
    history
}

fn edit(
    world: &World,
    mut draft: DecisionDraft,
    command: &Command,
    task: &Task,
    changes: &TaskChanges,
    now: Time,
) -> Decision {
    let (mut edited, mut fields) = apply_changes(task, changes);
    let (limits, limit_names) = changes.time_limits();
    fields.extend(limit_names);
    if changes.body.is_some() {
        fields.push("body".to_owned());
    }
    if fields.is_empty() {
        return draft.finish(AnswerVerdict::Noop, None);
    }
    let checked = check_title(&edited.title)
        .and_then(|()| check_commands(changes.checks.as_deref().unwrap_or_default()))
        .and_then(|()| check_links(world, &task.id, edited.parent.as_ref(), &edited.depends_on));
    if let Err((reason, problem)) = checked {
        return refuse(draft, command, reason, vec![problem]);
    }
    edited.updated_at = now;
    let rerouted =
        (edited.routing != task.routing).then(|| routing_warning(world, &edited.routing));
    let (task, body) = (Box::new(edited), changes.body.clone());
    draft.push(Event::TaskEdited { task, changed: fields, body, limits });
    let mut decision = draft.finish(AnswerVerdict::Applied, None);
    decision.answer.warnings.extend(rerouted.flatten());
    decision
}

/// Returns the edited task and the names of the fields that differ.
fn apply_changes(task: &Task, changes: &TaskChanges) -> (Task, Vec<String>) {
    let mut edited = task.clone();
    if let Some(title) = &changes.title {
        edited.title = title.trim().into();
    }
    if let Some(priority) = changes.priority {
        edited.priority = priority;
    }
    if let Some(agent) = &changes.agent {
        edited.routing.agent.clone_from(agent);
    }
    if let Some(tags) = &changes.tags {
        edited.routing.tags = tags.iter().map(|tag| tag.as_str().into()).collect();
    }
    if let Some(depends_on) = &changes.depends_on {
        edited.depends_on.clone_from(depends_on);
    }
    if let Some(parent) = &changes.parent {
        edited.parent.clone_from(parent);
    }
    if let Some(resource) = &changes.resource {
        edited.resource = resource.as_deref().map(Into::into);
    }
    if let Some(due_by) = changes.due_by {
        edited.due_by = due_by;
    }
    if let Some(review) = changes.review {
        edited.review = review;
    }
    if let Some(mode) = &changes.mode {
        edited.routing.mode = mode.as_deref().map(Into::into);
    }
    if let Some(role) = &changes.role {
        edited.routing.role = role.as_deref().map(Into::into);
    }
    if let Some(checks) = &changes.checks {
        edited.history.set_checks(to_check_commands(checks));
    }
    edited.history.keep(|account| {
        account.budget.tokens = changes.budget_tokens.unwrap_or(account.budget.tokens);
        account.budget.cost = changes.budget_cost.unwrap_or(account.budget.cost);
    });
    let names = super::file_change::changed_fields(task, &edited);
    (edited, names)
}

pub(super) type FieldRefusal = (Reason, FieldProblem);

pub(super) fn check_title(title: &str) -> Result<(), FieldRefusal> {
    let wrong =
        |message: String| Err((Reason::InvalidArgument, FieldProblem::new("title", message)));
    if title.trim().is_empty() {
        return wrong("must not be empty".to_owned());
    }
    if title.chars().nth(TITLE_CHARS_MAX).is_some() {
        return wrong(format!("must have at most {TITLE_CHARS_MAX} characters"));
    }
    if title.chars().any(char::is_control) {
        return wrong("must be one line without control characters".to_owned());
    }
    Ok(())
}

/// An empty command would always pass, and a command of several lines could not be told
/// from several commands.
pub(super) fn check_commands(checks: &[String]) -> Result<(), FieldRefusal> {
    let wrong = |check: &&String| check.trim().is_empty() || check.chars().any(char::is_control);
    let wrong: Vec<String> =
        checks.iter().filter(wrong).map(|check| format!("{check:?}")).collect();
    if wrong.is_empty() {
        return Ok(());
    }
    let what = format!("each must be a command on one line; these are not: {}", wrong.join(", "));
    Err((Reason::InvalidArgument, FieldProblem::new("checks", what)))
}

fn to_check_commands(checks: &[String]) -> Option<Box<[Box<str>]>> {
    (!checks.is_empty()).then(|| checks.iter().map(|check| check.trim().into()).collect())
}

fn check_links(
    world: &World,
    id: &TaskId,
    parent: Option<&TaskId>,
    depends_on: &[TaskId],
) -> Result<(), FieldRefusal> {
    if let Some(parent) = parent.filter(|parent| world.task(parent).is_none()) {
        let problem = FieldProblem::new("parentId", format!("there is no task {parent}"));
        return Err((Reason::ParentNotFound, problem));
    }
    if parent.is_some_and(|parent| is_descendant_of(world, parent, id)) {
        let problem =
            FieldProblem::new("parentId", format!("{id} would become a subtask of itself"));
        return Err((Reason::DependencyCycle, problem));
    }
    for dependency in depends_on {
        if dependency != id && world.task(dependency).is_none() {
            let problem = FieldProblem::new("dependsOn", format!("there is no task {dependency}"));
            return Err((Reason::DependencyNotFound, problem));
        }
        if is_dependent(world, dependency, id) {
            let problem =
                FieldProblem::new("dependsOn", format!("{dependency} depends on {id} itself"));
            return Err((Reason::DependencyCycle, problem));
        }
    }
    Ok(())
}

/// Returns whether `task` is `on` or depends on it, directly or indirectly.
fn is_dependent(world: &World, task: &TaskId, on: &TaskId) -> bool {
    let mut seen = std::collections::BTreeSet::new();
    let mut open = vec![task];
    while let Some(id) = open.pop() {
        if id == on {
            return true;
        }
        if seen.insert(id)
            && let Some(task) = world.task(id)
        {
            open.extend(&task.depends_on);
        }
    }
    false
}
