//! A run asks whether it may do something, and a person answers while it waits.

use super::Decision;
use super::command::refuse;
use super::draft::Draft;
use super::message::find;
use crate::answer::{Problem, Reason, Verdict};
use crate::command::Command;
use crate::effect::Effect;
use crate::event::Event;
use crate::id::TaskId;
use crate::input::{Asked, Token};
use crate::name::Actor;
use crate::permit::{CHOICE_CHARS_MAX, CHOICES_MAX, Choice, Permit, TEXT_CHARS_MAX, choose};
use crate::task::{Lease, Task};
use crate::time::Time;
use crate::world::World;

/// What the question is called in the record when it is refused.
const COMMAND: &str = "ask for permission";

/// What a person wants to answer.
pub(super) enum Wish<'a> {
    /// That it may, with a note.
    Allow(&'a str),
    /// That it may not, for a reason.
    Deny(&'a str),
    /// One of the choices, in words.
    Choose(&'a str),
}

/// Puts the question of a run to people. Asked again, it is asked once.
pub(super) fn ask(
    world: &World,
    id: &TaskId,
    by: &Actor,
    token: &Token,
    asked: &Asked,
    now: Time,
) -> Decision {
    let mut draft = Draft::new(by.clone(), Some(id.clone()));
    let held = find(world, id).and_then(|task| Ok((task, lease(task, token)?)));
    let (task, lease) = match held {
        Ok(held) => held,
        Err(reason) => {
            if let Some(task) = world.task(id) {
                draft.on(task);
            }
            draft.push(Event::CommandRefused { command: COMMAND.to_owned(), reason });
            return draft.end(Verdict::Rejected, Some(reason));
        }
    };
    draft.on(task);
    let problems = wrong(asked);
    if !problems.is_empty() {
        let reason = Reason::InvalidArgument;
        draft.push(Event::CommandRefused { command: COMMAND.to_owned(), reason });
        let mut decision = draft.end(Verdict::Rejected, Some(reason));
        decision.answer.problems = problems;
        return decision;
    }
    let newer = |permit: &Permit| permit.fence == lease.fence && permit.number >= asked.number;
    if task.trials.permit.as_deref().is_some_and(newer) {
        return draft.end(Verdict::Noop, None);
    }
    draft.push(Event::RunAsked {
        permit: Box::new(Permit {
            attempt: lease.attempt,
            fence: lease.fence,
            number: asked.number,
            since: now,
            text: asked.text.clone(),
            choices: asked.choices.clone(),
        }),
    });
    draft.end(Verdict::Applied, None)
}

/// Returns the lease of the run that a token was given to, if it still holds it.
fn lease<'t>(task: &'t Task, token: &Token) -> Result<&'t Lease, Reason> {
    match token {
        Token::Run { task: of, fence } if *of == task.id => {
            task.lease().filter(|lease| lease.fence == *fence).ok_or(Reason::StaleRun)
        }
        Token::None | Token::Unknown | Token::Run { .. } => Err(Reason::UnknownToken),
    }
}

/// Names everything that is wrong with a question.
fn wrong(asked: &Asked) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut check = |ok: bool, path: &str, message: String| {
        if !ok {
            problems.push(Problem::new(path, message));
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
        format!("must be 1 to {CHOICES_MAX}"),
    );
    for (place, choice) in asked.choices.iter().enumerate() {
        let fits = within(&choice.id, CHOICE_CHARS_MAX) && within(&choice.name, CHOICE_CHARS_MAX);
        let message = format!("must have at most {CHOICE_CHARS_MAX} characters");
        check(fits, &format!("choices[{place}]"), message);
    }
    problems
}

/// Returns what the run of a task waits to be told, if it does.
pub(super) fn waiting(task: &Task) -> Option<&Permit> {
    let lease = task.lease()?;
    task.trials.permit.as_deref().filter(|permit| permit.fence == lease.fence)
}

/// Answers what a run waits for: it is told, and goes on.
pub(super) fn answer(
    mut draft: Draft,
    command: &Command,
    task: &Task,
    permit: &Permit,
    wish: &Wish<'_>,
) -> Decision {
    let (chosen, note) = match wish {
        Wish::Allow(note) => {
            let Some(choice) = choose(&permit.choices, true) else {
                let problem = Problem::new("choices", "none of them allows it");
                return refuse(draft, command, Reason::InvalidArgument, vec![problem]);
            };
            (Some(choice), *note)
        }
        Wish::Deny(reason) => (choose(&permit.choices, false), *reason),
        Wish::Choose(text) => match meant(permit, text) {
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
    draft.owe(Effect::TellRun { task: task.id.clone(), attempt, number, choice });
    draft.end(Verdict::Applied, None)
}

/// Finds the choice that words mean: `allow`, `deny`, or a choice by its id, name or kind; with the
/// number of the question and a colon before it, that question and no other. None is a refusal that
/// the agent has no choice for.
fn meant<'p>(permit: &'p Permit, text: &str) -> Result<Option<&'p Choice>, Problem> {
    let numbered = text
        .split_once(':')
        .and_then(|(number, rest)| Some((number.trim().parse::<u32>().ok()?, rest)));
    let (number, words) = numbered.unwrap_or((permit.number, text));
    if number != permit.number {
        let now = permit.number;
        let what = format!("question {number} is not asked any more; what is asked is {now}");
        return Err(Problem::new("text", what));
    }
    let words = words.trim();
    let is = |said: &str| said.eq_ignore_ascii_case(words);
    let named =
        |choice: &&Choice| choice.id == words || is(&choice.name) || is(choice.kind.as_str());
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
    Err(Problem::new("text", what))
}
