//! Keeps a story's task in line with the story's files: creates, moves and closes it.
//!
//! The files own the position. This module only decides which transitions of the task follow from
//! it; the same facts twice change nothing.

use adjutant_model::actor::Actor;
use adjutant_model::answer::{AnswerVerdict, FieldProblem, Reason};
use adjutant_model::command::Command;
use adjutant_model::effect::StopReason;
use adjutant_model::event::Event;
use adjutant_model::request::StoryFacts;
use adjutant_model::status::Status;
use adjutant_model::story::{Step, StepStatus, StoryHold, StoryPosition};
use adjutant_model::task::{TITLE_CHARS_MAX, Task, TaskRouting, TaskState};
use adjutant_model::task_origin::TaskOrigin;
use adjutant_model::time::Time;

use super::draft::DecisionDraft;
use crate::decision::Decision;
use crate::world::World;

pub(super) fn decide(world: &World, by: &Actor, facts: &StoryFacts, now: Time) -> Decision {
    // A timeout stops the executor at once, in the scheduler's name; an executor that has reported
    // is given time to end.
    let by = match facts.position.status {
        StepStatus::Timeout => &Actor::Scheduler,
        _ => by,
    };
    let mut draft = DecisionDraft::new(by.clone(), None);
    match StoryChange::find(world, facts) {
        StoryChange::Nothing(task, reason) => {
            if let Some(task) = task {
                draft.load_task(task);
            }
            draft.finish(AnswerVerdict::Noop, reason)
        }
        StoryChange::Update(task, update) => update_task(draft, task, update, facts, now),
        StoryChange::Create => create_task(world, draft, by, facts, now),
    }
}

/// Returns whether facts about a story change its task or create one.
pub fn has_story_news(world: &World, facts: &StoryFacts) -> bool {
    !matches!(StoryChange::find(world, facts), StoryChange::Nothing(..))
}

