//! Finds the result of a request that its caller sends again because it got no answer.
//!
//! The commit that applied the request also keeps its key, so the event log knows it, whichever
//! process made the commit and whatever became of that process.

use adjutant_model::event::Event;
use adjutant_model::{Answer, AnswerVerdict, EventId, RecordedEvent, Task, TaskId, Time};
use adjutant_store::event_log::decode;
use adjutant_store::file::EventFiles;
use adjutant_store::{Store, StoreError};

use super::{CommitGroup, Engine, EngineAnswer, EngineRequest};

/// How long a key is valid.
const KEY_VALID_MILLIS: i64 = 24 * 3600 * 1000;

/// A request that was applied under a key.
struct KeptRequest {
    about: Option<TaskId>,
    events: Vec<EventId>,
}

impl<S: Store> Engine<S> {
    /// Returns the answer to a request that was applied before; `None` if it was not.
    pub(super) fn find_repeated(
        &self,
        request: &EngineRequest,
        group: &CommitGroup,
    ) -> Result<Option<EngineAnswer>, StoreError> {
        let Some(key) = request.key.as_ref().filter(|key| key.is_repeat) else { return Ok(None) };
        let is_kept =
            |recorded: &RecordedEvent| kept_request(recorded, &key.key, &key.digest).is_some();
        let kept = match group.events.iter().find(|recorded| is_kept(recorded)) {
            Some(recorded) => kept_request(recorded, &key.key, &key.digest),
            None => self.find_in_log(&key.key, &key.digest)?,
        };
        let Some(kept) = kept else { return Ok(None) };
        let events = self.events_of(&kept, group)?;
        let status = kept.about.as_ref().and_then(|id| self.world.task(id)).map(Task::status);
        let answer = Answer { task: kept.about, status, ..Answer::plain(AnswerVerdict::Applied) };
        Ok(Some(EngineAnswer { events, ..answer.into() }))
    }

    fn find_in_log(&self, key: &str, digest: &str) -> Result<Option<KeptRequest>, StoreError> {
        let Some(root) = &self.event_log else { return Ok(None) };
        let from = Time::from_millis(self.clock.now().as_millis() - KEY_VALID_MILLIS);
        let mut files = EventFiles::since(root, &from.day());
        while let Some(line) = files.next_line()? {
            // Parsing only the lines that may match is much cheaper.
            let text = std::str::from_utf8(&line.bytes).ok().filter(|text| text.contains(key));
            let kept = text.and_then(|text| kept_request(&decode(text).ok()?, key, digest));
            if kept.is_some() {
                return Ok(kept);
            }
        }
        Ok(None)
    }

    /// Returns the events that the request caused when it was applied.
    fn events_of(
        &self,
        kept: &KeptRequest,
        group: &CommitGroup,
    ) -> Result<Vec<RecordedEvent>, StoreError> {
        let is_wanted = |event: &RecordedEvent| kept.events.contains(&event.id);
        let mut events: Vec<_> = group.events.iter().filter(|it| is_wanted(it)).cloned().collect();
        let (Some(root), Some(first), Some(last)) =
            (&self.event_log, kept.events.first(), kept.events.last())
        else {
            return Ok(events);
        };
        if !events.is_empty() {
            return Ok(events);
        }
        let mut files = EventFiles::after(root, EventId(first.0.saturating_sub(1)))?;
        while let Some(line) = files.next_line()? {
            let event = std::str::from_utf8(&line.bytes).ok().and_then(|text| decode(text).ok());
            let Some(event) = event.filter(|event| event.id <= *last) else { break };
            if is_wanted(&event) {
                events.push(event);
            }
        }
        Ok(events)
    }
}

/// Returns the request that an event keeps, if it has this key and this digest.
fn kept_request(recorded: &RecordedEvent, key: &str, digest: &str) -> Option<KeptRequest> {
    match &recorded.new_event.event {
        Event::RequestKept { key: kept, request, about, events }
            if kept == key && request == digest =>
        {
            Some(KeptRequest { about: about.clone(), events: events.clone() })
        }
        _ => None,
    }
}
