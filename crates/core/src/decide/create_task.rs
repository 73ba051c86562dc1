//! Creates a task from a mission or a `new_task`.

use adjutant_model::answer::{AnswerVerdict, FieldProblem, Reason};
use adjutant_model::delegation::NewTaskDocument;
use adjutant_model::document::ProtocolDocument;
use adjutant_model::event::Event;
use adjutant_model::mission::MissionOrder;
use adjutant_model::policy::TASKS_MAX;
use adjutant_model::priority::Priority;
use adjutant_model::task::{Task, TaskRouting, TaskState};
use adjutant_model::task_origin::TaskOrigin;
use adjutant_model::time::Time;

use super::document::{DocumentSender, record_document, refuse_escaping_paths};
use super::draft::DecisionDraft;
use super::task_size::oversized_task;
use crate::decision::Decision;
use crate::input::{MessageFacts, TokenOwner};
use crate::protocols::aof::ReceivedDocument;
use crate::protocols::work_order::{body_of_mission, body_of_new_task, title_from_text};
use crate::world::World;

/// The task that a document asks for.
pub(super) struct RequestedTask {
    title: String,
    body: String,
    priority: Priority,
    parent: Option<String>,
    due_by: Option<Time>,
    routing: TaskRouting,
    foreign: TaskOrigin,
}

impl RequestedTask {
    pub(super) fn from_mission(mission: &MissionOrder) -> Self {
        Self {
            title: title_from_text(&mission.instruction),
            body: body_of_mission(mission),
            priority: Priority::default(),
            parent: None,
            due_by: None,
            routing: TaskRouting::default(),
            foreign: TaskOrigin::of_mission(mission),
        }
    }

    pub(super) fn from_new_task(task: &NewTaskDocument) -> Self {
        let mode = Some(task.delegated_to_mode.as_str().into());
        Self {
            title: title_from_text(&task.objective),
            body: body_of_new_task(task),
            priority: task
                .priority
                .map(adjutant_model::delegation::NewTaskPriority::to_priority)
                .unwrap_or_default(),
            parent: task.parent_task_id.as_ref().map(ToString::to_string),
            due_by: task.due_by(),
            routing: TaskRouting { mode, ..TaskRouting::default() },
            foreign: TaskOrigin::of_new_task(task),
        }
    }
}

/// Creates the task that a document asks for, unless it exists already.
pub(super) fn create(
    world: &World,
    sent: &ReceivedDocument,
    facts: &MessageFacts,
    now: Time,
    wish: &RequestedTask,
) -> Decision {
    let sender = DocumentSender::from_token(world, &facts.token);
    let mut draft = DecisionDraft::new(sender.actor.clone(), None);
    let known = world.resolve(sent.document.external_task_id()).and_then(|id| world.task(&id));
    if let Some(task) = known {
        draft.load_task(task);
    }
    if let Some((reason, problems)) = refuse_escaping_paths(facts) {
        return draft.reject(reason, problems);
    }
    record_document(&mut draft, sent);
    if let Err(reason) = check_run(world, &facts.token) {
        return draft.reject(reason, vec![]);
    }
    if let Some(task) = known {
        return handle_repeated(draft, task, &sent.document);
    }
    let checked = check_parent(world, wish, &facts.token)
        .and_then(|parent| Ok((parent, delegation_depth(world, parent, &facts.token)?)));
    let (parent, depth) = match checked {
        Ok(checked) => checked,
        Err((reason, problem)) => {
            draft.push(Event::DelegationRejected { reason: reason.as_str().to_owned() });
            return draft.reject(reason, vec![problem]);
        }
    };
    if let Err(problem) = check_task_count(world, &facts.token) {
        return draft.reject(Reason::TooManyRequests, vec![problem]);
    }
    let task = Task { depth, ..build_task(world, wish, parent, &sender, now) };
    draft.load_task(&task);
    let (task, body) = (Box::new(task), Some(wish.body.clone()));
    draft.push(Event::TaskCreated { task, body, limits: None });
    let decision = draft.finish(AnswerVerdict::Applied, None);
    match oversized_task(world, &decision) {
        Some(problem) => {
            DecisionDraft::new(sender.actor, None).reject(Reason::InvalidEnvelope, vec![problem])
        }
        None => decision,
    }
}

/// A request from inside a run must carry the token of the run that holds the lease now.
fn check_run(world: &World, token: &TokenOwner) -> Result<(), Reason> {
    match token {
        TokenOwner::None => Ok(()),
        TokenOwner::Unknown => Err(Reason::UnknownToken),
        TokenOwner::Run { task, fence, nonce } => {
            let lease = world.task(task).and_then(Task::lease);
            let current = lease.is_some_and(|lease| lease.is_of(*fence, *nonce));
            if current { Ok(()) } else { Err(Reason::StaleRun) }
        }
    }
}

