//! Finds out on disk what a decision on a message needs to know.

use adjutant_core::answer::{Problem, Reason};
use adjutant_core::aof::{Envelope, Incoming, Message, Refusal, Sent};
use adjutant_core::completion::HANDOFF_REF;
use adjutant_core::constraints::WorkspaceFacts;
use adjutant_core::dialect::{self, Document, DocumentKind};
use adjutant_core::foreign::Foreign;
use adjutant_core::input::{Facts, Left, Presence as There, Token};
use adjutant_core::path::RelPath;
use adjutant_core::{Task, TaskId, Time, World};
use adjutant_store::{Presence, Store, StoreError, yaml};

use crate::dialect::Forms;
use crate::token::Secret;

/// Returns every task whose state a message bears on.
pub fn tasks(envelope: &Envelope) -> Vec<TaskId> {
    match &envelope.message {
        Message::HandoffRequest(handoff) => vec![envelope.task.clone(), handoff.parent.clone()],
        _ => vec![envelope.task.clone()],
    }
}

/// Gathers the facts about a message.
pub fn gather(
    store: &mut impl Store,
    envelope: &Envelope,
    token: Token,
) -> Result<Facts, StoreError> {
    let mut facts = Facts { token, ..Facts::default() };
    let summary = envelope.expected_files().map(|(summary, _)| summary);
    for (place, path) in envelope.paths() {
        match store.presence(&envelope.task, path)? {
            Presence::Escapes => facts.escapes.push(place),
            Presence::Missing if summary.is_some_and(|summary| std::ptr::eq(summary, path)) => {
                facts.summary = There::Missing;
            }
            Presence::Missing | Presence::Present => {}
        }
    }
    if let (Some(_), Ok(handoff)) = (summary, RelPath::parse(HANDOFF_REF))
        && store.presence(&envelope.task, &handoff)? != Presence::Present
    {
        facts.handoff = There::Missing;
    }
    Ok(facts)
}

/// Says what the token in a message is worth. A run that speaks through its own output need not
/// show one; if it does, it must be its own.
pub fn token(envelope: &Envelope, by: Option<Token>, secret: Option<&Secret>) -> Token {
    let shown = match secret {
        Some(secret) => secret.judge(envelope.run_token.as_deref(), &tasks(envelope)),
        None if envelope.run_token.is_some() => Token::Unknown,
        None => Token::None,
    };
    match by {
        None => shown,
        Some(run) if shown == Token::None || shown == run => run,
        Some(_) => Token::Unknown,
    }
}

/// Returns every task whose state a document bears on; for one that is to be made, the id it will
/// get.
pub fn tasks_of(world: &World, document: &Document, now: Time) -> Vec<TaskId> {
    let own = world.resolve(document.foreign_id());
    let parent = match document {
        Document::NewTask(task) => task.parent_task_id.as_ref(),
        Document::Mission(_) | Document::Result(_) | Document::AttemptCompletion(_) => None,
    };
    let parent = parent.and_then(|parent| world.resolve(parent.as_str()));
    own.into_iter().chain(parent).chain([world.next_id(now)]).collect()
}

/// Says what the token of a document is worth: the one it carries, or the run it came by.
pub fn token_of(sent: &Sent, by: Option<Token>, ids: &[TaskId], secret: Option<&Secret>) -> Token {
    let shown = match secret {
        Some(secret) => secret.judge(sent.run_token.as_deref(), ids),
        None if sent.run_token.is_some() => Token::Unknown,
        None => Token::None,
    };
    match by {
        None => shown,
        Some(run) if shown == Token::None || shown == run => run,
        Some(_) => Token::Unknown,
    }
}

/// Reads what a run left in its file as a document of a kind. It is no other kind, and whatever is
/// wrong with it, it is the task's.
pub fn left(kind: DocumentKind, text: &str, flaw: Option<&str>, task: &TaskId) -> Incoming {
    let refused = |reason, problems| {
        let (task, document) = (Some(task.clone()), Some((kind, None)));
        Incoming::Refused(Refusal { reason, problems, task, from: None, document })
    };
    if let Some(flaw) = flaw {
        return refused(Reason::InvalidEnvelope, vec![Problem::new("", flaw)]);
    }
    match dialect::read(text.as_bytes(), &yaml::read) {
        Incoming::Document(sent) if sent.document.kind() == kind => Incoming::Document(sent),
        Incoming::Refused(refusal) => refused(refusal.reason, refusal.problems),
        message @ Incoming::Message(_) => message,
        Incoming::Document(_) | Incoming::Ignored | Incoming::Unknown { .. } => {
            let read = dialect::read_as(kind, text.as_bytes(), &yaml::read);
            refused(Reason::InvalidEnvelope, read.err().unwrap_or_default())
        }
    }
}

/// Names the file a run left its report in.
pub fn keep(kind: DocumentKind, text: &str) -> Left {
    let forms = Forms::of(kind.dialect());
    let file = forms.map_or(kind.as_str(), |forms| forms.report).to_owned();
    Left { file, text: text.to_owned() }
}

/// Gathers the facts about a document: whether a path it names leads outside.
pub fn gather_of(
    store: &mut impl Store,
    world: &World,
    document: &Document,
    token: Token,
) -> Result<Facts, StoreError> {
    let mut facts = Facts { token, ..Facts::default() };
    let Some(task) = world.resolve(document.foreign_id()) else { return Ok(facts) };
    facts.workspace = outputs(store, world.task(&task))?;
    for (place, path) in document.paths() {
        if store.presence(&task, path)? == Presence::Escapes {
            facts.escapes.push(place);
        }
    }
    Ok(facts)
}

/// Looks which of the outputs that are expected of a task are not there; none if none are expected.
pub fn outputs(
    store: &mut impl Store,
    task: Option<&Task>,
) -> Result<Option<WorkspaceFacts>, StoreError> {
    let Some(task) = task else { return Ok(None) };
    let expected = task.foreign.as_deref().map(Foreign::expected_outputs).unwrap_or_default();
    if expected.is_empty() {
        return Ok(None);
    }
    let mut outputs_missing = Vec::new();
    for output in expected {
        let there = match RelPath::parse(output) {
            Ok(path) => store.presence(&task.id, &path)? == Presence::Present,
            Err(_) => false,
        };
        if !there {
            outputs_missing.push(output.to_owned());
        }
    }
    Ok(Some(WorkspaceFacts { outputs_missing, ..WorkspaceFacts::default() }))
}
