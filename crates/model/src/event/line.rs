//! One line of the event log, as it is written to disk.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{NewEvent, RecordedEvent};
use crate::actor::Actor;
use crate::event_id::EventId;
use crate::node_id::NodeId;
use crate::task_id::TaskId;
use crate::time::Time;

/// A line of the event log: one event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventLine {
    event_id: EventId,
    #[cfg_attr(feature = "schema", schemars(skip))]
    r#type: Cow<'static, str>,
    /// When the event was decided.
    timestamp: Time,
    actor: Actor,
    /// The fleet node whose request caused the event; absent if that was the node that decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    node: Option<NodeId>,
    /// The task that the event is about; absent if it is about no single task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task_id: Option<TaskId>,
    // The schema of an event describes `type` and `payload` together.
    #[cfg_attr(feature = "schema", schemars(flatten, with = "super::Event"))]
    payload: Value,
    /// The first 16 hexadecimal digits of the SHA-256 of the line before, without its line break;
    /// absent in the first line, and outside the event log.
    #[serde(default, skip_serializing_if = "Option::is_none", skip_deserializing)]
    #[cfg_attr(feature = "schema", schemars(regex(pattern = "^[0-9a-f]{16}$")))]
    prev: Option<String>,
}

impl EventLine {
    pub fn new(recorded: &RecordedEvent, prev: Option<String>) -> Self {
        let new_event = &recorded.new_event;
        let mut event = json!(new_event.event);
        Self {
            event_id: recorded.id,
            r#type: new_event.event.kind().into(),
            timestamp: recorded.at,
            actor: new_event.actor.clone(),
            node: recorded.node.clone(),
            task_id: new_event.task.clone(),
            payload: event["payload"].take(),
            prev,
        }
    }
}

impl From<RecordedEvent> for EventLine {
    fn from(recorded: RecordedEvent) -> Self {
        Self::new(&recorded, None)
    }
}

impl TryFrom<EventLine> for RecordedEvent {
    type Error = serde_json::Error;

    fn try_from(line: EventLine) -> Result<Self, serde_json::Error> {
        // The type first, so that serde need not buffer the payload to find it.
        let event = Map::from_iter([
            ("type".to_owned(), line.r#type.into()),
            ("payload".to_owned(), line.payload),
        ]);
        Ok(Self {
            id: line.event_id,
            at: line.timestamp,
            node: line.node,
            new_event: NewEvent {
                actor: line.actor,
                task: line.task_id,
                event: serde_json::from_value(event.into())?,
            },
        })
    }
}
