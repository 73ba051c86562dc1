//! Permission requests: a run asks, and a person answers while the run waits.

use adjutant_model::actor::Actor;
use adjutant_model::answer::{AnswerVerdict, FieldProblem, Reason};
use adjutant_model::command::Command;
use adjutant_model::effect::Effect;
use adjutant_model::event::Event;
use adjutant_model::permission::{
    CHOICE_CHARS_MAX, CHOICES_MAX, PermissionChoice, PermissionRequest, TEXT_CHARS_MAX, choose,
};
use adjutant_model::request::AskedPermission;
use adjutant_model::task::{Lease, Task};
use adjutant_model::task_id::TaskId;
use adjutant_model::time::Time;

use super::command::refuse;
use super::draft::DecisionDraft;
use super::message::find_task;
use crate::decision::Decision;
use crate::input::TokenOwner;
use crate::world::World;

/// The command name logged when a request is refused.
const PERMISSION_COMMAND: &str = "ask for permission";

/// A person's answer to a permission request.
pub(super) enum PermissionDecision<'a> {
    Allow(&'a str),
    Deny(&'a str),
    Choose(&'a str),
}

/// Records a run's permission request. The same request sent again is recorded once.
pub(super) fn ask(
    world: &World,
    id: &TaskId,
    by: &Actor,
    token: &TokenOwner,
    asked: &AskedPermission,
    now: Time,
) -> Decision {
    let mut draft = DecisionDraft::new(by.clone(), Some(id.clone()));
    let held = find_task(world, id).and_then(|task| Ok((task, find_lease(task, token)?)));
    let (task, lease) = match held {
        Ok(held) => held,
        Err(reason) => {
            if let Some(task) = world.task(id) {
                draft.load_task(task);
            }
            draft.push(Event::CommandRefused { command: PERMISSION_COMMAND.to_owned(), reason });
            return draft.finish(AnswerVerdict::Rejected, Some(reason));
        }
    };
    draft.load_task(task);
    let problems = find_problems(asked);
    if !problems.is_empty() {
        let reason = Reason::InvalidArgument;
        draft.push(Event::CommandRefused { command: PERMISSION_COMMAND.to_owned(), reason });
        let mut decision = draft.finish(AnswerVerdict::Rejected, Some(reason));
        decision.answer.problems = problems;
        return decision;
    }
    let newer =
        |permit: &PermissionRequest| permit.fence == lease.fence && permit.number >= asked.number;
    if task.history.permit.as_deref().is_some_and(newer) {
        return draft.finish(AnswerVerdict::Noop, None);
    }
    draft.push(Event::RunAsked {
        permit: Box::new(PermissionRequest {
            attempt: lease.attempt,
            fence: lease.fence,
            number: asked.number,
            since: now,
            text: asked.text.clone(),
            choices: asked.choices.clone(),
        }),
    });
    draft.finish(AnswerVerdict::Applied, None)
}

/// Returns the task's lease if the token belongs to the run that holds it.
fn find_lease<'t>(task: &'t Task, token: &TokenOwner) -> Result<&'t Lease, Reason> {
    match token {
        TokenOwner::Run { task: of, fence, nonce } if *of == task.id => {
            task.lease().filter(|lease| lease.is_of(*fence, *nonce)).ok_or(Reason::StaleRun)
        }
        TokenOwner::None | TokenOwner::Unknown | TokenOwner::Run { .. } => {
            Err(Reason::UnknownToken)
        }
    }
}

