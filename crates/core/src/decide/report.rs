//! A result or an `attempt_completion`: the same completion as that of any other dialect.

use serde_json::{Value, json};

use super::Decision;
use super::completion::{By, complete};
use super::document::{Sender, escapes, receive};
use super::draft::Draft;
use super::message::{check_token, find};
use crate::answer::{Reason, Verdict};
use crate::aof::{self, Kind, Sent};
use crate::completion::Completion;
use crate::dialect::{Document, Report};
use crate::event::{Event, Happened};
use crate::foreign::Foreign;
use crate::input::{Facts, Token};
use crate::mission::{Level, LogEntry};
use crate::task::Task;
use crate::time::{Stamp, Time};
use crate::worklog::Entry;
use crate::world::World;

/// The most entries of a result's log that go anywhere.
const ENTRIES_MAX: usize = 100;

/// What a report that came too late is called among what is kept of its run.
const MESSAGE_FILE: &str = "message.json";

pub(super) fn take(world: &World, sent: &Sent, facts: &Facts, now: Time) -> Decision {
    let sender = Sender::of(world, &facts.token);
    let mut draft = Draft::new(sender.actor.clone(), None);
    let found = match world.resolve(sent.document.foreign_id()) {
        Some(id) => find(world, &id),
        None => Err(Reason::TaskNotFound),
    };
    if let Ok(task) = found {
        draft.on(task);
    }
    if let Some((reason, problems)) = escapes(facts) {
        return draft.reject(reason, problems);
    }
    receive(&mut draft, sent);
    let (Ok(task), Some(report)) = (found, report(&sent.document)) else {
        return draft.reject(found.err().unwrap_or(Reason::TaskNotFound), vec![]);
    };
    let at = report.at.clone().unwrap_or_else(|| Stamp::from(now));
    let by = By { agent: &sender.agent, at: &at };
    if is_repeated(task, &facts.token) {
        return draft.end(Verdict::Noop, None);
    }
    match check_token(world, task, &facts.token) {
        Ok(()) => {}
        Err(reason @ Reason::StaleRun) => {
            let text = envelope(task, &by, &report.completion, &sent.document);
            return salvage(draft.reject(reason, vec![]), task, &sender, text);
        }
        Err(reason) => return draft.reject(reason, vec![]),
    }
    if task.status().is_closed() {
        return draft.end(Verdict::Noop, Some(Reason::TaskClosed));
    }
    if task.trials.claim().is_some() {
        return draft.end(Verdict::Noop, None);
    }
    let (said, policy) = (&report.completion, world.policy());
    complete(&mut draft, task, &by, said, facts, policy, |draft| aside(draft, task, &report));
    draft.end(Verdict::Applied, None)
}

fn report(document: &Document) -> Option<Report> {
    match document {
        Document::Result(result) => Some(Report::of_result(result)),
        Document::AttemptCompletion(attempt) => Some(Report::of_attempt(attempt)),
        Document::Mission(_) | Document::NewTask(_) => None,
    }
}

/// The same run again after its own completion says nothing new.
fn is_repeated(task: &Task, token: &Token) -> bool {
    let Token::Run { task: of, fence } = token else { return false };
    *of == task.id && task.reported_fence == Some(*fence) && task.lease().is_none()
}

/// What a report says beside what came of the work: what it asks, and what happened on the way.
fn aside(draft: &mut Draft, task: &Task, report: &Report) {
    if let Some(question) = &report.question {
        draft.push(Event::TaskAsked { question: Box::new(question.clone()) });
    }
    let epic = task.foreign.as_deref().and_then(Foreign::epic);
    let told = report.log.iter().filter(|entry| entry.level != Level::Info);
    for entry in told.take(ENTRIES_MAX) {
        draft.push(match (entry.level, epic) {
            (Level::Tip, Some(epic)) => Event::EpicNoted {
                epic: epic.clone(),
                at: entry.timestamp.clone(),
                text: entry.message.clone(),
            },
            _ => Event::TaskLogged { entry: logged(entry) },
        });
    }
}

fn logged(entry: &LogEntry) -> Entry {
    Entry {
        at: entry.timestamp.clone(),
        progress: None,
        notes: Some(format!("{}: {}", entry.level, entry.message)),
        blockers: vec![],
    }
}

/// What an older run of a task says changes nothing, and is kept for a person to look at.
fn salvage(mut rejected: Decision, task: &Task, sender: &Sender, text: String) -> Decision {
    let (file, reason) = (MESSAGE_FILE.to_owned(), Reason::StaleRun);
    let event = Event::RunSalvaged { file, reason, text: Some(text) };
    let (actor, task) = (sender.actor.clone(), Some(task.id.clone()));
    rejected.events.push(Happened { actor, task, event });
    rejected
}

/// Writes a report as a message that can be let count later, with the document as it came.
fn envelope(task: &Task, by: &By<'_>, said: &Completion, document: &Document) -> String {
    let paths: Vec<&str> = said.deliverables.iter().map(crate::path::RelPath::as_str).collect();
    let message = json!({
        "protocol": aof::PROTOCOL,
        "version": aof::VERSION,
        "type": Kind::CompletionReport.as_str(),
        "taskId": task.id.as_str(),
        "fromAgent": by.agent.as_str(),
        "toAgent": "dispatcher",
        "sentAt": by.at.as_str(),
        "payload": {
            "outcome": said.outcome.as_str(),
            "summaryRef": said.summary_ref.as_str(),
            "deliverables": paths,
            "tests": {"total": 0, "passed": 0, "failed": 0},
            "blockers": said.blockers,
            "notes": said.notes,
        },
        "document": Value::Object(document.object()),
    });
    format!("{message:#}\n")
}
