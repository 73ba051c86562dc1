//! The record, the last first.

use adjutant_core::{EventId, Time};
use adjutant_store::StoreError;
use adjutant_store::file::EventFiles;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use serde_json::Value;

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
/// How much of it is read at once, from its end towards its start.
const STRETCH: u64 = 2_000;

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
    let (lines, older) = app
        .office(move |office| {
            let mut last = 0;
            office.look(&mut |world| last = world.last_event().0)?;
            let before = before.unwrap_or(last.saturating_add(1));
            read(office, before, LINES, &wanted).map_err(|error| unreadable(&error))
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
    before: u64,
    most: usize,
    filter: &Filter,
) -> Result<(Vec<Line>, Option<u64>), StoreError> {
    let (mut lines, mut until) = (Vec::new(), before);
    while until > 1 && before - until < LOOKED_AT_MAX {
        let from = until.saturating_sub(STRETCH).max(1);
        let mut stretch = read_stretch(office, from, until, filter)?;
        until = from;
        stretch.reverse();
        lines.append(&mut stretch);
        if lines.len() > most {
            lines.truncate(most);
            until = lines.last().map_or(until, |line: &Line| line.id);
            break;
        }
    }
    Ok((lines, Some(until).filter(|until| *until > 1)))
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
        let Ok(event) = serde_json::from_slice::<Value>(&line.bytes) else { continue };
        let Some(line) = shown(office, &event) else { continue };
        if line.id >= until {
            break;
        }
        if line.id >= from && wants(filter, &line) {
            lines.push(line);
        }
    }
    Ok(lines)
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