/// Returns every problem with a request.
fn find_problems(asked: &AskedPermission) -> Vec<FieldProblem> {
    let mut problems = Vec::new();
    let mut check = |ok: bool, path: &str, message: String| {
        if !ok {
            problems.push(FieldProblem::new(path, message));
        }
    };
    let within = |text: &str, most: usize| text.chars().nth(most).is_none();
    check(!asked.text.trim().is_empty(), "text", "must not be empty".to_owned());
    check(
        within(&asked.text, TEXT_CHARS_MAX),
        "text",
        format!("must have at most {TEXT_CHARS_MAX} characters"),
    );
    check(
        (1..=CHOICES_MAX).contains(&asked.choices.len()),
        "choices",
        format!("must have 1 to {CHOICES_MAX} items"),
    );
    for (place, choice) in asked.choices.iter().enumerate() {
        let fits = within(&choice.id, CHOICE_CHARS_MAX) && within(&choice.name, CHOICE_CHARS_MAX);
        let message = format!("must have at most {CHOICE_CHARS_MAX} characters");
        check(fits, &format!("choices[{place}]"), message);
    }
    problems
}

/// Returns the permission request that the task's run waits on.
pub(super) fn pending_request(task: &Task) -> Option<&PermissionRequest> {
    let lease = task.lease()?;
    task.history.permit.as_deref().filter(|permit| permit.fence == lease.fence)
}

/// Answers a permission request, so that the run can continue.
pub(super) fn answer(
    mut draft: DecisionDraft,
    command: &Command,
    task: &Task,
    permit: &PermissionRequest,
    wish: &PermissionDecision<'_>,
) -> Decision {
    let (chosen, note) = match wish {
        PermissionDecision::Allow(note) => {
            let Some(choice) = choose(&permit.choices, true) else {
                let problem = FieldProblem::new("choices", "none of them allows the action");
                return refuse(draft, command, Reason::InvalidArgument, vec![problem]);
            };
            (Some(choice), *note)
        }
        PermissionDecision::Deny(reason) => (choose(&permit.choices, false), *reason),
        PermissionDecision::Choose(text) => match parse_choice(permit, text) {
            Ok(chosen) => (chosen, ""),
            Err(problem) => {
                return refuse(draft, command, Reason::InvalidArgument, vec![problem]);
            }
        },
    };
    let choice = chosen.map(|choice| choice.id.clone());
    draft.push(Event::RunAnswered {
        attempt: permit.attempt,
        fence: permit.fence,
        number: permit.number,
        choice: choice.clone(),
        allowed: chosen.is_some_and(|choice| choice.kind.allows()),
        note: note.to_owned(),
    });
    let (attempt, number) = (permit.attempt, permit.number);
    draft.add_effect(Effect::TellRun { task: task.id.clone(), attempt, number, choice });
    draft.finish(AnswerVerdict::Applied, None)
}

/// Finds the choice that a text names: `allow`, `deny`, or a choice by its id, name or kind. With a
/// number and a colon before it, the text answers the request with that number only. `Ok(None)`
/// denies a request for which the agent offered no denial.
fn parse_choice<'p>(
    permit: &'p PermissionRequest,
    text: &str,
) -> Result<Option<&'p PermissionChoice>, FieldProblem> {
    let numbered = text
        .split_once(':')
        .and_then(|(number, rest)| Some((number.trim().parse::<u32>().ok()?, rest)));
    let (number, words) = numbered.unwrap_or((permit.number, text));
    if number != permit.number {
        let now = permit.number;
        let what = format!("request {number} is no longer pending; the pending request is {now}");
        return Err(FieldProblem::new("text", what));
    }
    let words = words.trim();
    let is = |said: &str| said.eq_ignore_ascii_case(words);
    let named = |choice: &&PermissionChoice| {
        choice.id == words || is(&choice.name) || is(choice.kind.as_str())
    };
    if let Some(choice) = permit.choices.iter().find(named) {
        return Ok(Some(choice));
    }
    match words.to_ascii_lowercase().as_str() {
        "deny" | "no" => return Ok(choose(&permit.choices, false)),
        "allow" | "yes" => {
            if let Some(choice) = choose(&permit.choices, true) {
                return Ok(Some(choice));
            }
        }
        _ => {}
    }
    let all: Vec<String> = permit.choices.iter().map(|choice| choice.name.clone()).collect();
    let what = format!("must be `allow`, `deny`, or one of: {}", all.join(", "));
    Err(FieldProblem::new("text", what))
}
