//! Every finding of the doctor: its code, whether it can be fixed, and its text.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use adjutant_model::{Event, Status, Task, TaskId};
use adjutant_test_support::assert_every_variant;
use adjutant_test_support::golden::GoldenFolder;

use super::scene::StoreScene;
use crate::file::doctor::{DoctorFinding, FindingCode, examine, repair};
use crate::tests::samples::id;
use crate::tests::task::bare_task;

fn every_code() -> [FindingCode; 29] {
    let codes = [
        FindingCode::TaskUnreadable,
        FindingCode::TaskOnHold,
        FindingCode::TaskInTwoFolders,
        FindingCode::StatusAtOdds,
        FindingCode::OrphanCompanion,
        FindingCode::LeftoverTemporary,
        FindingCode::StrayFile,
        FindingCode::RunInTwoFolders,
        FindingCode::TornEventTail,
        FindingCode::EventUnreadable,
        FindingCode::EventGap,
        FindingCode::EventChainBroken,
        FindingCode::EventLogBehind,
        FindingCode::GitTracksPrivate,
        FindingCode::JournalDamaged,
        FindingCode::JournalPending,
        FindingCode::NotifyTarget,
        FindingCode::SandboxUnavailable,
        FindingCode::GitUnusable,
        FindingCode::ConfigInvalid,
        FindingCode::ConfigUnaccepted,
        FindingCode::ProgramMissing,
        FindingCode::FleetUnreachable,
        FindingCode::FleetRecordBroken,
        FindingCode::FleetStreamAltered,
        FindingCode::FleetFolderDiffers,
        FindingCode::FleetProtocolDiffers,
        FindingCode::FormatNewer,
        FindingCode::FormatUnreadable,
    ];
    assert_every_variant!(
        &codes,
        FindingCode {
            TaskUnreadable,
            TaskOnHold,
            TaskInTwoFolders,
            StatusAtOdds,
            OrphanCompanion,
            LeftoverTemporary,
            StrayFile,
            RunInTwoFolders,
            TornEventTail,
            EventUnreadable,
            EventGap,
            EventChainBroken,
            EventLogBehind,
            GitTracksPrivate,
            JournalDamaged,
            JournalPending,
            NotifyTarget,
            SandboxUnavailable,
            GitUnusable,
            ConfigInvalid,
            ConfigUnaccepted,
            ProgramMissing,
            FleetUnreachable,
            FleetRecordBroken,
            FleetStreamAltered,
            FleetFolderDiffers,
            FleetProtocolDiffers,
            FormatNewer,
            FormatUnreadable,
        }
    );
    codes
}

fn listed_codes() -> String {
    let line = |code: &FindingCode| {
        let fixable = if code.is_fixable() { "fixable" } else { "not fixable" };
        format!("{} ({fixable})\n", code.as_str())
    };
    every_code().iter().map(line).collect()
}

