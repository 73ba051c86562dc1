//! Serves the figures page. Sums up the event log at the first request, and later only new events.

use std::path::Path;

use adjutant_core::World;
use adjutant_core::statistics::{HOUR_MILLIS, HOURS_MAX, WorkStatistics};
use adjutant_model::{EventId, Status, Time};
use adjutant_query::failure::CommandFailure;
use adjutant_store::StoreError;
use adjutant_store::event_log::decode;
use adjutant_store::file::EventFiles;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use parking_lot::Mutex;

use super::{BoardPage, BoardUser};
use crate::board::figures::{FiguresPage as Shown, FiguresPeriod};
use crate::board::page_frame::BoardTab;
use crate::http::SharedState;
use crate::http::params::QueryParams;
use crate::http::problem::ApiProblem;

/// The sums so far, and the last event included in them.
#[derive(Default)]
pub(in crate::http) struct FigureSums(Mutex<Option<(WorkStatistics, EventId)>>);

impl FigureSums {
    /// Adds new events from the log, and returns the sums.
    fn update(&self, root: &Path, now: Time) -> Result<WorkStatistics, StoreError> {
        let mut sums = self.0.lock();
        let (mut figures, mut last) = sums.take().unwrap_or_default();
        let mut files = if last == EventId::default() {
            let back = i64::try_from(HOURS_MAX).unwrap_or(i64::MAX).saturating_mul(HOUR_MILLIS);
            EventFiles::since(root, &Time::from_millis(now.as_millis() - back).day())
        } else {
            EventFiles::after(root, last)?
        };
        while let Some(line) = files.next_line()? {
            // Skip lines of the event log that other programs wrote and that cannot be parsed.
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
    State(app): State<SharedState>,
    person: BoardUser,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiProblem> {
    let mut params = QueryParams::parse(query.as_deref(), &["span"]);
    let span =
        |text: &str| FiguresPeriod::parse(text).ok_or_else(|| "must be day or month".to_owned());
    let span = params.parse_value("span", span).unwrap_or_default();
    params.check()?;
    let (now, own) = (app.project.queries.now(), std::sync::Arc::clone(&app));
    let shown = app
        .with_project(move |project| {
            let figures = own.figures.update(project.queries.root(), now);
            let figures = figures.map_err(|error| CommandFailure::unreadable_log(&error))?;
            let count = |world: &World| Status::ALL.map(|status| (status, world.count(status)));
            let counts = project.queries.with_world(count)?.into();
            Ok(Shown { counts, figures, span, now })
        })
        .await?;
    BoardPage::new("Statistics", Some(BoardTab::Figures), shown.render()).send(&app, &person).await
}
