//! Adds notify effects to a decision: one for every event and every rule that wants it.

use std::collections::BTreeSet;

use adjutant_model::effect::Effect;
use adjutant_model::event::{Event, NewEvent};
use adjutant_model::event_id::EventId;
use adjutant_model::field_reader::REASON_CHARS_MAX;
use adjutant_model::status::Status;
use adjutant_model::task::Task;
use adjutant_model::task_id::TaskId;
use adjutant_model::time::Time;
use adjutant_model::work_log::single_line;

use super::{NoticeKind, NotifyRule, OperatorNotice};
use crate::decision::Decision;
use crate::world::World;

/// The maximum length of a title in a notice.
const TITLE_CHARS_MAX: usize = 256;

/// Adds the notify effects of a decision's events to it.
pub(crate) fn add_notify_effects(world: &World, mut decision: Decision, now: Time) -> Decision {
    let rules = &world.policy().notify;
    if rules.is_empty() || decision.events.is_empty() {
        return decision;
    }
    let notices: Vec<OperatorNotice> = notices(world, &decision.events, now);
    let mut effects = Vec::new();
    for rule in rules {
        let mut asked: BTreeSet<Option<TaskId>> = BTreeSet::new();
        for notice in notices.iter().filter(|notice| matches_rule(rule, notice, world, &decision)) {
            // A notice that a task is blocked or in review already covers its question.
            if notice.kind == NoticeKind::Question && asked.contains(&notice.task) {
                continue;
            }
            if matches!(notice.kind, NoticeKind::Review | NoticeKind::Blocked) {
                asked.insert(notice.task.clone());
            }
            effects
                .push(Effect::Notify { rule: rule.name.clone(), notice: Box::new(notice.clone()) });
        }
    }
    decision.effects.extend(effects);
    decision
}

/// Returns the notices of these events, questions last: a question that blocks a task is covered by
/// the notice of the transition, which therefore has to come first.
fn notices(world: &World, events: &[NewEvent], now: Time) -> Vec<OperatorNotice> {
    let first = world.last_event().0 + 1;
    let mut all: Vec<OperatorNotice> = (first..)
        .zip(events)
        .filter_map(|(id, new_event)| {
            let (kind, reason) = notice_for_event(&new_event.event)?;
            let task = new_event.task.as_ref().and_then(|id| find_task(world, events, id));
            let title =
                task.map_or(String::new(), |task| shorten_line(&task.title, TITLE_CHARS_MAX));
            Some(OperatorNotice {
                kind,
                event: EventId(id),
                at: now,
                task: new_event.task.clone(),
                title,
                reason: shorten_line(&reason, REASON_CHARS_MAX),
                by: new_event.actor.clone(),
            })
        })
        .collect();
    all.sort_by_key(|notice| (notice.kind == NoticeKind::Question, notice.event));
    all
}

/// Finds a task in the world, or among the tasks that these events create or edit.
fn find_task<'a>(world: &'a World, events: &'a [NewEvent], id: &TaskId) -> Option<&'a Task> {
    let made = |new_event: &'a NewEvent| match &new_event.event {
        Event::TaskCreated { task, .. } | Event::TaskEdited { task, .. } if task.id == *id => {
            Some(&**task)
        }
        _ => None,
    };
    events.iter().find_map(made).or_else(|| world.task(id))
}

fn matches_rule(
    rule: &NotifyRule,
    notice: &OperatorNotice,
    world: &World,
    decision: &Decision,
) -> bool {
    let task = notice.task.as_ref().and_then(|id| find_task(world, &decision.events, id));
    let matches = task.map_or_else(|| rule.matches_all_tasks(), |task| rule.matches_task(task));
    rule.on.contains(&notice.kind) && matches
}

/// Returns the kind and the reason of the notice for an event; `None` if it has no notice.
fn notice_for_event(event: &Event) -> Option<(NoticeKind, String)> {
    Some(match event {
        Event::TaskTransitioned { to, reason, .. } => (kind_for_status(*to)?, reason.clone()),
        Event::TaskAsked { question, .. } => (NoticeKind::Question, question.clone()),
        Event::RunAsked { permit } => (NoticeKind::Question, permit.text.clone()),
        Event::RunSalvaged { file, reason, .. } => {
            (NoticeKind::Salvage, format!("{file}: {reason}"))
        }
        Event::RunParked { parked, .. } if parked.until.is_none() => {
            (NoticeKind::Unusable, format!("{}: {}", parked.who(), parked.reason))
        }
        Event::MergeWaiting { reason } => (NoticeKind::Merge, reason.clone()),
        Event::DispatchRefused { detail, .. } => (NoticeKind::Held, detail.clone()),
        Event::RunFailed { reason, .. } => (NoticeKind::Failed, reason.clone()),
        Event::AccessRefused { reason, detail, .. } => {
            (NoticeKind::Refused, format!("{reason}: {detail}"))
        }
        _ => return None,
    })
}

fn kind_for_status(to: Status) -> Option<NoticeKind> {
    Some(match to {
        Status::Review => NoticeKind::Review,
        Status::Blocked => NoticeKind::Blocked,
        Status::Done => NoticeKind::Done,
        Status::Deadletter => NoticeKind::Deadletter,
        Status::Cancelled => NoticeKind::Cancelled,
        Status::Backlog | Status::Ready | Status::InProgress => return None,
    })
}

/// Shortens a text to one line of limited length; the task itself has the whole text.
fn shorten_line(text: &str, chars_max: usize) -> String {
    let line = single_line(text);
    if line.chars().nth(chars_max).is_none() {
        return line;
    }
    line.chars().take(chars_max - 1).chain(['…']).collect()
}
