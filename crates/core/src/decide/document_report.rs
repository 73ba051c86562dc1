//! Applies a result or an `attempt_completion`, as the same completion that any
//! other dialect makes.

use adjutant_model::answer::{AnswerVerdict, Reason};
use adjutant_model::completion::{CompletionReport, WorkOutcome};
use adjutant_model::document::ProtocolDocument;
use adjutant_model::event::{Event, NewEvent};
use adjutant_model::message_type::MessageType;
use adjutant_model::mission::{LogLevel, MissionLogEntry};
use adjutant_model::run_history::AgentQuestion;
use adjutant_model::status::Status;
use adjutant_model::task::Task;
use adjutant_model::task_origin::TaskOrigin;
use adjutant_model::time::{Time, Timestamp};
use adjutant_model::work_log::WorkLogEntry;
use serde_json::{Value, json};

use super::completion::{ReportAuthor, downgrade_completion, record_completion};
use super::document::{DocumentSender, record_document, refuse_escaping_paths};
use super::draft::DecisionDraft;
use super::message::{check_token, find_task};
use crate::decision::Decision;
use crate::input::{MessageFacts, TokenOwner};
use crate::protocols::aof::{self, ReceivedDocument};
use crate::protocols::dialect::DialectReport;
use crate::world::World;

/// Further log entries of a result are dropped.
const LOG_ENTRIES_MAX: usize = 100;

/// Why reported work of a task that waits to be assigned is reviewed.
const UNSTARTED: &str = "the report came although the task was not started";

/// The file name under which a late report is salvaged.
const SALVAGED_REPORT_FILE: &str = "message.json";

pub(super) fn apply_report(
    world: &World,
    sent: &ReceivedDocument,
    facts: &MessageFacts,
    now: Time,
) -> Decision {
    let sender = DocumentSender::from_token(world, &facts.token);
    let mut draft = DecisionDraft::new(sender.actor.clone(), None);
    let found = match world.resolve(sent.document.external_task_id()) {
        Some(id) => find_task(world, &id),
        None => Err(Reason::TaskNotFound),
    };
    if let Ok(task) = found {
        draft.load_task(task);
    }
    if let Some((reason, problems)) = refuse_escaping_paths(facts) {
        return draft.reject(reason, problems);
    }
    record_document(&mut draft, sent);
    let (Ok(task), Some(report)) = (found, to_report(&sent.document)) else {
        return draft.reject(found.err().unwrap_or(Reason::TaskNotFound), vec![]);
    };
    let at = report.at.clone().unwrap_or_else(|| Timestamp::from(now));
    let by = ReportAuthor { agent: &sender.agent, at: &at };
    if is_repeated(task, &facts.token) {
        return draft.finish(AnswerVerdict::Noop, None);
    }
    match check_token(world, task, &facts.token) {
        Ok(()) => {}
        Err(reason @ Reason::StaleRun) => {
            let text = to_salvage_text(task, &by, &report.completion, &sent.document);
            return salvage_late_report(draft.reject(reason, vec![]), task, &sender, text);
        }
        Err(reason) => return draft.reject(reason, vec![]),
    }
    if task.status().is_closed() {
        return draft.finish(AnswerVerdict::Noop, Some(Reason::TaskClosed));
    }
    if task.history.claim().is_some() {
        return draft.finish(AnswerVerdict::Noop, None);
    }
    let is_unstarted = is_unstarted(task, report.completion.outcome);
    let said = if is_unstarted {
        &downgrade_completion(&report.completion, &[UNSTARTED.to_owned()])
    } else {
        &report.completion
    };
    record_completion(&mut draft, task, &by, said, facts, world.policy(), |draft| {
        record_details(draft, task, &report, now);
        if is_unstarted {
            draft.reopen_task(UNSTARTED);
        }
    });
    let has_skipped = draft.has_skipped_transition();
    draft.finish(AnswerVerdict::Applied, has_skipped.then_some(Reason::InvalidTransition))
}

