//! Tells open pages that something changed: no more than that, so that they ask for what they show.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::mpsc::{self, Sender};
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;

use super::Person;
use crate::http::App;
use crate::http::limit::Seat;
use crate::http::problem::Problem;
use crate::http::refusals::Attempt;
use adjutant_core::answer::Reason;

/// A page is told at most this often.
const PAUSE: Duration = Duration::from_millis(300);
/// How often a page that is told nothing is told that.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) async fn stream(State(app): State<App>, _: Person) -> Result<Response, Problem> {
    let Some(seat) = app.limits.seat(None) else {
        let attempt = Attempt::named("GET", "/board/changes");
        return Err(app.refuse(Reason::TooManyRequests, None, &attempt, ""));
    };
    let (to, changes) = mpsc::channel(1);
    tokio::spawn(tell(app, to, seat));
    let changes = ReceiverStream::new(changes);
    let events =
        changes.map(|()| Ok::<_, Infallible>(Event::default().event("changed").data("now")));
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response())
}

async fn tell(app: App, to: Sender<()>, _seat: Seat) {
    let mut closing = app.closing.clone();
    tokio::select! {
        () = go_on(&app, &to) => {}
        () = to.closed() => {}
        () = crate::http::serve::closed(&mut closing) => {}
    }
}

async fn go_on(app: &App, to: &Sender<()>) {
    let mut news = app.record.listen();
    loop {
        match news.recv().await {
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
        // What comes meanwhile is the same change to a page: it asks once, after all of it.
        tokio::time::sleep(PAUSE).await;
        while !matches!(news.try_recv(), Err(TryRecvError::Empty | TryRecvError::Closed)) {}
        if to.send(()).await.is_err() {
            return;
        }
    }
}
