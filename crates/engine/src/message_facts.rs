//! Collects from the store the facts that a decision on a message needs.

use adjutant_core::World;
use adjutant_core::input::{FilePresence as There, LeftFile, MessageFacts, TokenOwner};
use adjutant_core::protocols::aof::{AofEnvelope, AofMessage, IncomingText, MessageRefusal};
use adjutant_core::protocols::dialect;
use adjutant_model::answer::{FieldProblem, Reason};
use adjutant_model::completion::HANDOFF_REF;
use adjutant_model::constraints::WorkspaceFacts;
use adjutant_model::document::{DocumentKind, ProtocolDocument};
use adjutant_model::relative_path::RelPath;
use adjutant_model::task_origin::TaskOrigin;
use adjutant_model::{Task, TaskId, Time};
use adjutant_run_files::dialect_files::DialectFiles;
use adjutant_store::{FileAvailability, Store, StoreError, yaml};

/// Returns every task whose state a message affects.
pub(crate) fn tasks_of_message(envelope: &AofEnvelope) -> Vec<TaskId> {
    match &envelope.message {
        AofMessage::HandoffRequest(handoff) => vec![envelope.task.clone(), handoff.parent.clone()],
        _ => vec![envelope.task.clone()],
    }
}

/// Collects the facts about a message.
pub(crate) fn gather_message_facts(
    store: &mut impl Store,
    envelope: &AofEnvelope,
    token: TokenOwner,
) -> Result<MessageFacts, StoreError> {
    let mut facts = MessageFacts { token, ..MessageFacts::default() };
    let summary = envelope.expected_files().map(|(summary, _)| summary);
    for (place, path) in envelope.paths() {
        match store.presence(&envelope.task, path)? {
            FileAvailability::Escapes => facts.escaping_paths.push(place),
            FileAvailability::Missing
                if summary.is_some_and(|summary| std::ptr::eq(summary, path)) =>
            {
                facts.summary = There::Missing;
            }
            FileAvailability::Missing | FileAvailability::Present => {}
        }
    }
    if let (Some(_), Ok(handoff)) = (summary, RelPath::parse(HANDOFF_REF))
        && store.presence(&envelope.task, &handoff)? != FileAvailability::Present
    {
        facts.handoff = There::Missing;
    }
    Ok(facts)
}

/// Returns every task whose state a document affects, and the id that a new task would get.
pub(crate) fn tasks_of_document(
    world: &World,
    document: &ProtocolDocument,
    now: Time,
) -> Vec<TaskId> {
    let own = world.resolve(document.external_task_id());
    let parent = match document {
        ProtocolDocument::NewTask(task) => task.parent_task_id.as_ref(),
        ProtocolDocument::Mission(_)
        | ProtocolDocument::Result(_)
        | ProtocolDocument::AttemptCompletion(_) => None,
    };
    let parent = parent.and_then(|parent| world.resolve(parent.as_str()));
    own.into_iter().chain(parent).chain([world.next_id(now)]).collect()
}

/// Parses a file that a run left as a document of `kind`, and of no other kind. A refusal always
/// names the run's task.
pub(crate) fn parse_left_document(
    kind: DocumentKind,
    text: &[u8],
    flaw: Option<&str>,
    task: &TaskId,
) -> IncomingText {
    let refused = |reason, problems| {
        let (task, document) = (Some(task.clone()), Some((kind, None)));
        IncomingText::Refused(MessageRefusal { reason, problems, task, from: None, document })
    };
    if let Some(flaw) = flaw {
        return refused(Reason::InvalidEnvelope, vec![FieldProblem::new("", flaw)]);
    }
    match dialect::read(text, &yaml::read) {
        IncomingText::Document(sent) if sent.document.kind() == kind => {
            IncomingText::Document(sent)
        }
        IncomingText::Refused(refusal) => refused(refusal.reason, refusal.problems),
        message @ IncomingText::Message(_) => message,
        IncomingText::Document(_) | IncomingText::Ignored | IncomingText::Unknown { .. } => {
            let read = dialect::read_as(kind, text, &yaml::read);
            refused(Reason::InvalidEnvelope, read.err().unwrap_or_default())
        }
    }
}

/// Returns the report's text with the name of the file that the run left it in.
pub(crate) fn left_report(kind: DocumentKind, text: &[u8]) -> LeftFile {
    let forms = DialectFiles::for_dialect(kind.dialect());
    let file = forms.map_or(kind.as_str(), |forms| forms.report).to_owned();
    LeftFile { file, text: String::from_utf8_lossy(text).into_owned() }
}

/// Collects the facts about a document, including whether its paths lead outside the task's folder.
pub(crate) fn gather_document_facts(
    store: &mut impl Store,
    world: &World,
    document: &ProtocolDocument,
    token: TokenOwner,
) -> Result<MessageFacts, StoreError> {
    let mut facts = MessageFacts { token, ..MessageFacts::default() };
    let Some(task) = world.resolve(document.external_task_id()) else { return Ok(facts) };
    for (place, path) in document.paths() {
        if store.presence(&task, path)? == FileAvailability::Escapes {
            facts.escaping_paths.push(place);
        }
    }
    Ok(facts)
}

/// Returns which expected outputs of a task are missing, or None if none are expected.
pub(crate) fn find_missing_outputs(
    store: &mut impl Store,
    task: Option<&Task>,
) -> Result<Option<WorkspaceFacts>, StoreError> {
    let Some(task) = task else { return Ok(None) };
    let expected = task.origin.as_deref().map(TaskOrigin::expected_outputs).unwrap_or_default();
    if expected.is_empty() {
        return Ok(None);
    }
    let mut outputs_missing = Vec::new();
    for output in expected {
        let there = match RelPath::parse(output) {
            Ok(path) => store.presence(&task.id, &path)? == FileAvailability::Present,
            Err(_) => false,
        };
        if !there {
            outputs_missing.push(output.to_owned());
        }
    }
    Ok(Some(WorkspaceFacts { outputs_missing, ..WorkspaceFacts::default() }))
}
