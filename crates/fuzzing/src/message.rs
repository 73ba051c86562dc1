//! Fuzz target: AOF/1 messages are read, decided on and sent through an engine.

use std::collections::BTreeMap;

use adjutant_core::input::{FilePresence, MessageFacts, TokenOwner};
use adjutant_core::protocols::aof::{self, IncomingText, MESSAGE_BYTES_MAX};
use adjutant_core::{Input, World, decide, invariants};
use adjutant_engine::EngineRequest;
use adjutant_model::{AnswerVerdict, Event, RecordedEvent, Task, TaskId};
use adjutant_store::{MemoryStore, event_log};
use serde_json::Value;

use crate::fixture;

/// Any bytes sent as a message get one answer, and change a task only if it is `applied`.
pub fn message(bytes: &[u8]) {
    let incoming = aof::read(bytes);
    check_reading(bytes, &incoming);
    let world = fixture::world();
    for facts in facts() {
        check_decision(&world, &Input::Message { incoming: incoming.clone(), facts });
    }
    check_files(bytes);
}

fn check_reading(bytes: &[u8], incoming: &IncomingText) {
    if let IncomingText::Refused(refusal) = incoming {
        assert!(!refusal.problems.is_empty(), "a refusal says what is wrong");
    }
    if claims_aof_protocol(bytes) {
        assert_ne!(*incoming, IncomingText::Ignored, "what says it is ours is not ignored");
    }
    let marked = ["\u{feff}".as_bytes(), bytes].concat();
    if marked.len() <= MESSAGE_BYTES_MAX && std::str::from_utf8(bytes).is_ok() {
        assert_eq!(aof::read(&marked), *incoming, "a byte order mark changes nothing");
    }
}

fn claims_aof_protocol(bytes: &[u8]) -> bool {
    let value = serde_json::from_slice::<Value>(bytes).unwrap_or_default();
    value.get("protocol").is_some_and(|protocol| protocol == "aof")
}

/// Facts that may be found on disk about a message.
fn facts() -> [MessageFacts; 4] {
    let missing = FilePresence::Missing;
    let run = |task: &str, fence| {
        let task = TaskId::parse(task).expect("a good id");
        MessageFacts {
            token: TokenOwner::Run { nonce: None, task, fence },
            ..MessageFacts::default()
        }
    };
    [
        MessageFacts { summary: missing, handoff: missing, ..MessageFacts::default() },
        MessageFacts {
            escaping_paths: vec!["payload.summaryRef".to_owned()],
            ..MessageFacts::default()
        },
        run(fixture::LEASED, 2),
        run(fixture::LEASED, 3),
    ]
}

pub(crate) fn check_decision(world: &World, input: &Input) {
    let decision = decide(world, input, fixture::now());
    assert_eq!(
        decide(world, input, fixture::now()),
        decision,
        "the same again is decided the same"
    );
    let (mut after, mut renewed) = (world.clone(), world.clone());
    for happened in &decision.events {
        let id = after.last_event().next();
        let recorded =
            RecordedEvent { id, at: fixture::now(), node: None, new_event: happened.clone() };
        let line = event_log::encode(&recorded, None);
        assert_eq!(event_log::decode(&line), Ok(without_stored_text(&recorded)), "{line}");
        after.apply(&recorded);
        if is_renewal(&happened.event) {
            renewed.apply(&recorded);
        }
    }
    assert_eq!(invariants::find_violations(&after), Vec::<String>::new());
    if decision.answer.verdict != AnswerVerdict::Applied {
        assert_eq!(tasks(&after), tasks(&renewed), "what is not applied only renews a lease");
        assert_eq!(decision.effects, vec![], "what is not applied owes nothing");
    }
    match decision.answer.verdict {
        AnswerVerdict::Rejected | AnswerVerdict::Unknown => assert!(!decision.events.is_empty()),
        AnswerVerdict::Ignored => assert!(decision.events.is_empty()),
        AnswerVerdict::Applied | AnswerVerdict::Noop => {}
    }
}

/// Returns true for the event of a heartbeat: a message is one, even if it is refused.
fn is_renewal(event: &Event) -> bool {
    matches!(event, Event::RunHeartbeat { .. })
}

/// Returns the event without texts that are stored in files and not in the event log.
fn without_stored_text(recorded: &RecordedEvent) -> RecordedEvent {
    let mut recorded = recorded.clone();
    if let Event::TaskCreated { body: Some(body), .. } = &mut recorded.new_event.event {
        body.clear();
    }
    if let Event::RunSalvaged { text, .. } = &mut recorded.new_event.event {
        assert!(
            text.take().is_some_and(|text| aof::read(text.as_bytes()) != IncomingText::Ignored)
        );
    }
    recorded
}

/// Sends the bytes through an engine and compares the files before and after.
pub(crate) fn check_files(bytes: &[u8]) {
    let store = fixture::store();
    let mut engine = fixture::engine(&store);
    let before = files(&store);
    let answered = engine.submit_one(EngineRequest::message(bytes.to_vec()));
    let answered = answered.expect("a store in memory does not fail");
    let is_renewed = answered.events.iter().any(|event| is_renewal(&event.new_event.event));
    if answered.answer.verdict != AnswerVerdict::Applied && !is_renewed {
        assert_eq!(files(&store), before, "what is not applied changes no file");
    }
    assert_eq!(store.lines().len(), answered.events.len(), "every event is in the record");
    let found = store.clone().open().world;
    assert_eq!(tasks(&found), tasks(engine.world()), "the files say what was decided");
}

/// Returns every file except salvaged ones, which are kept for the operator.
fn files(store: &MemoryStore) -> BTreeMap<String, Option<String>> {
    let names = store.files().into_iter().filter(|name| !name.contains("/salvage/"));
    names.map(|name| (name.clone(), store.file(&name))).collect()
}

fn tasks(world: &World) -> Vec<Task> {
    world.tasks().cloned().collect()
}
