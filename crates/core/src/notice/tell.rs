//! Which notices a decision owes: one for every event and every rule that wants it.

use std::collections::BTreeSet;

use super::{Kind, Notice, Rule};
use crate::decide::Decision;
use crate::effect::Effect;
use crate::event::{Event, EventId, Happened};
use crate::fields::REASON_CHARS_MAX;
use crate::id::TaskId;
use crate::status::Status;
use crate::task::Task;
use crate::time::Time;
use crate::worklog::single_line;
use crate::world::World;

/// The most characters of a title that are told.
const TITLE_CHARS_MAX: usize = 256;

/// Adds to a decision what it owes to people.
pub(crate) fn tell(world: &World, mut decision: Decision, now: Time) -> Decision {
    let rules = &world.policy().notify;
    if rules.is_empty() || decision.events.is_empty() {
        return decision;
    }
    let notices: Vec<Notice> = notices(world, &decision.events, now);
    let mut owed = Vec::new();
    for rule in rules {
        let mut said: BTreeSet<Option<TaskId>> = BTreeSet::new();
        for notice in notices.iter().filter(|notice| is_for(rule, notice, world, &decision)) {
            // Who is told that a task is blocked is told what it asks by that.
            if notice.kind == Kind::Question && said.contains(&notice.task) {
                continue;
            }
            if matches!(notice.kind, Kind::Review | Kind::Blocked) {
                said.insert(notice.task.clone());
            }
            owed.push(Effect::Notify { rule: rule.name.clone(), notice: Box::new(notice.clone()) });
        }
    }
    decision.effects.extend(owed);
    decision
}

/// Returns what there is to tell, moves first: a question that blocks a task is told with that.
fn notices(world: &World, events: &[Happened], now: Time) -> Vec<Notice> {
    let first = world.last_event().0 + 1;
    let mut all: Vec<Notice> = (first..)
        .zip(events)
        .filter_map(|(id, happened)| {
            let (kind, reason) = told(&happened.event)?;
            let task = happened.task.as_ref().and_then(|id| find(world, events, id));
            let title = task.map_or(String::new(), |task| short(&task.title, TITLE_CHARS_MAX));
            Some(Notice {
                kind,
                event: EventId(id),
                at: now,
                task: happened.task.clone(),
                title,
                reason: short(&reason, REASON_CHARS_MAX),
                by: happened.actor.clone(),
            })
        })
        .collect();
    all.sort_by_key(|notice| (notice.kind == Kind::Question, notice.event));
    all
}

/// Finds a task in the world, or among what this very decision makes.
fn find<'a>(world: &'a World, events: &'a [Happened], id: &TaskId) -> Option<&'a Task> {
    let made = |happened: &'a Happened| match &happened.event {
        Event::TaskCreated { task, .. } | Event::TaskEdited { task, .. } if task.id == *id => {
            Some(&**task)
        }
        _ => None,
    };
    events.iter().find_map(made).or_else(|| world.task(id))
}

fn is_for(rule: &Rule, notice: &Notice, world: &World, decision: &Decision) -> bool {
    let task = notice.task.as_ref().and_then(|id| find(world, &decision.events, id));
    let wanted = task.map_or_else(|| rule.wants_all(), |task| rule.wants(task));
    rule.on.contains(&notice.kind) && wanted
}

/// Returns what an event is to people, and why it came about.
fn told(event: &Event) -> Option<(Kind, String)> {
    Some(match event {
        Event::TaskTransitioned { to, reason, .. } => (of_status(*to)?, reason.clone()),
        Event::TaskAsked { question } => (Kind::Question, question.text.clone()),
        Event::RunAsked { permit } => (Kind::Question, permit.text.clone()),
        Event::RunSalvaged { file, reason, .. } => (Kind::Salvage, format!("{file}: {reason}")),
        Event::RunParked { parked, .. } if parked.until.is_none() => {
            (Kind::Unusable, format!("{}: {}", parked.who(), parked.reason))
        }
        Event::MergeWaiting { reason } => (Kind::Merge, reason.clone()),
        Event::DispatchRefused { detail, .. } => (Kind::Held, detail.clone()),
        Event::RunFailed { reason, .. } => (Kind::Failed, reason.clone()),
        Event::AccessRefused { reason, detail, .. } => {
            (Kind::Refused, format!("{reason}: {detail}"))
        }
        _ => return None,
    })
}

fn of_status(to: Status) -> Option<Kind> {
    Some(match to {
        Status::Review => Kind::Review,
        Status::Blocked => Kind::Blocked,
        Status::Done => Kind::Done,
        Status::Deadletter => Kind::Deadletter,
        Status::Cancelled => Kind::Cancelled,
        Status::Backlog | Status::Ready | Status::InProgress => return None,
    })
}

/// Returns a text in one line that is not too long: whoever wants to know all of it looks.
fn short(text: &str, chars_max: usize) -> String {
    let line = single_line(text);
    if line.chars().nth(chars_max).is_none() {
        return line;
    }
    line.chars().take(chars_max - 1).chain(['…']).collect()
}