/// What the facts about a story change.
enum StoryChange<'w> {
    /// The story's task, if there is one, stays as it is; the reason is for the answer.
    Nothing(Option<&'w Task>, Option<Reason>),
    Update(&'w Task, TaskUpdate),
    Create,
}

/// How a story's task follows the story's facts.
struct TaskUpdate {
    /// The task with its new fields, and their names.
    edited: Option<(Box<Task>, Vec<String>)>,
    has_moved: bool,
    /// The statuses that the task passes through, in order.
    transitions: Vec<Status>,
}

impl<'w> StoryChange<'w> {
    fn find(world: &'w World, facts: &StoryFacts) -> Self {
        match world.task_of_story(&facts.position.story) {
            Some(task) if !task.status().is_closed() => TaskUpdate::find(task, facts)
                .map_or(Self::Nothing(Some(task), None), |update| Self::Update(task, update)),
            Some(task) if !needs_new_task(task, facts) => {
                Self::Nothing(Some(task), Some(Reason::TaskClosed))
            }
            _ if is_done(&facts.position) => Self::Nothing(None, None),
            // The story's task may be one whose file cannot be read.
            _ if !world.unreadable().is_empty() => {
                Self::Nothing(None, Some(Reason::TaskUnreadable))
            }
            _ => Self::Create,
        }
    }
}

impl TaskUpdate {
    /// Returns what changes in an open task; `None` if it follows the facts already.
    fn find(task: &Task, facts: &StoryFacts) -> Option<Self> {
        // Another checkout of the project may contain the same files; it must not move the task.
        if !is_from_home_node(task, &facts.position) {
            return None;
        }
        let edited = edit_fields(task, facts);
        let has_moved = task.story() != Some(&facts.position);
        // A task that was given up because its runs could not be started waits for a person.
        let may_move = task.status() != Status::Deadletter || has_moved;
        let transitions = if may_move { transitions_to(task, &facts.position) } else { vec![] };
        let is_empty = edited.is_none() && !has_moved && transitions.is_empty();
        (!is_empty).then_some(Self { edited, has_moved, transitions })
    }
}

/// Returns whether the facts come from the story's home node, the first node that reported the
/// story. A single machine is always the home.
fn is_from_home_node(task: &Task, position: &StoryPosition) -> bool {
    let home = task.home();
    position.node.is_none() || home.is_none() || home == position.node.as_ref()
}

fn is_done(position: &StoryPosition) -> bool {
    position.step == Step::Done
}

/// Returns whether a story with a closed task needs a new one: it was done and is not any more, or
/// its task was cancelled and a person has resumed the story since.
fn needs_new_task(task: &Task, facts: &StoryFacts) -> bool {
    let since = |time: Time| time > task.last_transition_at;
    match task.status() {
        Status::Done => !is_done(&facts.position),
        _ => !is_done(&facts.position) && facts.taken_up_at.is_some_and(since),
    }
}

fn create_task(
    world: &World,
    mut draft: DecisionDraft,
    by: &Actor,
    facts: &StoryFacts,
    now: Time,
) -> Decision {
    let position = &facts.position;
    let task = Task {
        state: TaskState::Ready,
        routing: TaskRouting { agent: facts.agent.clone(), ..TaskRouting::default() },
        origin: Some(Box::new(TaskOrigin::of_story(position.clone()))),
        ..Task::new(world.next_id(now), &story_title(facts), by, now)
    };
    draft.load_task(&task);
    let body = format!(
        "This task follows the story {0}. The project's files under `.ai` decide its status; \
         `adjutant story status --story {0}` shows it.\n",
        position.story
    );
    let created = Box::new(task.clone());
    draft.push(Event::TaskCreated { task: created, body: Some(body), limits: None });
    for status in transitions_to(&task, position) {
        draft.transition(status, &position.in_words());
    }
    draft.finish(AnswerVerdict::Applied, None)
}

fn update_task(
    mut draft: DecisionDraft,
    task: &Task,
    update: TaskUpdate,
    facts: &StoryFacts,
    now: Time,
) -> Decision {
    let position = &facts.position;
    draft.load_task(task);
    if let Some((mut task, changed)) = update.edited {
        task.updated_at = now;
        draft.push(Event::TaskEdited { task, changed, body: None, limits: None });
    }
    if update.has_moved {
        draft.push(Event::StoryMoved { position: Box::new(position.clone()) });
        let was_running = task.story().is_some_and(|story| story.status == StepStatus::Running);
        if was_running && matches!(position.status, StepStatus::Pass | StepStatus::Failing) {
            draft.request_stop(StopReason::Reported);
        }
    }
    for status in update.transitions {
        draft.transition(status, &position.in_words());
    }
    draft.finish(AnswerVerdict::Applied, None)
}

/// Replaces the title while it is still the story's id, and the agent if the facts name one.
/// Returns `None` if that changes nothing.
fn edit_fields(task: &Task, facts: &StoryFacts) -> Option<(Box<Task>, Vec<String>)> {
    let mut edited = task.clone();
    if *task.title == *facts.position.story.as_str() {
        edited.title = story_title(facts).into();
    }
    if facts.agent.is_some() {
        edited.routing.agent.clone_from(&facts.agent);
    }
    let changed = super::file_change::changed_fields(task, &edited);
    (!changed.is_empty()).then(|| (Box::new(edited), changed))
}

/// Returns the title of the task: the story's id, followed by the title of its scenarios.
fn story_title(facts: &StoryFacts) -> String {
    let story = facts.position.story.as_str();
    let heading =
        facts.title.as_deref().map(adjutant_model::work_log::single_line).unwrap_or_default();
    let heading: String = heading.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let title = match heading.trim() {
        "" => story.to_owned(),
        heading if heading.contains(story) => heading.to_owned(),
        heading => format!("{story} {heading}"),
    };
    title.chars().take(TITLE_CHARS_MAX).collect()
}

/// Returns the statuses that lead the task to the one that matches the story's position.
fn transitions_to(task: &Task, position: &StoryPosition) -> Vec<Status> {
    let (from, to) = (task.status(), target_status(position));
    // The assigned run is about to start the step, or has yet to end.
    let is_working = task.lease().is_some() || task.history.open.is_some();
    if from == to || (to == Status::Ready && from == Status::InProgress && is_working) {
        return vec![];
    }
    find_transitions(from, to)
}

/// Returns the task status that matches a story's position.
fn target_status(position: &StoryPosition) -> Status {
    match position.status {
        _ if is_done(position) => Status::Done,
        StepStatus::Pending | StepStatus::Pass | StepStatus::Failing => Status::Ready,
        StepStatus::Running => Status::InProgress,
        StepStatus::Timeout => Status::Blocked,
        StepStatus::NeedsHuman => match position.hold {
            // A person decides whether the work is good.
            Some(StoryHold::Review | StoryHold::NoVerdict) => Status::Review,
            Some(StoryHold::Stuck | StoryHold::Limit | StoryHold::Asked) | None => Status::Blocked,
        },
    }
}

/// Returns the transitions that lead from one status to another by the transition table.
fn find_transitions(from: Status, to: Status) -> Vec<Status> {
    if from.may_move_to(to) {
        return vec![to];
    }
    let over = match to {
        Status::Done => Status::Review,
        Status::Review => Status::InProgress,
        Status::InProgress | Status::Blocked => Status::Ready,
        Status::Backlog | Status::Ready | Status::Cancelled | Status::Deadletter => return vec![],
    };
    let mut path = if from == over { vec![] } else { find_transitions(from, over) };
    path.push(to);
    path
}

/// Returns why a command that would set a story's position is refused. The story's files own the
/// position, so the caller must change them first.
pub(super) fn refuse_position_command<'w>(
    world: &'w World,
    command: &Command,
) -> Option<(&'w Task, FieldProblem)> {
    let task = world.task(command.task()?)?;
    let position = task.story().filter(|_| sets_position(command, task))?;
    let place = position.node.as_ref().map_or_else(String::new, |node| format!(" on {node}"));
    let text = format!(
        "the files of {}{place} decide its status: {}; use `adjutant story` to move it",
        position.story,
        position.in_words()
    );
    Some((task, FieldProblem::new("metadata.story", text)))
}

/// Returns whether a command would set the story's position. Cancelling does not, and neither does
/// retrying a task that was given up because its runs could not be started.
fn sets_position(command: &Command, task: &Task) -> bool {
    match command {
        Command::Move { to, .. } => *to != Status::Cancelled && *to != task.status(),
        Command::Retry { .. } => task.status() != Status::Deadletter,
        Command::Reopen { .. } => true,
        // Answering a step's permission request does not set the story's position.
        Command::Approve { .. }
        | Command::ApproveProtected { .. }
        | Command::Reject { .. }
        | Command::Answer { .. } => super::permission::pending_request(task).is_none(),
        Command::Add(_)
        | Command::Import(_)
        | Command::Edit { .. }
        | Command::AcceptChecks { .. }
        | Command::Cancel { .. }
        | Command::Copy { .. }
        | Command::Chore(_)
        | Command::Take { .. }
        | Command::Free { .. }
        | Command::ApplySalvage { .. } => false,
    }
}
