//! What waits for a person.

use adjutant_core::Time;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use serde_json::Value;

use super::act::did;
use super::{Page, Person};
use crate::board::form::Act;
use crate::board::inbox::{Item, Page as Inbox};
use crate::board::shell::Tab;
use crate::http::App;
use crate::http::params::Params;
use crate::http::problem::Problem;

/// How much is on one page.
const ITEMS: usize = 50;

pub(super) async fn page(
    State(app): State<App>,
    person: Person,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let mut params = Params::read(query.as_deref(), &["did", "page"]);
    let number = params.number("page").unwrap_or(1).max(1);
    let page = usize::try_from(number).unwrap_or(usize::MAX);
    let said = params.text("did").and_then(|word| did(&word));
    params.check()?;
    let now = app.office.now();
    let from = (page - 1).saturating_mul(ITEMS);
    let (some, all) = app.office(move |office| office.inbox_part(from, ITEMS)).await?;
    let items = some.iter().map(item).collect();
    let inbox = Inbox { items, all, page, more: from.saturating_add(ITEMS) < all, now };
    let content = inbox.shown(&person.proof);
    Page::new("Inbox", Some(Tab::Inbox), content).saying(said).send(&app, &person).await
}

/// Returns the number of the question that a command answers, if it says which.
fn question(command: &str) -> Option<String> {
    let (number, _) = command.strip_prefix("answer ")?.split_once(' ')?.1.split_once(':')?;
    Some(number.to_owned())
}

fn item(value: &Value) -> Item {
    let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let actions: Vec<&str> =
        value["actions"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let acts = actions.iter().filter_map(|action| Act::of_command(action)).collect();
    let elsewhere = actions.iter().filter(|action| Act::of_command(action).is_none());
    let report = actions.iter().find_map(|action| action.strip_prefix("inbox apply "));
    let report = report.and_then(|rest| rest.split_once(' ')).map(|(_, name)| name.to_owned());
    let report = report.or_else(|| actions.iter().find_map(|action| question(action)));
    Item {
        kind: text("kind"),
        task: text("taskId"),
        since: Time::parse(&text("since")).ok(),
        text: text("text"),
        acts,
        commands: elsewhere.map(|action| (*action).to_owned()).collect(),
        report,
    }
}
