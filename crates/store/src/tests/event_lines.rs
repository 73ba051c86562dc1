//! Golden files of every event as a line of the event log.

use std::collections::BTreeMap;

use adjutant_model::event::NewEvent;
use adjutant_model::{Actor, Event, EventId, RecordedEvent, Status};
use adjutant_test_support::assert_every_variant;
use adjutant_test_support::golden::GoldenFolder;

use super::events::every_event;
use super::samples::{agent, id, time};
use super::task::bare_task;
use crate::event_log::{EventChain, decode, encode};
use crate::hash::ShortHash;

fn recorded(number: u64, actor: Actor, event: Event) -> RecordedEvent {
    let task = Some(id(1));
    let happened = NewEvent { actor, task, event };
    RecordedEvent { id: EventId(number), at: time("20:30:00.250"), node: None, new_event: happened }
}

/// Returns an event as it is read back: bodies and salvaged texts are in other files.
fn without_texts(event: Event) -> Event {
    match event {
        Event::TaskCreated { task, body, limits: _ } => {
            Event::TaskCreated { task, body: body.map(|_| String::new()), limits: None }
        }
        Event::TaskEdited { task, changed, body: _, limits: _ } => {
            Event::TaskEdited { task, changed, body: None, limits: None }
        }
        Event::RunSalvaged { file, reason, text: _ } => {
            Event::RunSalvaged { file, reason, text: None }
        }
        other => other,
    }
}

/// All lines are chained to the same line, so a change of one event changes one line here.
#[test]
fn event_lines_match_golden_files() {
    let prev = Some(ShortHash::digest(b"the line before"));
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for event in every_event() {
        let file = files.entry(format!("{}.jsonl", event.kind())).or_default();
        *file += &encode(&recorded(7, Actor::System, event), prev);
        file.push('\n');
    }
    let mut golden = GoldenFolder::new("events");
    for (file, text) in files {
        golden.add(file, text);
    }
    golden.add("chain.jsonl", chain());
    golden.check();
}

#[test]
fn golden_event_lines_are_read_back() {
    for event in every_event() {
        let line = encode(&recorded(7, Actor::System, event.clone()), None);
        let read = recorded(7, Actor::System, without_texts(event));
        assert_eq!(decode(&line), Ok(read), "{line}");
    }
}

/// Returns a chain of lines: the first has no `prev`, each later line has the hash of the line
/// before it. It has every kind of actor and an event without a task.
fn chain() -> String {
    let actors = [
        Actor::Agent(agent("swe")),
        Actor::human("alice"),
        Actor::Scheduler,
        Actor::Router,
        Actor::System,
    ];
    assert_every_variant!(&actors, Actor { Agent, Human, Scheduler, Router, System });
    let task = Box::new(bare_task(Status::Ready));
    let mut events = vec![recorded(
        1,
        Actor::human("alice"),
        Event::TaskCreated { task, body: None, limits: None },
    )];
    for (number, actor) in (2..).zip(actors) {
        events.push(recorded(number, actor, Event::TaskRetried {}));
    }
    let mut about_none = recorded(7, Actor::System, Event::FolderAdopted { tasks: 1 });
    about_none.new_event.task = None;
    events.push(about_none);
    EventChain::default().append_events(&events).join("\n") + "\n"
}
