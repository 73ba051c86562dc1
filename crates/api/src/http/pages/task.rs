//! One task, with all there is about it.

use std::time::Duration;

use adjutant_core::account::dollars;
use adjutant_core::evidence::{self, Evidence};
use adjutant_core::schedule::why;
use adjutant_core::{Status, Task, Time};
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use serde_json::Value;

use super::act::did;
use super::record::{read, unreadable};
use super::trail::Trail;
use super::{Page, Person};
use crate::board::form::Act;
use crate::board::record::Filter;
use crate::board::shell::Tab;
use crate::board::task::{Changes, Check, Fact, Output, Page as Shown, Run};
use crate::http::App;
use crate::http::params::Params;
use crate::http::printed::Log;
use crate::http::problem::Problem;
use crate::office::{Office, Printed, Trouble};

/// How much of what a run printed is on its page.
const OUTPUT_BYTES: u64 = 64 << 10;
/// How many lines with what is looked for are shown.
const HITS_MAX: usize = 200;
/// How much of such a line is shown.
const HIT_CHARS_MAX: usize = 500;
/// The longest line that is looked at as one.
const LINE_BYTES_MAX: usize = 256 << 10;
/// How much of a log is gone through for what is looked for.
const SEARCHED_BYTES_MAX: u64 = 128 << 20;
/// How much of a diff is on the page of a task; `task diff` shows all of it.
const DIFF_CHARS_MAX: usize = 200_000;
/// How many lines of the record are on the page of a task.
const RECORD_LINES: usize = 20;

pub(super) async fn page(
    State(app): State<App>,
    person: Person,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let mut params = Params::read(query.as_deref(), &["run", "find", "did"]);
    let run = params.number("run").and_then(|run| u32::try_from(run).ok());
    let find = params.text("find").filter(|text| !text.is_empty());
    let said = params.text("did").and_then(|word| did(&word));
    params.check()?;
    let own = std::sync::Arc::clone(&app);
    let shown = app.office(move |office| gather(office, &own.trail, &id, run, find)).await?;
    let content = shown.shown(&person.proof);
    Page::new(shown.title, Some(Tab::Board), content).saying(said).send(&app, &person).await
}

fn gather(
    office: &dyn Office,
    trail: &Trail,
    text: &str,
    run: Option<u32>,
    find: Option<String>,
) -> Result<Shown, Trouble> {
    let id = office.known(text)?;
    let file = office.show(&id)?;
    let now = office.now();
    let mut known = None;
    office.look(&mut |world| {
        let holds = why(world, &id, now).into_iter().map(|hold| hold.text).collect::<Vec<_>>();
        known = world.task(&id).map(|task| (task.clone(), holds));
    })?;
    let filter = Filter { task: Some(id.to_string()), ..Filter::default() };
    let mut last = 0;
    office.look(&mut |world| last = world.last_event().0)?;
    let (record, _) = read(office, trail, last.saturating_add(1), RECORD_LINES, &filter)
        .map_err(|error| unreadable(&error))?;
    let runs = office.runs(&id)?;
    let output = office.log(&id, run).ok().and_then(|printed| printed_by(&printed, find));
    let (evidence, diff) = office.evidence(&id);
    let (task, holds) = known.unzip();
    let status = task.as_ref().map_or(Status::Backlog, Task::status);
    Ok(Shown {
        id: id.to_string(),
        title: file["title"].as_str().unwrap_or(id.as_str()).to_owned(),
        status,
        priority: task.as_ref().map(|task| task.priority).unwrap_or_default(),
        body: file["body"].as_str().unwrap_or_default().to_owned(),
        holds: holds.unwrap_or_else(|| vec!["Its file cannot be read.".to_owned()]),
        acts: acts(task.as_ref()),
        facts: task.as_ref().map(facts).unwrap_or_default(),
        runs: runs.as_array().into_iter().flatten().rev().map(shown_run).collect(),
        output,
        checks: evidence.iter().flat_map(|evidence| &evidence.checks).map(check).collect(),
        changes: evidence.as_ref().and_then(|evidence| changes(evidence, diff)),
        files: super::file::list(office, &id, status),
        record,
        now,
    })
}

/// Says what a person can do to a task where it stands.
fn acts(task: Option<&Task>) -> Vec<Act> {
    let Some(task) = task else { return vec![] };
    match task.status() {
        Status::Backlog => vec![Act::Ready, Act::Cancel],
        Status::Ready | Status::InProgress => vec![Act::Cancel],
        Status::Review => vec![Act::Approve, Act::Reject, Act::Cancel],
        Status::Blocked if task.trials.blocked_by.is_some() => vec![Act::Retry, Act::Cancel],
        Status::Blocked => vec![Act::Answer, Act::Retry, Act::Cancel],
        Status::Deadletter => vec![Act::Retry, Act::Cancel],
        Status::Done | Status::Cancelled => vec![],
    }
}

