//! Every kind of journal line and every pending effect, as they are stored.

use std::borrow::Cow;

use adjutant_model::effect::StopReason;
use adjutant_model::notice::{NoticeKind, OperatorNotice};
use adjutant_model::{Actor, Effect, EventId, Status};
use adjutant_test_support::assert_every_variant;
use adjutant_test_support::golden::GoldenFolder;

use super::mask_boot_id;
use crate::batch::{EffectId, PendingEffect, StoreVersion};
use crate::file::FileContent;
use crate::file::exchange_slots::{ExchangeMark, ExchangeSlots};
use crate::file::journal::{CommitJournal, JournalEntry, JournalOp, decode_line, encode_line};
use crate::file::progress_marker::ProgressMarker;
use crate::hash::ShortHash;
use crate::tests::samples::{ATTEMPT, FENCE, agent, id, time};

const DAY: &str = "2026-02-09";

fn pending_effect(effect: Effect) -> PendingEffect {
    PendingEffect { id: EffectId { event: EventId(9), place: 1 }, effect }
}

fn every_effect() -> Vec<Effect> {
    let (task, attempt, fence) = (id(1), ATTEMPT, FENCE);
    let notify = |kind, task| Effect::Notify {
        rule: "ops".into(),
        notice: Box::new(OperatorNotice {
            kind,
            event: EventId(8),
            at: time("20:30:00.250"),
            task,
            title: "Mend the parser".into(),
            reason: "no key".into(),
            by: Actor::human("alice"),
        }),
    };
    let stop = |reason| Effect::StopRun { task: task.clone(), fence, reason };
    let tell = |choice: Option<&str>| Effect::TellRun {
        task: task.clone(),
        attempt,
        number: 3,
        choice: choice.map(str::to_owned),
    };
    let mut all: Vec<Effect> = NoticeKind::ALL.map(|kind| notify(kind, Some(task.clone()))).into();
    all.push(notify(NoticeKind::Refused, None));
    all.push(Effect::StartRun {
        nonce: None,
        task: task.clone(),
        agent: agent("swe"),
        attempt,
        fence,
    });
    all.extend(StopReason::ALL.map(stop));
    all.push(Effect::NoteTaken { task: task.clone(), attempt, seq: 12 });
    all.extend([tell(None), tell(Some("option-allow_once"))]);
    all.push(Effect::CheckWork { task: task.clone(), attempt, fence });
    all.push(Effect::MergeWork { task: task.clone(), attempt });
    assert_every_variant!(
        &all,
        Effect { Notify, StartRun, StopRun, NoteTaken, TellRun, CheckWork, MergeWork }
    );
    all
}

fn task_op(from: Option<Status>, was: Option<&str>) -> JournalOp<'static> {
    JournalOp::Task {
        id: "TASK-2026-02-09-001".into(),
        from: from.map(|status| status.as_str().into()),
        to: Status::InProgress.as_str().into(),
        was: was.map(|text| ShortHash::digest(text.as_bytes()).to_string()),
        text: "---\nid: TASK-2026-02-09-001\n---\n\n\"Body\"\n".into(),
    }
}

fn put_op(
    was: Option<&str>,
    text: FileContent<'static>,
    origin: Option<&'static str>,
) -> JournalOp<'static> {
    JournalOp::Put {
        path: "runs/TASK-2026-02-09-001/run.json".into(),
        was: was.map(|text| ShortHash::digest(text.as_bytes()).to_string()),
        text,
        origin: origin.map(Cow::Borrowed),
    }
}

fn move_op(was: Option<&str>) -> JournalOp<'static> {
    JournalOp::Move {
        from: "runs/TASK-2026-02-09-001/run.json".into(),
        to: "runs/TASK-2026-02-09-001/attempts/1/run.json".into(),
        was: was.map(|text| ShortHash::digest(text.as_bytes()).to_string()),
    }
}

