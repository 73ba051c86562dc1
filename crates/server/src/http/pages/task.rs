//! Serves the task page.

use std::time::Duration;

use adjutant_core::schedule::{
    AttentionKind, InboxAction, hold_reasons, pending_question, task_notes,
};
use adjutant_model::evidence::{self, WorkEvidence};
use adjutant_model::run::RunExit;
use adjutant_model::usage::dollars;
use adjutant_model::{Status, Task, Time};
use adjutant_query::ProjectQueries;
use adjutant_query::changes::ChangeSet;
use adjutant_query::failure::CommandFailure;
use adjutant_query::inbox::OfferedAction;
use adjutant_query::run_log::RunLogSource;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;

use super::done_action::DoneAction;
use super::event_log::read_matching;
use super::task_event_index::TaskEventIndex;
use super::{BoardPage, BoardUser};
use crate::board::event_log::EventLogFilter;
use crate::board::form::{TaskAct, TaskFormFacts};
use crate::board::inbox::checks_field;
use crate::board::page_frame::BoardTab;
use crate::board::task::{
    ChangesView, CheckView, OutputView, QuestionView, SideValue, TaskPage as Shown,
};
use crate::http::SharedState;
use crate::http::params::QueryParams;
use crate::http::problem::ApiProblem;
use crate::http::run_output::RunOutput;

/// How much of a run's output is on the page.
const OUTPUT_BYTES: u64 = 64 << 10;
/// How many matching lines are shown.
const HITS_MAX: usize = 200;
/// How much of a matching line is shown.
const HIT_CHARS_MAX: usize = 500;
/// Longer lines are searched in parts.
const LINE_BYTES_MAX: usize = 256 << 10;
/// How much of the output is searched.
const SEARCHED_BYTES_MAX: u64 = 128 << 20;
/// How many events are on the page.
const RECORD_LINES: usize = 20;

