//! Golden files of what people and programs elsewhere are told.

use std::fmt::Write as _;

use adjutant_core::notice::{Kind, Notice};
use adjutant_core::{Actor, EventId, TaskId, Time};
use adjutant_test_support::assert_every_variant;
use adjutant_test_support::golden::GoldenFolder;

use super::letter::{Item, Letter};
use super::{desktop, format, webhook};
use crate::config::Format;

fn item(number: u64, kind: Kind, task: Option<TaskId>, reason: &str) -> Item {
    let notice = Notice {
        kind,
        event: EventId(number),
        at: Time::parse("2026-02-09T20:30:00.250Z").expect("a time"),
        task,
        title: "Mend *it* & <all> of it".into(),
        reason: reason.into(),
        by: Actor::human("alice"),
    };
    Item::new(format!("p-{number}-0"), notice)
}

/// A letter for every kind of notice, one with no task, and one with all of them.
fn letters() -> Vec<Letter> {
    let task = TaskId::parse("TASK-2026-02-09-001").expect("a task id");
    let of = |(number, kind): (u64, Kind)| item(number, kind, Some(task.clone()), "no key\nyet");
    let items: Vec<Item> = (1..).zip(Kind::ALL).map(of).collect();
    let mut letters: Vec<Letter> = items
        .iter()
        .map(|item| Letter { id: item.id.clone(), items: vec![item.clone()] })
        .collect();
    let bare = item(99, Kind::Refused, None, "");
    letters.push(Letter { id: bare.id.clone(), items: vec![bare] });
    letters.push(Letter { id: "p-12-0+12".into(), items });
    letters
}

fn bodies(form: Format) -> String {
    letters().iter().fold(String::new(), |mut lines, letter| {
        let _ = writeln!(lines, "{}", format::body(form, letter));
        lines
    })
}

fn signatures() -> String {
    let plain = webhook::key("secret").expect("a key");
    let coded = webhook::key("whsec_MDEyMzQ1Njc4OWFiY2RlZg==").expect("a key");
    let sign = |key: &[u8]| webhook::sign(key, "p-1-0", "1770669000", r#"{"version":1}"#);
    format!("{}\n{}\n", sign(&plain), sign(&coded))
}

#[test]
fn notices_match_golden_files() {
    let forms = [Format::Json, Format::Slack, Format::Discord];
    assert_every_variant!(&forms, Format { Json, Slack, Discord });
    let mut golden = GoldenFolder::new("notices");
    let names = ["webhook.jsonl", "slack.jsonl", "discord.jsonl"];
    for (form, name) in forms.into_iter().zip(names) {
        golden.add(name, bodies(form));
    }
    let desktop = letters();
    let desktop = desktop.iter().map(|letter| format!("{:?}", desktop::command(letter)));
    golden.add("desktop.txt", desktop.collect::<Vec<_>>().join("\n") + "\n");
    golden.add("signatures.txt", signatures());
    golden.check();
}