fn put(scene: &StoreScene, path: &str, bytes: &[u8]) {
    let path = scene.folder.root().join(path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    fs::write(path, bytes).expect("a file");
}

fn created(number: u32) -> (TaskId, Event) {
    let task = Task { id: id(number), ..bare_task(Status::Ready) };
    (
        id(number),
        Event::TaskCreated { task: Box::new(task), body: Some(String::new()), limits: None },
    )
}

/// A folder with every problem that task files can have.
fn broken_files() -> StoreScene {
    let mut scene = StoreScene::new();
    scene.commit((1..=4).map(created).collect());
    scene.commit((5..=7).map(created).collect());
    scene.rest();
    let root = scene.folder.root().to_owned();
    let text = |number: u32| scene.read(&format!("tasks/ready/{}.md", id(number)));
    put(&scene, &format!("tasks/blocked/{}.md", id(1)), text(1).as_bytes());
    let ready = |number: u32| root.join(format!("tasks/ready/{}.md", id(number)));
    let blocked = root.join(format!("tasks/blocked/{}.md", id(2)));
    fs::rename(ready(2), blocked).expect("the file is moved");
    put(&scene, &format!("tasks/ready/{}.md", id(3)), b"---\ntitle: [\n---\n");
    put(&scene, &format!("tasks/ready/{}.md", id(4)), b"---\nid: \xff\n---\n");
    put(&scene, &format!("tasks/done/{}/notes.md", id(5)), b"a folder beside no task");
    put(&scene, &format!("tasks/done/{}/notes.md", id(99)), b"a folder of no task");
    put(&scene, "tasks/ready/notes.txt", b"no task");
    let name = OsStr::from_bytes(b"\xff.md");
    fs::write(root.join("tasks/ready").join(name), "no name").expect("a file");
    put(&scene, "journal/tmp/left-over", b"half a file");
    put(&scene, &format!("state/runs/{}/run.json", id(6)), b"{}");
    put(&scene, &format!("runs/{}/run.json", id(6)), b"{}");
    scene
}

/// A folder with every problem that an event log can have.
fn broken_log() -> StoreScene {
    let mut scene = StoreScene::new();
    for number in 1..=6 {
        scene.commit(vec![created(number)]);
    }
    let log = scene.read("events/2026-02-09.jsonl");
    let mut lines: Vec<String> = log.lines().map(str::to_owned).collect();
    lines[1] = "no event".into();
    lines[3] = lines[3].replace("Mend the parser", "Mend the other");
    let last = lines.pop().expect("a line").replace("\"eventId\":6", "\"eventId\":9");
    lines.push(last);
    put(&scene, "events/2026-02-09.jsonl", (lines.join("\n") + "\n{\"event").as_bytes());
    scene
}

/// A folder whose journal is ahead of its files, and one whose journal is damaged.
fn broken_journals() -> [StoreScene; 2] {
    let (mut pending, mut damaged) = (StoreScene::new(), StoreScene::new());
    for scene in [&mut pending, &mut damaged] {
        scene.commit(vec![created(1)]);
        scene.commit(vec![created(2)]);
    }
    put(&pending, "journal/state", b"no marker");
    let wal = damaged.read("journal/00000001.wal").replacen("Mend", "Bend", 1);
    put(&damaged, "journal/00000001.wal", wal.as_bytes());
    [pending, damaged]
}

/// A folder of a newer version, and one whose format number cannot be read.
fn unknown_formats() -> [StoreScene; 2] {
    let (newer, unreadable) = (StoreScene::new(), StoreScene::new());
    put(&newer, "format.json", b"{\"folder\":9,\"eventLog\":1}\n");
    put(&unreadable, "format.json", b"no numbers\n");
    [newer, unreadable]
}

fn shown(finding: &DoctorFinding) -> String {
    format!("{} {}: {}\n", finding.code.as_str(), finding.path, finding.text)
}

fn found(scene: &StoreScene) -> String {
    let findings = examine(&scene.folder).expect("the folder is examined");
    findings.iter().map(shown).collect()
}

fn mended(scene: StoreScene) -> String {
    let StoreScene { store, world: _, project, folder } = scene;
    drop(store);
    let mended = repair(&folder).expect("the folder is mended");
    drop(project);
    let mended =
        mended.iter().map(|mended| format!("{}  {}\n", shown(&mended.finding), mended.done));
    mended.collect()
}

#[test]
fn doctor_findings_match_golden_files() {
    let mut golden = GoldenFolder::new("reasons/doctor");
    let (files, log) = (broken_files(), broken_log());
    let [pending, damaged] = broken_journals();
    golden.add("codes.txt", listed_codes());
    let [newer, unreadable] = unknown_formats();
    let broken = [&files, &log, &pending, &damaged, &newer, &unreadable];
    golden.add("findings.txt", broken.map(found).concat());
    golden.add("mended.txt", [files, log, pending].map(mended).concat());
    golden.check();
}