pub(super) async fn page(
    State(app): State<SharedState>,
    person: BoardUser,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiProblem> {
    let mut params = QueryParams::parse(query.as_deref(), &["run", "find", "did", "about"]);
    let run = params.number("run").and_then(|run| u32::try_from(run).ok());
    let find = params.text("find").filter(|text| !text.is_empty());
    let done = DoneAction::read(&params);
    params.check()?;
    let message = done.message(&app).await?;
    let own = std::sync::Arc::clone(&app);
    let shown = app
        .with_project(move |project| gather(&project.queries, &own.task_events, &id, run, find))
        .await?;
    let content = shown.render();
    BoardPage::new(shown.title, Some(BoardTab::Board), content)
        .with_message(message)
        .send(&app, &person)
        .await
}

fn gather(
    queries: &ProjectQueries,
    trail: &TaskEventIndex,
    text: &str,
    run: Option<u32>,
    find: Option<String>,
) -> Result<Shown, CommandFailure> {
    let id = queries.resolve_task(text)?;
    let file = queries.task(&id)?;
    let now = queries.now();
    let (known, last) = queries.with_world(|world| {
        let holds = hold_reasons(world, &id, now).into_iter().map(|hold| hold.text);
        let known = world.task(&id).map(|task| {
            let texts = task_notes(task).into_iter().chain(holds).collect::<Vec<_>>();
            (task.clone(), (texts, TaskFormFacts::of(world, task)))
        });
        (known, world.last_event().0)
    })?;
    let filter = EventLogFilter { task: Some(id.to_string()), ..EventLogFilter::default() };
    let before = last.saturating_add(1);
    let (record, _) = read_matching(queries.root(), trail, before, RECORD_LINES, &filter)
        .map_err(|error| CommandFailure::unreadable_log(&error))?;
    let runs = queries.runs(&id)?;
    let output = queries.run_log(&id, run).ok().and_then(|printed| read_output(&printed, find));
    let (evidence, diff) = queries.evidence(&id);
    let (task, known) = known.unzip();
    let (holds, facts) = known.unzip();
    let status = task.as_ref().map_or(Status::Backlog, Task::status);
    Ok(Shown {
        id: id.to_string(),
        title: file.text("title").unwrap_or(id.as_str()).to_owned(),
        status,
        priority: task.as_ref().map(|task| task.priority).unwrap_or_default(),
        body: file.body().to_owned(),
        hold_reasons: holds.unwrap_or_else(|| {
            vec!["The task's file cannot be read; `adjutant doctor` says why.".to_owned()]
        }),
        acts: possible_acts(task.as_ref()),
        question: task.as_ref().and_then(to_question_view),
        facts: facts.unwrap_or_default(),
        side_values: task.as_ref().map(side_values).unwrap_or_default(),
        runs: runs.into_iter().rev().collect(),
        output,
        checks: evidence.iter().flat_map(|evidence| &evidence.checks).map(to_check_view).collect(),
        changes: evidence.as_ref().and_then(|evidence| to_changes_view(evidence, diff)),
        files: super::task_files::list(queries.root(), &id, status),
        record,
        now,
    })
}

/// Returns the actions possible in the task's status.
fn possible_acts(task: Option<&Task>) -> Vec<(TaskAct, Option<String>)> {
    let Some(task) = task else { return vec![] };
    let protected = task.history.protected_files().join(", ");
    let accepts = task.history.has_unaccepted_checks() && !task.status().is_closed();
    let subject = |act| match act {
        TaskAct::ApproveProtected => Some(protected.clone()),
        TaskAct::AcceptChecks => {
            let checks = task.history.checks.as_deref();
            let checks: Option<Vec<String>> =
                checks.map(|checks| checks.iter().map(ToString::to_string).collect());
            Some(checks_field(checks.as_deref()))
        }
        _ => None,
    };
    let acts = acts_by_status(task).into_iter();
    let acts = accepts.then_some(TaskAct::AcceptChecks).into_iter().chain(acts);
    acts.map(|act| (act, subject(act))).collect()
}

/// Returns the permission request or the question that a task waits with, in full.
fn to_question_view(task: &Task) -> Option<QuestionView> {
    let item = pending_question(task)?;
    let agent = task.lease().map_or_else(String::new, |lease| lease.agent.to_string());
    let (heading, text) = match task.history.permit.as_deref() {
        Some(permit) if task.status() == Status::InProgress => {
            (format!("{agent} asks for permission"), permit.text.clone())
        }
        _ => {
            let title = format!("{}: ", task.title);
            let text = item.text.strip_prefix(&title).unwrap_or(&item.text);
            let heading = if item.kind == AttentionKind::Blocked { "Blocked" } else { "Question" };
            (heading.to_owned(), text.to_owned())
        }
    };
    let (mut acts, mut commands) = (vec![], vec![]);
    for action in &item.actions {
        let subject = match action {
            InboxAction::Allow { request } | InboxAction::Deny { request } => {
                Some(request.to_string())
            }
            _ => None,
        };
        match TaskAct::for_action(action) {
            // The actions that are possible without a question are below the status.
            Some(
                TaskAct::Cancel
                | TaskAct::Retry
                | TaskAct::Reject
                | TaskAct::Approve
                | TaskAct::ApproveProtected,
            ) => {}
            Some(act) => acts.push((act, subject)),
            None => commands.push(OfferedAction::new(action.clone(), task.id.as_str()).command),
        }
    }
    Some(QuestionView { heading, text, acts, commands })
}

fn acts_by_status(task: &Task) -> Vec<TaskAct> {
    match task.status() {
        Status::Backlog => vec![TaskAct::Ready, TaskAct::Cancel],
        Status::Ready | Status::InProgress => vec![TaskAct::Cancel],
        Status::Review if !task.history.protected_files().is_empty() => {
            vec![TaskAct::ApproveProtected, TaskAct::Reject, TaskAct::Cancel]
        }
        Status::Review => vec![TaskAct::Approve, TaskAct::Reject, TaskAct::Cancel],
        Status::Blocked if task.history.blocked_by.is_some() => {
            vec![TaskAct::Retry, TaskAct::Cancel]
        }
        // The answer is below the question.
        Status::Blocked if task.story().is_none() => vec![TaskAct::Retry, TaskAct::Cancel],
        Status::Blocked => vec![TaskAct::Answer, TaskAct::Retry, TaskAct::Cancel],
        Status::Deadletter => vec![TaskAct::Retry, TaskAct::Cancel],
        Status::Cancelled if task.story().is_none() => vec![TaskAct::Reopen],
        Status::Done | Status::Cancelled => vec![],
    }
}

fn to_check_view(check: &evidence::CheckResult) -> CheckView {
    let took = Duration::from_millis(check.duration_ms).as_secs_f64();
    CheckView {
        command: check.command.clone(),
        passed: check.passed(),
        detail: match &check.exit {
            RunExit::Code(0) => format!("{took:.1} s"),
            RunExit::Code(code) => format!("exit code {code}, {took:.1} s"),
            exit => format!("{}, {took:.1} s", exit.in_words()),
        },
        tail: check.tail.clone(),
    }
}

/// Describes the changes; `None` if the evidence says nothing about them.
fn to_changes_view(evidence: &WorkEvidence, diff: Option<String>) -> Option<ChangesView> {
    let stat = evidence.in_words();
    let changes = ChangeSet::parse(&diff.unwrap_or_default());
    (!stat.is_empty()).then_some(ChangesView { stat, changes })
}

fn side_values(task: &Task) -> Vec<(String, SideValue)> {
    let text =
        |name: &str, text: Option<&str>| Some((name.to_owned(), SideValue::Text(text?.to_owned())));
    let moment = |name: &str, at: Time| Some((name.to_owned(), SideValue::Moment(at)));
    let tasks = |name: &str, ids: Vec<String>| {
        (!ids.is_empty()).then(|| (name.to_owned(), SideValue::Tasks(ids)))
    };
    let routing = &task.routing;
    let tags = routing.tags.iter().map(|tag| &**tag).collect::<Vec<_>>().join(", ");
    let all = [
        text("priority", Some(task.priority.as_str())),
        text("agent", routing.agent.as_ref().map(adjutant_model::AgentId::as_str)),
        text("role", routing.role.as_deref()),
        text("mode", routing.mode.as_deref()),
        text("tags", Some(tags.as_str()).filter(|tags| !tags.is_empty())),
        tasks("parent", task.parent.iter().map(ToString::to_string).collect()),
        tasks("depends on", task.depends_on.iter().map(ToString::to_string).collect()),
        text("resource", task.resource.as_deref()),
        text("usage", describe_usage(task).as_deref()),
        task.due_by.and_then(|due| moment("due", due)),
        task.lease().and_then(|lease| moment("next heartbeat due", lease.expires_at)),
        moment("created", task.created_at),
        text("created by", Some(&task.created_by)),
        moment("updated", task.updated_at),
    ];
    all.into_iter().flatten().collect()
}

/// Describes the tokens and the cost of the task so far; `None` if its agents report neither.
fn describe_usage(task: &Task) -> Option<String> {
    let usage = task.history.account.as_deref()?.used();
    let tokens = usage.tokens();
    let cost = if usage.cost == 0 { String::new() } else { format!(", {}", dollars(usage.cost)) };
    (tokens > 0 || usage.cost > 0).then(|| format!("{tokens} tokens{cost}"))
}

/// Reads the end of a run's output, and searches all of it.
fn read_output(printed: &RunLogSource, search: Option<String>) -> Option<OutputView> {
    let mut log = RunOutput::open(&printed.location).ok()?;
    let size = log.length();
    let from = size.saturating_sub(OUTPUT_BYTES);
    let mut bytes = Vec::new();
    while let Ok(piece) = log.read(from + bytes.len() as u64, OUTPUT_BYTES)
        && !piece.is_empty()
    {
        bytes.extend(piece);
    }
    let hits = search.as_deref().map(|search| find_lines(&mut log, search)).unwrap_or_default();
    // The first piece may begin in the middle of a line or a character.
    let whole =
        if from == 0 { 0 } else { bytes.iter().position(|b| *b == b'\n').map_or(0, |at| at + 1) };
    Some(OutputView {
        attempt: printed.attempt,
        text: String::from_utf8_lossy(&bytes[whole..]).into_owned(),
        size,
        offset: from + bytes.len() as u64,
        is_running: !printed.is_over,
        search,
        matches: hits,
    })
}

/// Returns the lines that contain a text, with their numbers. Reads the output piece by piece, so
/// that memory use does not depend on its size.
fn find_lines(log: &mut RunOutput, search: &str) -> Vec<(u64, String)> {
    let search = search.to_lowercase();
    let (mut hits, mut number, mut rest, mut at) = (Vec::new(), 1, Vec::new(), 0);
    while at < SEARCHED_BYTES_MAX && hits.len() < HITS_MAX {
        let Ok(piece) = log.read(at, OUTPUT_BYTES) else { break };
        let over = piece.is_empty();
        at += piece.len() as u64;
        rest.extend(piece);
        let last = rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let whole = if over || rest.len() - last > LINE_BYTES_MAX { rest.len() } else { last };
        for line in rest[..whole].split_inclusive(|byte| *byte == b'\n') {
            let ends = line.ends_with(b"\n");
            let text = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(line));
            if text.to_lowercase().contains(&search) && hits.len() < HITS_MAX {
                hits.push((number, text.chars().take(HIT_CHARS_MAX).collect()));
            }
            number += u64::from(ends);
        }
        rest.drain(..whole);
        if over {
            break;
        }
    }
    hits
}
