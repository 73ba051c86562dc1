//! Golden files of the notices that targets receive.

use std::fmt::Write as _;

use adjutant_config::Format;
use adjutant_http_client::webhook_signature::{decode_key, sign_webhook};
use adjutant_model::notice::{NoticeKind, OperatorNotice};
use adjutant_model::{Actor, EventId, TaskId, Time};
use adjutant_test_support::assert_every_variant;
use adjutant_test_support::golden::GoldenFolder;

use super::notice_message::{NoticeItem, NoticeMessage};
use super::{desktop, webhook_body};

fn item(number: u64, kind: NoticeKind, task: Option<TaskId>, reason: &str) -> NoticeItem {
    let notice = OperatorNotice {
        kind,
        event: EventId(number),
        at: Time::parse("2026-02-09T20:30:00.250Z").expect("a time"),
        task,
        title: "Mend *it* & <all> of it".into(),
        reason: reason.into(),
        by: Actor::human("alice"),
    };
    NoticeItem::new(format!("p-{number}-0"), notice)
}

/// One message for every kind of notice, one without a task, and one with all of them.
fn letters() -> Vec<NoticeMessage> {
    let task = TaskId::parse("TASK-2026-02-09-001").expect("a task id");
    let of =
        |(number, kind): (u64, NoticeKind)| item(number, kind, Some(task.clone()), "no key\nyet");
    let items: Vec<NoticeItem> = (1..).zip(NoticeKind::ALL).map(of).collect();
    let mut letters: Vec<NoticeMessage> = items
        .iter()
        .map(|item| NoticeMessage { id: item.id.clone(), items: vec![item.clone()] })
        .collect();
    let bare = item(99, NoticeKind::Refused, None, "");
    letters.push(NoticeMessage { id: bare.id.clone(), items: vec![bare] });
    letters.push(NoticeMessage { id: "p-12-0+12".into(), items });
    letters
}

fn bodies(form: Format) -> String {
    letters().iter().fold(String::new(), |mut lines, letter| {
        let _ = writeln!(lines, "{}", webhook_body::webhook_body(form, letter));
        lines
    })
}

fn signatures() -> String {
    let plain = decode_key("secret").expect("a key");
    let coded = decode_key("whsec_MDEyMzQ1Njc4OWFiY2RlZg==").expect("a key");
    let sign = |key: &[u8]| sign_webhook(key, "p-1-0", "1770669000", r#"{"version":1}"#);
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
    let desktop = desktop.iter().map(|letter| format!("{:?}", desktop::desktop_command(letter)));
    golden.add("desktop.txt", desktop.collect::<Vec<_>>().join("\n") + "\n");
    golden.add("signatures.txt", signatures());
    golden.check();
}