/// Returns whether work is reported for a task that would still be assigned. The work is there, so
/// a person reviews it, and the task is not run again.
fn is_unstarted(task: &Task, outcome: WorkOutcome) -> bool {
    let is_waiting = matches!(task.status(), Status::Ready | Status::Backlog);
    is_waiting && task.story().is_none() && outcome != WorkOutcome::Blocked
}

fn to_report(document: &ProtocolDocument) -> Option<DialectReport> {
    match document {
        ProtocolDocument::Result(result) => Some(DialectReport::from_result(result)),
        ProtocolDocument::AttemptCompletion(attempt) => Some(DialectReport::from_attempt(attempt)),
        ProtocolDocument::Mission(_) | ProtocolDocument::NewTask(_) => None,
    }
}

/// A report sent again by a run that has already reported adds nothing.
fn is_repeated(task: &Task, token: &TokenOwner) -> bool {
    let TokenOwner::Run { task: of, fence, nonce } = token else { return false };
    let reported = task.reported_fence == Some(*fence) && task.lease().is_none();
    *of == task.id && reported && task.agent_of_run(*fence, *nonce).is_some()
}

/// Records the rest of a report: its question, and its log entries except milestones.
fn record_details(draft: &mut DecisionDraft, task: &Task, report: &DialectReport, now: Time) {
    if let Some(question) = &report.question {
        let AgentQuestion { text, suggestion } = question.clone();
        draft.push(Event::TaskAsked { question: text, suggestion });
    }
    let epic = task.origin.as_deref().and_then(TaskOrigin::epic);
    for issue in report.issues.iter().take(LOG_ENTRIES_MAX) {
        let at = report.at.clone().unwrap_or_else(|| Timestamp::from(now));
        let notes = Some(issue.clone());
        let entry = WorkLogEntry { at, progress: None, notes, blockers: vec![] };
        draft.push(Event::TaskLogged { entry });
    }
    let told = report.log.iter().filter(|entry| entry.level != LogLevel::Info);
    for entry in told.take(LOG_ENTRIES_MAX) {
        draft.push(match (entry.level, epic) {
            (LogLevel::Tip, Some(epic)) => Event::EpicNoted {
                epic: epic.clone(),
                at: entry.timestamp.clone(),
                text: entry.message.clone(),
            },
            _ => Event::TaskLogged { entry: to_work_log_entry(entry) },
        });
    }
}

fn to_work_log_entry(entry: &MissionLogEntry) -> WorkLogEntry {
    WorkLogEntry {
        at: entry.timestamp.clone(),
        progress: None,
        notes: Some(format!("{}: {}", entry.level, entry.message)),
        blockers: vec![],
    }
}

/// A report from an older run changes nothing; it is salvaged for a person to inspect.
fn salvage_late_report(
    mut rejected: Decision,
    task: &Task,
    sender: &DocumentSender,
    text: String,
) -> Decision {
    let (file, reason) = (SALVAGED_REPORT_FILE.to_owned(), Reason::StaleRun);
    let event = Event::RunSalvaged { file, reason, text: Some(text) };
    let (actor, task) = (sender.actor.clone(), Some(task.id.clone()));
    rejected.events.push(NewEvent { actor, task, event });
    rejected
}

/// Writes a report as an AOF/1 message that an operator can apply later, with
/// the original document.
fn to_salvage_text(
    task: &Task,
    by: &ReportAuthor<'_>,
    said: &CompletionReport,
    document: &ProtocolDocument,
) -> String {
    let paths: Vec<&str> =
        said.deliverables.iter().map(adjutant_model::relative_path::RelPath::as_str).collect();
    let message = json!({
        "protocol": aof::PROTOCOL,
        "version": aof::VERSION,
        "type": MessageType::CompletionReport.as_str(),
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
        "document": Value::Object(document.to_map()),
    });
    format!("{message:#}\n")
}
