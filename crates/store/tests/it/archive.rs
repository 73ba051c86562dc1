//! Tests of archives: export and import lose nothing, overwrite nothing, and
//! refuse damaged archives.

use std::fs;
use std::path::Path;

use adjutant_model::command::InitialStatus;
use adjutant_model::notice::{NoticeKind, NotifyRule};
use adjutant_model::{Command, Policy, Status};
use adjutant_store::archive_summary::ArchiveSummary;
use adjutant_store::file::doctor::examine;
use adjutant_store::file::{ArchiveScope, DataFolder, UnpackError, files_not_exported, unpack};
use adjutant_store::{FileStore, Store};
use adjutant_testkit::message::progress;
use adjutant_testkit::project::{add_request, message_request, operator_request, task_id_of};
use adjutant_testkit::{TestProject, nodes};
use tempfile::TempDir;

/// The files of a data folder that belong to the machine and not to the project.
const MACHINE_FILES: [&str; 7] = [
    "secret",
    "operator-token",
    "node.creds",
    "client.key",
    "slack.url",
    "keys/ca.pem",
    "notes.md",
];

/// Returns a project with every kind of file, and pending effects.
fn project() -> TestProject {
    let project = TestProject::new();
    let notify = vec![NotifyRule::immediate("ops", NoticeKind::ALL)];
    let mut engine = project.open_engine_with_policy(Policy { notify, ..Policy::default() });
    let one = task_id_of(
        &engine.submit_one(add_request("One", InitialStatus::Ready)).expect("an answer"),
    );
    engine.submit_one(message_request(&progress(one.as_str(), "swe", "half"))).expect("an answer");
    let reason = "a person is needed".to_owned();
    let blocked = Command::Move { id: one, to: Status::Blocked, reason };
    engine.submit_one(operator_request(blocked)).expect("an answer");
    // Without a journal, the folder of the attempt counts as the last run too.
    let last_run = "metadata:\n  lastRun:\n    agent: swe\n    attempt: 1\n    fence: 1\n";
    let two = project.write_task("TASK-2026-02-09-044", Status::InProgress, last_run);
    project.write(&format!("tasks/in-progress/{two}/outputs/summary.md"), "Done.\n");
    project.write(&format!("runs/{two}/attempts/1/output.log"), "\u{1b}[1mHello\n");
    project.write(&format!("runs/{two}/attempts/1/shim.json"), "{}");
    project.write(&format!("worktrees/{two}/src/main.rs"), "fn main() {}\n");
    project.write("epics/E7/memory.md", "What was learnt.\n");
    project.write("lost+found/TASK-2026-02-09-044.md.1", "In the way.\n");
    project.write("adjutant.toml", "# the settings\n");
    for own in MACHINE_FILES {
        project.write(own, "of this machine");
    }
    let outputs = project.path(&format!("tasks/in-progress/{two}/outputs/binary"));
    fs::write(outputs, [0, 159, 146, 150]).expect("a file");
    engine.check_all_files().expect("a look around");
    engine.rest().expect("at rest");
    project
}

fn pack(folder: &DataFolder) -> (Vec<u8>, ArchiveSummary) {
    let (mut store, loaded) = FileStore::open(folder).expect("the folder opens");
    store.begin().expect("a turn");
    let mut archive = Vec::new();
    let packed =
        store.pack(&loaded.world, ArchiveScope::Export, &mut archive).expect("it can be packed");
    store.end();
    (archive, packed)
}

fn unpacked(archive: &[u8]) -> (TempDir, DataFolder) {
    let home = tempfile::tempdir().expect("a temporary folder");
    let (folder, _) = unpack(archive, &home.path().join(".adjutant")).expect("it can be unpacked");
    (home, folder)
}

fn refusal(archive: &[u8], root: &Path) -> String {
    unpack(archive, root).map(drop).expect_err("it is refused").to_string()
}

#[test]
fn archive_round_trip_keeps_everything() {
    let project = project();
    let (archive, packed) = pack(project.folder());
    let (_home, folder) = unpacked(&archive);
    let (before, world) = FileStore::open(project.folder()).expect("it opens");
    let (after, again) = FileStore::open(&folder).expect("it opens");
    assert_eq!(again.edits, [], "nobody edited anything");
    assert!(!before.pending_effects().is_empty(), "effects are pending");
    assert_eq!(again.world, world.world);
    assert_eq!(
        (after.version(), after.pending_effects()),
        (before.version(), before.pending_effects())
    );
    assert_eq!(packed.version, before.version());
    let mut files = nodes::files_without_journal(project.folder());
    files.retain(|path, _| !MACHINE_FILES.contains(&&**path) && !path.contains("shim."));
    files.retain(|path, _| !path.starts_with("worktrees/"));
    assert_eq!(nodes::files_without_journal(&folder), files);
    assert_eq!(examine(&folder).expect("a look"), examine(project.folder()).expect("a look"));
    drop((before, after));
    assert_eq!(pack(&folder), (archive, packed), "and back, byte for byte");
}

