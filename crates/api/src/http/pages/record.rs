//! The record, the last first.

use adjutant_core::{EventId, Time};
use adjutant_store::StoreError;
use adjutant_store::file::EventFiles;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use serde_json::Value;

use super::trail::Trail;
use super::{Page, Person};
use crate::board::record::{Filter, Line, Page as Record};
use crate::board::shell::Tab;
use crate::http::App;
use crate::http::params::Params;
use crate::http::problem::Problem;
use crate::office::{Kind, Office, Trouble};

/// How many lines a page has.
const LINES: usize = 100;
/// How much of the record is looked at for one page.
const LOOKED_AT_MAX: u64 = 100_000;
/// How far events may be from each other to be read at once.
const NEAR: u64 = 50;
/// How much of it is read at once, from its end towards its start: at first, where most find what
/// they look for, and at most.
const STRETCH: u64 = 200;
const STRETCH_MAX: u64 = 4_000;

pub(super) async fn page(
    State(app): State<App>,
    person: Person,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let mut params = Params::read(query.as_deref(), &["task", "type", "actor", "before"]);
    let text = |params: &Params, key| params.text(key).filter(|text: &String| !text.is_empty());
    let before = params.number("before");
    let filter = Filter {
        task: text(&params, "task"),
        kind: text(&params, "type"),
        actor: text(&params, "actor"),
    };
    params.check()?;
    let wanted = filter.clone();
    let own = std::sync::Arc::clone(&app);
    let (lines, older) = app
        .office(move |office| {
            let mut last = 0;
            office.look(&mut |world| last = world.last_event().0)?;
            let before = before.unwrap_or(last.saturating_add(1));
            read(office, &own.trail, before, LINES, &wanted).map_err(|error| unreadable(&error))
        })
        .await?;
    let content = Record { lines, filter, older }.shown();
    Page::new("Record", Some(Tab::Record), content).send(&app, &person).await
}

pub(super) fn unreadable(error: &StoreError) -> Trouble {
    Trouble {
        kind: Kind::Broken,
        code: "io".to_owned(),
        message: "cannot read the record".to_owned(),
        causes: vec![error.to_string()],
        hint: None,
    }
}

/// Reads the last lines before an event that are wanted, the last first, and returns where older
/// ones may be.
pub(super) fn read(
    office: &dyn Office,
    trail: &Trail,
    before: u64,
    most: usize,
    filter: &Filter,
) -> Result<(Vec<Line>, Option<u64>), StoreError> {
    if let Some(task) = &filter.task {
        let ids = trail.of(office.root(), task, before)?;
        return read_those(office, &ids, most, filter);
    }
    let (mut lines, mut until, mut stretch) = (Vec::new(), before, STRETCH);
    while until > 1 && before - until < LOOKED_AT_MAX {
        let from = until.saturating_sub(stretch).max(1);
        let mut some = read_stretch(office, from, until, filter)?;
        (until, stretch) = (from, (stretch * 2).min(STRETCH_MAX));
        some.reverse();
        lines.append(&mut some);
        if lines.len() > most {
            lines.truncate(most);
            until = lines.last().map_or(until, |line: &Line| line.id);
            break;
        }
    }
    Ok((lines, Some(until).filter(|until| *until > 1)))
}

/// Reads the first of these events, those that are near each other at once.
fn read_those(
    office: &dyn Office,
    ids: &[u64],
    most: usize,
    filter: &Filter,
) -> Result<(Vec<Line>, Option<u64>), StoreError> {
    let mut lines: Vec<Line> = Vec::new();
    for group in ids.chunk_by(|later, earlier| later - earlier < NEAR) {
        for some in group.chunks(most) {
            let (Some(last), Some(first)) = (some.first(), some.last()) else { continue };
            let mut stretch = read_stretch(office, *first, last + 1, filter)?;
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

fn read_stretch(
    office: &dyn Office,
    from: u64,
    until: u64,
    filter: &Filter,
) -> Result<Vec<Line>, StoreError> {
    let mut files = EventFiles::after(office.root(), EventId(from - 1))?;
    let mut lines = Vec::new();
    while let Some(line) = files.next_line()? {
        let Ok(text) = str::from_utf8(&line.bytes) else { continue };
        match number(text) {
            Some(id) if id >= until => break,
            Some(id) if id >= from && may_want(filter, text) => {}
            _ => continue,
        }
        let event = serde_json::from_str::<Value>(text).ok();
        let line = event.and_then(|event| shown(office, &event));
        lines.extend(line.filter(|line| wants(filter, line)));
    }
    Ok(lines)
}

/// Returns the number of an event. Ours have it first, so that the rest need not be read.
pub(super) fn number(text: &str) -> Option<u64> {
    let Some(rest) = text.strip_prefix("{\"eventId\":") else {
        return serde_json::from_str::<Value>(text).ok()?["eventId"].as_u64();
    };
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    rest[..end].parse().ok()
}

/// Says whether a line may be one that is wanted, by the words it must have in it. Most lines are
/// not, and need not be parsed to be told apart.
fn may_want(filter: &Filter, text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    let mut words = [&filter.task, &filter.kind, &filter.actor].into_iter().flatten();
    words.all(|word| !word.chars().all(plain) || text.contains(word.as_str()))
}

fn wants(filter: &Filter, line: &Line) -> bool {
    let of_kind = |wanted: &String| {
        let rest = line.kind.strip_prefix(wanted.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    filter.task.as_ref().is_none_or(|task| line.task.as_ref() == Some(task))
        && filter.kind.as_ref().is_none_or(of_kind)
        && filter.actor.as_ref().is_none_or(|actor| line.actor == *actor)
}

/// Shows an event in words. Takes any JSON: others may have written it.
fn shown(office: &dyn Office, event: &Value) -> Option<Line> {
    let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
    Some(Line {
        id: event["eventId"].as_u64()?,
        at: Time::parse(&text("timestamp")).ok(),
        kind: text("type"),
        actor: text("actor"),
        task: event["taskId"].as_str().map(str::to_owned),
        text: office.in_words(event),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_told_apart_by_its_words_and_known_by_its_number() {
        let ours = r#"{"eventId":17,"type":"run.started","actor":"human:alice","taskId":"T-1"}"#;
        let others = r#"{ "type": "x", "eventId": 18 }"#;
        assert_eq!((number(ours), number(others)), (Some(17), Some(18)));
        assert_eq!((number("{\"eventId\":"), number("what?")), (None, None));
        let of = |task: &str| Filter { task: Some(task.to_owned()), ..Filter::default() };
        assert!(may_want(&of("T-1"), ours) && !may_want(&of("T-2"), ours));
        assert!(may_want(&of("\u{e9}"), ours), "what may be written in other ways is parsed");
        assert!(may_want(&Filter::default(), others));
    }
}
