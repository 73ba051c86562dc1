//! Follows the event log: reads new lines once and broadcasts them to all clients.

use std::sync::Arc;

use adjutant_core::World;
use adjutant_model::EventId;
use adjutant_store::file::EventFiles;
use axum::body::Bytes;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::{broadcast, watch};

use super::SharedState;

/// How many lines are queued for a follower; one that falls further behind reads the files again.
const QUEUED_LINES_MAX: usize = 1024;

/// The most lines that are read before they are broadcast.
const LINES_AT_ONCE: usize = 256;

#[derive(Debug, Clone)]
pub(super) struct FeedLine {
    pub(super) id: u64,
    pub(super) kind: String,
    pub(super) task: Option<String>,
    pub(super) text: String,
}

/// The fields of a line that the server needs. All others are ignored, because other programs may
/// have written the line.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EventHead {
    event_id: u64,
    r#type: String,
    #[serde(default)]
    task_id: Option<String>,
}

impl FeedLine {
    /// Parses a line; `None` if it is not an event.
    pub(super) fn parse(bytes: Vec<u8>) -> Option<Self> {
        let text = String::from_utf8(bytes).ok()?;
        let EventHead { event_id: id, r#type: kind, task_id: task } =
            serde_json::from_str(&text).ok()?;
        Some(Self { id, kind, task, text })
    }

    /// Returns the line as a server-sent event, with the event number as its id.
    pub(super) fn to_frame(&self) -> Bytes {
        // JSON allows a bare carriage return between tokens, which would end the line here.
        let text = self.text.replace('\r', " ");
        format!("id: {}\ndata: {text}\n\n", self.id).into()
    }

    /// Returns a text of the payload; empty if the event has none of this name.
    pub(super) fn payload_text(&self, key: &str) -> String {
        self.to_json()["payload"][key].as_str().unwrap_or_default().to_owned()
    }

    /// Returns the event as JSON.
    pub(super) fn to_json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }
}

pub(super) struct EventFeed {
    lines: broadcast::Sender<FeedEvent>,
}

/// A new line and its encoding, which is made once for all followers.
#[derive(Debug, Clone)]
pub(super) struct FeedEvent {
    pub(super) line: Arc<FeedLine>,
    pub(super) frame: Bytes,
}

impl EventFeed {
    pub(super) fn new() -> Self {
        Self { lines: broadcast::channel(QUEUED_LINES_MAX).0 }
    }

    /// Subscribes to all lines added from now on.
    pub(super) fn subscribe(&self) -> broadcast::Receiver<FeedEvent> {
        self.lines.subscribe()
    }
}

/// Broadcasts new lines of the event log after every commit.
pub(super) async fn follow(app: SharedState, mut bell: watch::Receiver<u64>) {
    let mut last = app.project.queries.with_world(World::last_event).unwrap_or_default();
    let mut files = EventFiles::after(app.project.queries.root(), last).ok();
    loop {
        let root = app.project.queries.root().to_owned();
        let read = tokio::task::spawn_blocking(move || {
            let mut files = match files {
                Some(files) => files,
                None => EventFiles::after(&root, last)?,
            };
            let mut lines = Vec::new();
            while lines.len() < LINES_AT_ONCE
                && let Some(line) = files.next_line()?
            {
                lines.extend(FeedLine::parse(line.bytes));
            }
            Ok::<_, adjutant_store::StoreError>((files, lines))
        });
        // After a failure, reading is retried at the next commit.
        let read = read.await.ok().and_then(Result::ok);
        let (read, lines) = read.unzip();
        files = read;
        let lines = lines.unwrap_or_default();
        let more = !lines.is_empty();
        for line in lines {
            last = EventId(line.id);
            app.metrics.count_event(&line);
            // Sending fails when there are no followers, which is fine.
            let frame = line.to_frame();
            let _ = app.event_feed.lines.send(FeedEvent { line: Arc::new(line), frame });
        }
        if !more && bell.changed().await.is_err() {
            return;
        }
    }
}
