//! Figures: the record added up when somebody first looks, and from then on what is new.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use adjutant_core::figures::{Figures, HOUR_MILLIS, HOURS_MAX};
use adjutant_core::{EventId, Status, Time};
use adjutant_store::StoreError;
use adjutant_store::file::EventFiles;
use adjutant_store::record::decode;
use axum::extract::{RawQuery, State};
use axum::response::Response;

use super::record::unreadable;
use super::{Page, Person};
use crate::board::figures::{Page as Shown, Span};
use crate::board::shell::Tab;
use crate::http::App;
use crate::http::params::Params;
use crate::http::problem::Problem;

/// What was added up so far, and up to which event.
#[derive(Default)]
pub(in crate::http) struct Sums(Mutex<Option<(Figures, EventId)>>);

impl Sums {
    /// Adds what is new in the record, and returns all of it.
    fn up_to_date(&self, root: &Path, now: Time) -> Result<Figures, StoreError> {
        let mut sums = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut figures, mut last) = sums.take().unwrap_or_default();
        let mut files = if last == EventId::default() {
            let back = i64::try_from(HOURS_MAX).unwrap_or(i64::MAX).saturating_mul(HOUR_MILLIS);
            EventFiles::since(root, &Time::from_millis(now.as_millis() - back).day())
        } else {
            EventFiles::after(root, last)?
        };
        while let Some(line) = files.next_line()? {
            // What others wrote into the record and makes no sense says nothing.
            let Ok(text) = str::from_utf8(&line.bytes) else { continue };
            let Ok(recorded) = decode(text) else { continue };
            if recorded.id > last {
                last = recorded.id;
                figures.add(&recorded);
            }
        }
        *sums = Some((figures.clone(), last));
        Ok(figures)
    }
}

pub(super) async fn page(
    State(app): State<App>,
    person: Person,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let mut params = Params::read(query.as_deref(), &["span"]);
    let span = |text: &str| Span::parse(text).ok_or_else(|| "must be day or month".to_owned());
    let span = params.parsed("span", span).unwrap_or_default();
    params.check()?;
    let (now, own) = (app.office.now(), std::sync::Arc::clone(&app));
    let shown = app
        .office(move |office| {
            let figures =
                own.sums.up_to_date(office.root(), now).map_err(|error| unreadable(&error))?;
            let mut counts = BTreeMap::new();
            office.look(&mut |world| {
                counts = Status::ALL.map(|status| (status, world.count(status))).into();
            })?;
            Ok(Shown { counts, figures, span, now })
        })
        .await?;
    Page::new("Figures", Some(Tab::Figures), shown.shown()).send(&app, &person).await
}