#[test]
fn archive_leaves_out_machine_files_and_lists_them() {
    let project = project();
    let left = files_not_exported(project.folder()).expect("a look");
    assert_eq!(left, ["client.key", "keys", "node.creds", "notes.md", "slack.url"]);
    let (archive, _) = pack(project.folder());
    assert!(!archive.windows(15).any(|bytes| bytes == b"of this machine"), "no key travels");
}

#[test]
fn unpacked_folder_continues_event_and_task_numbers() {
    let project = project();
    let mut engine = project.open_engine();
    let world = engine.world().clone();
    engine.rest().expect("at rest");
    drop(engine);
    let (_home, folder) = unpacked(&pack(project.folder()).0);
    let (store, loaded) = FileStore::open(&folder).expect("it opens");
    let version = store.version();
    let clock = Box::new(project.clock.clone());
    let mut engine = adjutant_engine::Engine::start(store, loaded, clock, Policy::default())
        .expect("the engine starts");
    let next = task_id_of(
        &engine.submit_one(add_request("Next", InitialStatus::Ready)).expect("an answer"),
    );
    assert_eq!(next.as_str(), "TASK-2026-02-09-045", "no number is given out twice");
    assert_eq!(engine.store().version(), version.next());
    assert_eq!(engine.world().last_event(), world.last_event().next());
    drop(engine);
    assert_eq!(examine(&folder).expect("a look"), []);
}

#[test]
fn archive_of_empty_folder_can_be_unpacked() {
    let (_home, folder) = unpacked(&pack(TestProject::new().folder()).0);
    let (store, loaded) = FileStore::open(&folder).expect("it opens");
    assert_eq!((store.version().0, loaded.world.tasks().len()), (0, 0));
}

#[test]
fn unpack_overwrites_nothing() {
    let (archive, _) = pack(project().folder());
    let there = TestProject::new();
    let before = nodes::files_without_journal(there.folder());
    let words = refusal(&archive, there.folder().root());
    assert!(words.contains("existing files are not overwritten"), "{words}");
    assert_eq!(nodes::files_without_journal(there.folder()), before);
    let home = tempfile::tempdir().expect("a temporary folder");
    fs::write(home.path().join("adjutant.toml"), "# mine\n").expect("a file");
    refusal(&archive, home.path());
    let settings = fs::read_to_string(home.path().join("adjutant.toml"));
    assert_eq!(settings.expect("a file"), "# mine\n");
}

#[test]
fn archive_cut_off_or_changed_is_refused_and_leaves_nothing() {
    let (archive, _) = pack(project().folder());
    let home = tempfile::tempdir().expect("a temporary folder");
    let root = home.path().join(".adjutant");
    // An archive ends with zeros, which carry no data.
    let end = archive.iter().rposition(|byte| *byte != 0).expect("it is not empty");
    for cut in (0..=end).step_by(archive.len() / 40).chain([end]) {
        refusal(&archive[..cut], &root);
    }
    let at = archive.windows(5).position(|bytes| bytes == b"Done.").expect("a text");
    let mut changed = archive.clone();
    changed[at] = b'G';
    let words = refusal(&changed, &root);
    assert!(words.contains("does not match its checksum"), "{words}");
    assert_eq!(fs::read_dir(home.path()).expect("a folder").count(), 0, "nothing is left");
}

#[test]
fn archive_cannot_write_outside_the_folder() {
    for name in ["../out.md", "/tmp/out.md", "journal/00000009.wal", "secret", "tasks/../../x"] {
        let mut header = tar::Header::new_gnu();
        header.set_size(1);
        // The tar crate itself refuses to write such a name.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        let mut tar = tar::Builder::new(Vec::new());
        tar.append(&header, &b"x"[..]).expect("an entry");
        let archive = tar.into_inner().expect("an archive");
        let home = tempfile::tempdir().expect("a temporary folder");
        let words = refusal(&archive, &home.path().join("data"));
        assert!(words.contains("does not belong"), "{name}: {words}");
        assert_eq!(fs::read_dir(home.path()).expect("a folder").count(), 0);
    }
}

#[test]
fn archive_that_is_not_ours_is_refused() {
    let home = tempfile::tempdir().expect("a temporary folder");
    for bytes in [&b""[..], b"not an archive", &[0; 2048], &[0xff; 2048]] {
        let error = unpack(bytes, &home.path().join("data")).map(drop);
        assert!(matches!(error, Err(UnpackError::Malformed(_))), "{error:?}");
    }
}