/// Sending the same document again changes nothing; a different document under the same
/// id is refused.
fn handle_repeated(draft: DecisionDraft, task: &Task, document: &ProtocolDocument) -> Decision {
    let foreign = task.origin.as_deref();
    let (was, is) = match document {
        ProtocolDocument::Mission(mission) => {
            (foreign.and_then(TaskOrigin::mission).map(MissionOrder::to_map), mission.to_map())
        }
        ProtocolDocument::NewTask(new) => {
            (foreign.and_then(TaskOrigin::new_task).map(NewTaskDocument::to_map), new.to_map())
        }
        ProtocolDocument::Result(_) | ProtocolDocument::AttemptCompletion(_) => {
            (None, document.to_map())
        }
    };
    let Some(was) = was else {
        let problem = FieldProblem::new(
            "",
            format!("task {} exists and was not created from this document", task.id),
        );
        return draft.reject(Reason::TaskConflict, vec![problem]);
    };
    let keys = was.keys().chain(is.keys().filter(|key| !was.contains_key(*key)));
    let differs = keys.filter(|key| was.get(*key) != is.get(*key));
    let problem = |key: &String| {
        FieldProblem::new(
            key,
            format!("differs from the document that {} was created from", task.id),
        )
    };
    let problems: Vec<FieldProblem> = differs.map(problem).collect();
    if problems.is_empty() {
        return draft.finish(AnswerVerdict::Noop, None);
    }
    draft.reject(Reason::TaskConflict, problems)
}

/// A run may create only so many tasks: else a misled agent could fill the project with work.
fn check_task_count(world: &World, token: &TokenOwner) -> Result<(), FieldProblem> {
    let TokenOwner::Run { task, .. } = token else { return Ok(()) };
    let Some((own, lease)) = world.task(task).and_then(|task| Some((task, task.lease()?))) else {
        return Ok(());
    };
    let is_of_run = |child: &&Task| {
        child.parent.as_ref() == Some(&own.id)
            && *child.created_by == *lease.agent.as_str()
            && child.created_at >= lease.acquired_at
    };
    let created = world.tasks().filter(is_of_run).count();
    let agent = world.policy().agents.get(&lease.agent);
    let most = agent.map_or(TASKS_MAX, |agent| agent.tasks_max);
    if created < most as usize {
        return Ok(());
    }
    let what = format!("this run has already created {created} tasks, and `tasks_max` is {most}");
    Err(FieldProblem::new("", what))
}

/// Returns the parent, whose delegation must not be too deep. A run may only create subtasks of its
/// own task, and every task that it creates is one.
fn check_parent<'w>(
    world: &'w World,
    wish: &RequestedTask,
    token: &TokenOwner,
) -> Result<Option<&'w Task>, (Reason, FieldProblem)> {
    let Some(named) = &wish.parent else {
        let TokenOwner::Run { task, .. } = token else { return Ok(None) };
        return Ok(world.task(task));
    };
    let wrong = |reason, what: String| (reason, FieldProblem::new("parentTaskId", what));
    let missing = || wrong(Reason::ParentNotFound, format!("there is no task {named}"));
    let id = world.resolve(named).ok_or_else(missing)?;
    if world.unreadable().contains(&id) {
        let what = format!("the file of {id} cannot be read");
        return Err(wrong(Reason::TaskUnreadable, what));
    }
    let parent = world.task(&id).ok_or_else(missing)?;
    if parent.depth.saturating_add(1) > world.policy().delegation_depth_max.0 {
        let what = format!("{id} was itself delegated");
        return Err(wrong(Reason::NestedDelegation, what));
    }
    match token {
        TokenOwner::Run { task, .. } if *task != parent.id => {
            let what =
                format!("the sender is a run of {task}, which may only create subtasks of {task}");
            Err(wrong(Reason::UnauthorizedAgent, what))
        }
        TokenOwner::None | TokenOwner::Unknown | TokenOwner::Run { .. } => Ok(Some(parent)),
    }
}

/// Returns the delegation depth of the new task. A task requested by a run lies below the run's own
/// task even if it names no parent, so a delegated run cannot delegate further.
fn delegation_depth(
    world: &World,
    parent: Option<&Task>,
    token: &TokenOwner,
) -> Result<u32, (Reason, FieldProblem)> {
    let TokenOwner::Run { task, .. } = token else {
        return Ok(parent.map_or(0, |parent| parent.depth.saturating_add(1)));
    };
    let depth = world.task(task).map_or(0, |task| task.depth).saturating_add(1);
    if depth > world.policy().delegation_depth_max.0 {
        let what = format!("the sender is a run of {task}, which was itself delegated");
        return Err((Reason::NestedDelegation, FieldProblem::new("", what)));
    }
    Ok(depth)
}

fn build_task(
    world: &World,
    wish: &RequestedTask,
    parent: Option<&Task>,
    sender: &DocumentSender,
    now: Time,
) -> Task {
    let sandbox = parent.map(|parent| world.sandbox_of_run(parent)).unwrap_or_default();
    Task {
        state: TaskState::Ready,
        priority: wish.priority,
        routing: TaskRouting { sandbox, ..wish.routing.clone() },
        parent: parent.map(|parent| parent.id.clone()),
        due_by: wish.due_by,
        origin: Some(Box::new(wish.foreign.clone())),
        ..Task::new(world.next_id(now), &wish.title, &sender.actor, now)
    }
}
