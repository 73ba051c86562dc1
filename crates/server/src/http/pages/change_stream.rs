//! Tells open pages that something changed. The event does not say what: each page fetches its
//! content.

use std::convert::Infallible;
use std::time::Duration;

use adjutant_model::answer::Reason;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::mpsc::{self, Sender};
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;

use super::BoardUser;
use crate::http::SharedState;
use crate::http::limit::StreamPermit;
use crate::http::problem::ApiProblem;
use crate::http::refusal_log::CallDescription;

/// The shortest interval between two notifications.
const NOTIFY_INTERVAL: Duration = Duration::from_millis(300);
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) async fn stream(
    State(app): State<SharedState>,
    _: BoardUser,
) -> Result<Response, ApiProblem> {
    let Some(seat) = app.limits.reserve_stream(None) else {
        let attempt = CallDescription::new("GET", "/board/changes");
        return Err(app.refuse(Reason::TooManyRequests, None, &attempt, ""));
    };
    let (to, changes) = mpsc::channel(1);
    tokio::spawn(notify_until_closed(app, to, seat));
    let changes = ReceiverStream::new(changes);
    let events =
        changes.map(|()| Ok::<_, Infallible>(Event::default().event("changed").data("now")));
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response())
}

async fn notify_until_closed(app: SharedState, to: Sender<()>, _seat: StreamPermit) {
    let mut closing = app.closing.clone();
    tokio::select! {
        () = notify_changes(&app, &to) => {}
        () = to.closed() => {}
        () = crate::http::server::wait_for_shutdown(&mut closing) => {}
    }
}

async fn notify_changes(app: &SharedState, to: &Sender<()>) {
    let mut news = app.event_feed.subscribe();
    loop {
        match news.recv().await {
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
        // Events that arrive meanwhile are merged: the page reloads once for all of them.
        tokio::time::sleep(NOTIFY_INTERVAL).await;
        while !matches!(news.try_recv(), Err(TryRecvError::Empty | TryRecvError::Closed)) {}
        if to.send(()).await.is_err() {
            return;
        }
    }
}
