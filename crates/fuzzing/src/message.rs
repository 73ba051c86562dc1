//! AOF/1 messages: read, decided on, and carried through an engine.

use std::collections::BTreeMap;

use adjutant_core::aof::{self, Incoming, MESSAGE_BYTES_MAX};
use adjutant_core::input::{Facts, Presence, Token};
use adjutant_core::{Event, Input, Recorded, Task, TaskId, Verdict, World, decide, invariants};
use adjutant_runtime::Request;
use adjutant_store::{MemoryStore, record};
use serde_json::Value;

use crate::given;

/// Any bytes sent as a message get one answer, and change something only if it is `applied`.
pub fn message(bytes: &[u8]) {
    let incoming = aof::read(bytes);
    check_reading(bytes, &incoming);
    let world = given::world();
    for facts in facts() {
        check_decision(&world, &Input::Message { incoming: incoming.clone(), facts });
    }
    check_files(bytes);
}

fn check_reading(bytes: &[u8], incoming: &Incoming) {
    if let Incoming::Refused(refusal) = incoming {
        assert!(!refusal.problems.is_empty(), "a refusal says what is wrong");
    }
    if says_it_is_ours(bytes) {
        assert_ne!(*incoming, Incoming::Ignored, "what says it is ours is not ignored");
    }
    let marked = ["\u{feff}".as_bytes(), bytes].concat();
    if marked.len() <= MESSAGE_BYTES_MAX && std::str::from_utf8(bytes).is_ok() {
        assert_eq!(aof::read(&marked), *incoming, "a byte order mark changes nothing");
    }
}

fn says_it_is_ours(bytes: &[u8]) -> bool {
    let value = serde_json::from_slice::<Value>(bytes).unwrap_or_default();
    value.get("protocol").is_some_and(|protocol| protocol == "aof")
}

/// Returns what may be found on disk about a message.
fn facts() -> [Facts; 4] {
    let missing = Presence::Missing;
    let run = |task: &str, fence| {
        let task = TaskId::parse(task).expect("a good id");
        Facts { token: Token::Run { task, fence }, ..Facts::default() }
    };
    [
        Facts { summary: missing, handoff: missing, ..Facts::default() },
        Facts { escapes: vec!["payload.summaryRef".to_owned()], ..Facts::default() },
        run(given::LEASED, 2),
        run(given::LEASED, 3),
    ]
}

pub(crate) fn check_decision(world: &World, input: &Input) {
    let decision = decide(world, input, given::now());
    assert_eq!(decide(world, input, given::now()), decision, "the same again is decided the same");
    let mut after = world.clone();
    for happened in &decision.events {
        let id = after.last_event().next();
        let recorded = Recorded { id, at: given::now(), happened: happened.clone() };
        let line = record::encode(&recorded, None);
        assert_eq!(record::decode(&line), Ok(as_recorded(&recorded)), "{line}");
        after.apply(&recorded);
    }
    assert_eq!(invariants::broken(&after), Vec::<String>::new());
    if decision.answer.verdict != Verdict::Applied {
        assert_eq!(tasks(&after), tasks(world), "what is not applied changes no task");
        assert_eq!(decision.effects, vec![], "what is not applied owes nothing");
    }
    match decision.answer.verdict {
        Verdict::Rejected | Verdict::Unknown => assert!(!decision.events.is_empty()),
        Verdict::Ignored => assert!(decision.events.is_empty()),
        Verdict::Applied | Verdict::Noop => {}
    }
}

/// What is kept of a message that came too late is in a file, and not in the record.
fn as_recorded(recorded: &Recorded) -> Recorded {
    let mut recorded = recorded.clone();
    if let Event::TaskCreated { body: Some(body), .. } = &mut recorded.happened.event {
        body.clear();
    }
    if let Event::RunSalvaged { text, .. } = &mut recorded.happened.event {
        assert!(text.take().is_some_and(|text| aof::read(text.as_bytes()) != Incoming::Ignored));
    }
    recorded
}

/// Sends the bytes through an engine, and looks at the files before and after.
pub(crate) fn check_files(bytes: &[u8]) {
    let store = given::store();
    let mut engine = given::engine(&store);
    let before = files(&store);
    let answered = engine.submit_one(Request::Message(bytes.to_vec()));
    let answered = answered.expect("a store in memory does not fail");
    if answered.answer.verdict != Verdict::Applied {
        assert_eq!(files(&store), before, "what is not applied changes no file");
    }
    assert_eq!(store.lines().len(), answered.events.len(), "every event is in the record");
    let found = store.clone().open().world;
    assert_eq!(tasks(&found), tasks(engine.world()), "the files say what was decided");
}

/// Returns every file but those kept aside for a person to look at.
fn files(store: &MemoryStore) -> BTreeMap<String, Option<String>> {
    let names = store.files().into_iter().filter(|name| !name.contains("/salvage/"));
    names.map(|name| (name.clone(), store.file(&name))).collect()
}

fn tasks(world: &World) -> Vec<Task> {
    world.tasks().cloned().collect()
}
