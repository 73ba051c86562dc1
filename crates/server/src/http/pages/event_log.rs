//! Serves the event log page, newest events first.

use std::path::Path;

use adjutant_model::{EventId, Time};
use adjutant_query::event_text::{describe_event, is_routine_warning};
use adjutant_query::failure::CommandFailure;
use adjutant_store::StoreError;
use adjutant_store::file::EventFiles;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use serde_json::Value;

use super::task_event_index::TaskEventIndex;
use super::{BoardPage, BoardUser};
use crate::board::event_log::{EventLogFilter, EventLogPage as Record, EventRow};
use crate::board::page_frame::BoardTab;
use crate::http::SharedState;
use crate::http::params::QueryParams;
use crate::http::problem::ApiProblem;

const LINES: usize = 100;
/// How many events are scanned for one page.
const SCANNED_MAX: u64 = 100_000;
/// Events closer together than this are read in one pass.
const READ_GAP_MAX: u64 = 50;
/// How many events are read at a time, backwards from the end: at first, where most matches are,
/// and at most.
const RANGE_FIRST: u64 = 200;
const RANGE_MAX: u64 = 4_000;

pub(super) async fn page(
    State(app): State<SharedState>,
    person: BoardUser,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiProblem> {
    let mut params = QueryParams::parse(query.as_deref(), &["task", "type", "actor", "before"]);
    let text =
        |params: &QueryParams, key| params.text(key).filter(|text: &String| !text.is_empty());
    let before = params.number("before");
    let filter = EventLogFilter {
        task: text(&params, "task"),
        kind: text(&params, "type"),
        actor: text(&params, "actor"),
    };
    params.check()?;
    let wanted = filter.clone();
    let own = std::sync::Arc::clone(&app);
    let (lines, older) = app
        .with_project(move |project| {
            let last = project.queries.with_world(|world| world.last_event().0)?;
            let before = before.unwrap_or(last.saturating_add(1));
            read_matching(project.queries.root(), &own.task_events, before, LINES, &wanted)
                .map_err(|error| CommandFailure::unreadable_log(&error))
        })
        .await?;
    let content = Record { lines, filter, older }.render();
    BoardPage::new("Event log", Some(BoardTab::Record), content).send(&app, &person).await
}

/// Reads the last matching events before `before`, newest first. Also returns the id before which
/// older ones may be.
pub(super) fn read_matching(
    root: &Path,
    trail: &TaskEventIndex,
    before: u64,
    most: usize,
    filter: &EventLogFilter,
) -> Result<(Vec<EventRow>, Option<u64>), StoreError> {
    if let Some(task) = &filter.task {
        let ids = trail.events_of(root, task, before)?;
        return read_listed(root, &ids, most, filter);
    }
    let (mut lines, mut until, mut stretch) = (Vec::new(), before, RANGE_FIRST);
    while until > 1 && before - until < SCANNED_MAX {
        let from = until.saturating_sub(stretch).max(1);
        let mut some = read_range(root, from, until, filter)?;
        (until, stretch) = (from, (stretch * 2).min(RANGE_MAX));
        some.reverse();
        lines.append(&mut some);
        if lines.len() > most {
            lines.truncate(most);
            until = lines.last().map_or(until, |line: &EventRow| line.id);
            break;
        }
    }
    Ok((lines, Some(until).filter(|until| *until > 1)))
}

/// Reads the first `most` of these events; ids that are close together are read in one pass.
fn read_listed(
    root: &Path,
    ids: &[u64],
    most: usize,
    filter: &EventLogFilter,
) -> Result<(Vec<EventRow>, Option<u64>), StoreError> {
    let mut lines: Vec<EventRow> = Vec::new();
    for group in ids.chunk_by(|later, earlier| later - earlier < READ_GAP_MAX) {
        for some in group.chunks(most) {
            let (Some(last), Some(first)) = (some.first(), some.last()) else { continue };
            let mut stretch = read_range(root, *first, last + 1, filter)?;
            stretch.reverse();
            lines.append(&mut stretch);
            if lines.len() > most {
                lines.truncate(most);
                return Ok((lines.clone(), lines.last().map(|line| line.id)));
            }
        }
    }
    Ok((lines, None))
}

fn read_range(
    root: &Path,
    from: u64,
    until: u64,
    filter: &EventLogFilter,
) -> Result<Vec<EventRow>, StoreError> {
    let mut files = EventFiles::after(root, EventId(from - 1))?;
    let mut lines = Vec::new();
    while let Some(line) = files.next_line()? {
        let Ok(text) = str::from_utf8(&line.bytes) else { continue };
        match event_number(text) {
            Some(id) if id >= until => break,
            Some(id) if id >= from && may_match(filter, text) => {}
            _ => continue,
        }
        let event = serde_json::from_str::<Value>(text).ok();
        let line = event.and_then(|event| to_event_row(&event));
        lines.extend(line.filter(|line| matches_filter(filter, line)));
    }
    Ok(lines)
}

/// Returns the id of an event. Our lines begin with it, so the rest need not be parsed.
pub(super) fn event_number(text: &str) -> Option<u64> {
    let Some(rest) = text.strip_prefix("{\"eventId\":") else {
        return serde_json::from_str::<Value>(text).ok()?["eventId"].as_u64();
    };
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    rest[..end].parse().ok()
}

/// Whether a line can match, by the words it must contain. This avoids parsing most lines.
fn may_match(filter: &EventLogFilter, text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    let mut words = [&filter.task, &filter.kind, &filter.actor].into_iter().flatten();
    words.all(|word| !word.chars().all(plain) || text.contains(word.as_str()))
}

fn matches_filter(filter: &EventLogFilter, line: &EventRow) -> bool {
    let of_kind = |wanted: &String| {
        let rest = line.kind.strip_prefix(wanted.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    filter.task.as_ref().is_none_or(|task| line.task.as_ref() == Some(task))
        && filter.kind.as_ref().is_none_or(of_kind)
        && filter.actor.as_ref().is_none_or(|actor| line.actor == *actor)
}

/// Describes an event. Accepts any JSON, because other programs may have written the line.
fn to_event_row(event: &Value) -> Option<EventRow> {
    let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
    Some(EventRow {
        id: event["eventId"].as_u64()?,
        at: Time::parse(&text("timestamp")).ok(),
        kind: text("type"),
        actor: text("actor"),
        task: event["taskId"].as_str().map(str::to_owned),
        text: describe_event(event),
        is_routine: is_routine_warning(event),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_line_is_prefiltered_by_words_and_identified_by_number() {
        let ours = r#"{"eventId":17,"type":"run.started","actor":"human:alice","taskId":"T-1"}"#;
        let others = r#"{ "type": "x", "eventId": 18 }"#;
        assert_eq!((event_number(ours), event_number(others)), (Some(17), Some(18)));
        assert_eq!((event_number("{\"eventId\":"), event_number("what?")), (None, None));
        let of = |task: &str| EventLogFilter {
            task: Some(task.to_owned()),
            ..EventLogFilter::default()
        };
        assert!(may_match(&of("T-1"), ours) && !may_match(&of("T-2"), ours));
        assert!(may_match(&of("\u{e9}"), ours), "what may be written in other ways is parsed");
        assert!(may_match(&EventLogFilter::default(), others));
    }
}
