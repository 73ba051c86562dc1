//! The record as it grows: read once from its files, and passed on to all who follow it.

use std::sync::Arc;

use adjutant_core::EventId;
use adjutant_store::file::EventFiles;
use axum::body::Bytes;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::{broadcast, watch};

use super::App;

/// How many lines wait for those who follow; who is further behind reads the files again.
const WAITING_MAX: usize = 1024;

/// The most lines that are read before they are passed on.
const PIECE: usize = 256;

/// A line of the record.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) id: u64,
    pub(super) kind: String,
    pub(super) task: Option<String>,
    pub(super) text: String,
}

/// What is asked of a line before it is passed on. Others may have written it: anything goes.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    event_id: u64,
    r#type: String,
    #[serde(default)]
    task_id: Option<String>,
}

impl Line {
    /// Reads a line; none if it is no event.
    pub(super) fn read(bytes: Vec<u8>) -> Option<Self> {
        let text = String::from_utf8(bytes).ok()?;
        let Head { event_id: id, r#type: kind, task_id: task } =
            serde_json::from_str(&text).ok()?;
        Some(Self { id, kind, task, text })
    }

    /// Returns it as those who follow are sent it: a server-sent event, with its number as the id.
    pub(super) fn frame(&self) -> Bytes {
        // What others wrote may have a break in it that JSON lets pass.
        let text = self.text.replace('\r', " ");
        format!("id: {}\ndata: {text}\n\n", self.id).into()
    }

    /// Returns what it says.
    pub(super) fn value(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }
}

/// The record as it grows.
pub(super) struct Record {
    lines: broadcast::Sender<News>,
}

/// A line that was added, and how it is sent: made once for all who follow.
#[derive(Debug, Clone)]
pub(super) struct News {
    pub(super) line: Arc<Line>,
    pub(super) frame: Bytes,
}

impl Record {
    pub(super) fn new() -> Self {
        Self { lines: broadcast::channel(WAITING_MAX).0 }
    }

    /// Returns every line that is added from now on.
    pub(super) fn listen(&self) -> broadcast::Receiver<News> {
        self.lines.subscribe()
    }
}

/// Passes on what is added to the record, whenever the bell rings.
pub(super) async fn follow(app: App, mut bell: watch::Receiver<u64>) {
    let mut last = EventId(0);
    let _ = app.office.look(&mut |world| last = world.last_event());
    let mut files = EventFiles::after(app.office.root(), last).ok();
    loop {
        let root = app.office.root().to_owned();
        let read = tokio::task::spawn_blocking(move || {
            let mut files = match files {
                Some(files) => files,
                None => EventFiles::after(&root, last)?,
            };
            let mut lines = Vec::new();
            while lines.len() < PIECE
                && let Some(line) = files.next_line()?
            {
                lines.extend(Line::read(line.bytes));
            }
            Ok::<_, adjutant_store::StoreError>((files, lines))
        });
        // Whatever is in the way, it is tried again when the bell rings.
        let read = read.await.ok().and_then(Result::ok);
        let (read, lines) = read.unzip();
        files = read;
        let lines = lines.unwrap_or_default();
        let more = !lines.is_empty();
        for line in lines {
            last = EventId(line.id);
            app.metrics.happened(&line);
            // Nobody has to listen.
            let frame = line.frame();
            let _ = app.record.lines.send(News { line: Arc::new(line), frame });
        }
        if !more && bell.changed().await.is_err() {
            return;
        }
    }
}
