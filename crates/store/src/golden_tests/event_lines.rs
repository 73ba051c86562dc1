//! Every event as a line of the event log.

use std::collections::BTreeMap;

use adjutant_core::event::Happened;
use adjutant_core::{Actor, Event, EventId, Recorded, Status};
use adjutant_test_support::assert_every_variant;
use adjutant_test_support::golden::GoldenFolder;

use super::events::every_event;
use super::samples::{agent, id, time};
use super::task::bare_task;
use crate::hash::Hash;
use crate::record::{Chain, decode, encode};

fn recorded(number: u64, actor: Actor, event: Event) -> Recorded {
    let task = Some(id(1));
    let happened = Happened { actor, task, event };
    Recorded { id: EventId(number), at: time("20:30:00.250"), happened }
}

/// Returns an event as it is read back: a body and a salvaged text are in other files.
fn without_texts(event: Event) -> Event {
    match event {
        Event::TaskCreated { task, body } => {
            Event::TaskCreated { task, body: body.map(|_| String::new()) }
        }
        Event::TaskEdited { task, changed, body: _ } => {
            Event::TaskEdited { task, changed, body: None }
        }
        Event::RunSalvaged { file, reason, text: _ } => {
            Event::RunSalvaged { file, reason, text: None }
        }
        other => other,
    }
}

/// All lines are chained to the same line, so that a change of one event changes one line here.
#[test]
fn event_lines_match_golden_files() {
    let prev = Some(Hash::of(b"the line before"));
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

/// A chain of lines: the first has no `prev`, each later one the hash of the line before. Every
/// kind of actor is among them, and an event that is about no task.
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
    let mut events =
        vec![recorded(1, Actor::human("alice"), Event::TaskCreated { task, body: None })];
    for (number, actor) in (2..).zip(actors) {
        events.push(recorded(number, actor, Event::TaskRetried));
    }
    let mut about_none = recorded(7, Actor::System, Event::FolderAdopted { tasks: 1 });
    about_none.happened.task = None;
    events.push(about_none);
    Chain::default().extend(&events).join("\n") + "\n"
}