fn check(check: &evidence::Check) -> Check {
    let took = Duration::from_millis(check.duration_ms).as_secs_f64();
    Check {
        command: check.command.clone(),
        passed: check.passed(),
        detail: format!("{}, {took:.1} s", check.exit.in_words()),
        tail: check.tail.clone(),
    }
}

/// Says what changed; none if nothing was found out about that.
fn changes(evidence: &Evidence, diff: Option<String>) -> Option<Changes> {
    let stat = evidence.in_words();
    let diff = diff.unwrap_or_default();
    let end = diff.char_indices().nth(DIFF_CHARS_MAX).map_or(diff.len(), |(at, _)| at);
    let shown = diff[..end].to_owned();
    (!stat.is_empty()).then_some(Changes { stat, diff: shown })
}

fn facts(task: &Task) -> Vec<(String, Fact)> {
    let text =
        |name: &str, text: Option<&str>| Some((name.to_owned(), Fact::Text(text?.to_owned())));
    let moment = |name: &str, at: Time| Some((name.to_owned(), Fact::Moment(at)));
    let tasks = |name: &str, ids: Vec<String>| {
        (!ids.is_empty()).then(|| (name.to_owned(), Fact::Tasks(ids)))
    };
    let routing = &task.routing;
    let tags = routing.tags.iter().map(|tag| &**tag).collect::<Vec<_>>().join(", ");
    let all = [
        text("priority", Some(task.priority.as_str())),
        text("agent", routing.agent.as_ref().map(adjutant_core::AgentId::as_str)),
        text("role", routing.role.as_deref()),
        text("mode", routing.mode.as_deref()),
        text("tags", Some(tags.as_str()).filter(|tags| !tags.is_empty())),
        tasks("part of", task.parent.iter().map(ToString::to_string).collect()),
        tasks("after", task.depends_on.iter().map(ToString::to_string).collect()),
        text("resource", task.resource.as_deref()),
        text("used", used(task).as_deref()),
        task.due_by.and_then(|due| moment("due", due)),
        task.lease().and_then(|lease| moment("lease until", lease.expires_at)),
        moment("made", task.created_at),
        text("made by", Some(&task.created_by)),
        moment("changed", task.updated_at),
    ];
    all.into_iter().flatten().collect()
}

/// Says what a task has used and cost so far, where its agents tell.
fn used(task: &Task) -> Option<String> {
    let usage = task.trials.account.as_deref()?.used();
    let tokens = usage.tokens();
    let cost = if usage.cost == 0 { String::new() } else { format!(", {}", dollars(usage.cost)) };
    (tokens > 0 || usage.cost > 0).then(|| format!("{tokens} tokens{cost}"))
}

fn shown_run(value: &Value) -> Run {
    let text = |key: &str| value[key].as_str().unwrap_or_default();
    let time = |key: &str| Time::parse(text(key)).ok();
    let exit = match &value["exit"] {
        Value::String(exit) => exit.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let outcome = match text("state") {
        "running" => "runs".to_owned(),
        "lost" => "lost".to_owned(),
        _ => format!("ended: {exit}"),
    };
    Run {
        attempt: value["attempt"].as_u64().and_then(|n| n.try_into().ok()).unwrap_or(0),
        agent: text("agent").to_owned(),
        began: time("startedAt"),
        ended: time("endedAt"),
        outcome,
        cost: None,
    }
}

/// Reads the end of what a run printed, and finds what is looked for in all of it.
fn printed_by(printed: &Printed, search: Option<String>) -> Option<Output> {
    let mut log = Log::open(&printed.place).ok()?;
    let size = log.length();
    let from = size.saturating_sub(OUTPUT_BYTES);
    let mut bytes = Vec::new();
    while let Ok(piece) = log.read(from + bytes.len() as u64, OUTPUT_BYTES)
        && !piece.is_empty()
    {
        bytes.extend(piece);
    }
    let hits = search.as_deref().map(|search| find(&mut log, search)).unwrap_or_default();
    // A piece may begin in the middle of a line, and of a letter.
    let whole =
        if from == 0 { 0 } else { bytes.iter().position(|b| *b == b'\n').map_or(0, |at| at + 1) };
    Some(Output {
        attempt: printed.attempt,
        text: String::from_utf8_lossy(&bytes[whole..]).into_owned(),
        size,
        offset: from + bytes.len() as u64,
        runs: !printed.is_over,
        search,
        hits,
    })
}

/// Finds the lines with a text in them, by their numbers. The log is read piece by piece and each
/// piece gone through once, so that a large one takes no more room than a small one; a line that is
/// longer than a piece is looked at in parts.
fn find(log: &mut Log, search: &str) -> Vec<(u64, String)> {
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