fn every_op() -> Vec<JournalOp<'static>> {
    let binary = FileContent::from(vec![0x89, b'P', b'N', b'G', 0, 0xff]);
    let ops = vec![
        task_op(None, None),
        task_op(Some(Status::Ready), Some("what it said")),
        put_op(None, "{}\n".into(), None),
        put_op(Some("what it said"), binary, Some("mac")),
        move_op(None),
        move_op(Some("what it said")),
    ];
    assert_every_variant!(&ops, JournalOp { Task, Put, Move });
    ops
}

fn entry(ops: Vec<JournalOp<'_>>) -> JournalEntry<'_> {
    JournalEntry {
        version: 4,
        day: DAY.into(),
        lines: vec![],
        ops,
        pending_effects: vec![],
        settled: vec![],
        answers: vec![],
    }
}

fn full_entry() -> JournalEntry<'static> {
    let effects = every_effect().into_iter().map(pending_effect);
    JournalEntry {
        version: u64::MAX,
        day: DAY.into(),
        lines: vec![r#"{"eventId":1}"#.into(), r#"{"eventId":2}"#.into()],
        ops: every_op(),
        pending_effects: effects.collect(),
        settled: vec![(7, 0), (8, 2)],
        answers: vec![("mac/1-2".into(), r#"{"answers":[]}"#.into())],
    }
}

fn head() -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::create_dir(folder.path().join("tmp")).expect("a folder");
    CommitJournal::begin(folder.path(), StoreVersion(41)).expect("a journal");
    std::fs::read_to_string(folder.path().join("00000001.wal")).expect("its first file")
}

fn marker() -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let marker = ProgressMarker::open(folder.path()).expect("a marker");
    marker.write_synced(StoreVersion(40)).expect("it is written");
    marker.write(StoreVersion(41)).expect("it is written");
    mask_boot_id(&std::fs::read_to_string(folder.path().join("state")).expect("its text"))
}

/// The exchange slots and their file. The owner has another name in every process.
fn exchange_slots() -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut owner_slots = ExchangeSlots::default();
    owner_slots.ensure_file(folder.path());
    let mark =
        |committed: &str| ExchangeMark { committed: committed.into(), own: "0000beef".into() };
    let slots = ["0000000a", "0000000b"].map(|committed| owner_slots.new_slot(&mark(committed)));
    let slots = slots.map(|slot| slot.expect("a slot"));
    assert!(owner_slots.write_mark(&slots[0], &mark("0000000c")));
    let path = owner_slots.path(folder.path());
    let name = path.file_name().expect("a name").to_string_lossy().into_owned();
    let owner = name.strip_prefix("marks-").expect("the name of its owner");
    let lines = std::fs::read_to_string(&path).expect("its text");
    format!("{}\n{name}:\n{lines}", slots.join("\n")).replace(owner, "<owner>")
}

#[test]
fn journal_lines_match_golden_files() {
    let mut golden = GoldenFolder::new("journal");
    let mut ops = String::new();
    for op in every_op() {
        ops += &encode_line(&entry(vec![op]));
    }
    let full = encode_line(&full_entry());
    let read = decode_line(full.as_bytes()).expect("the line is read back");
    assert_eq!(encode_line(&read), full);
    let mut effects = String::new();
    for effect in every_effect() {
        let pending = pending_effect(effect);
        let json = serde_json::to_string(&pending).expect("it makes JSON");
        let read: PendingEffect = serde_json::from_str(&json).expect("it is read back");
        assert_eq!(read, pending);
        effects += &json;
        effects.push('\n');
    }
    golden.add("head.wal", head());
    golden.add("operations.wal", ops);
    golden.add("empty-and-full-entry.wal", encode_line(&entry(vec![])) + &full);
    golden.add("pending-effects.jsonl", effects);
    golden.add("state", marker());
    golden.add("exchange-slots.txt", exchange_slots());
    golden.check();
}
