//! A folder as one file, and back: nothing is lost, nothing is written over, and what is not whole
//! is refused.

use std::fs;
use std::path::Path;

use adjutant_core::command::Start;
use adjutant_core::notice::{Kind, Rule};
use adjutant_core::{Command, Policy, Status};
use adjutant_store::file::doctor::examine;
use adjutant_store::file::{Folder, Packed, Parcel, UnpackError, stays, unpack};
use adjutant_store::{FileStore, Store};
use adjutant_testkit::message::progress;
use adjutant_testkit::project::{add, id_of, operator, send};
use adjutant_testkit::{Project, nodes};
use tempfile::TempDir;

/// What lies in a data folder and is not the project's.
const STAYS: [&str; 7] = [
    "secret",
    "operator-token",
    "node.creds",
    "client.key",
    "slack.url",
    "keys/ca.pem",
    "notes.md",
];

/// A project with a bit of everything, and effects that are owed.
fn project() -> Project {
    let project = Project::new();
    let notify = vec![Rule::plain("ops", Kind::ALL)];
    let mut engine = project.engine_under(Policy { notify, ..Policy::default() });
    let one = id_of(&engine.submit_one(add("One", Start::Ready)).expect("an answer"));
    engine.submit_one(send(&progress(one.as_str(), "swe", "half"))).expect("an answer");
    let reason = "a person is needed".to_owned();
    let blocked = Command::Move { id: one, to: Status::Blocked, reason };
    engine.submit_one(operator(blocked)).expect("an answer");
    let two = project.task("TASK-2026-02-09-044", Status::InProgress, "");
    project.write(&format!("tasks/in-progress/{two}/outputs/summary.md"), "Done.\n");
    project.write(&format!("runs/{two}/attempts/1/output.log"), "\u{1b}[1mHello\n");
    project.write(&format!("runs/{two}/attempts/1/shim.json"), "{}");
    project.write(&format!("worktrees/{two}/src/main.rs"), "fn main() {}\n");
    project.write("epics/E7/memory.md", "What was learnt.\n");
    project.write("lost+found/TASK-2026-02-09-044.md.1", "In the way.\n");
    project.write("adjutant.toml", "# the settings\n");
    for own in STAYS {
        project.write(own, "of this machine");
    }
    let outputs = project.path(&format!("tasks/in-progress/{two}/outputs/binary"));
    fs::write(outputs, [0, 159, 146, 150]).expect("a file");
    engine.look_around().expect("a look around");
    engine.rest().expect("at rest");
    project
}

fn pack(folder: &Folder) -> (Vec<u8>, Packed) {
    let (mut store, loaded) = FileStore::open(folder).expect("the folder opens");
    store.begin().expect("a turn");
    let mut archive = Vec::new();
    let packed = store.pack(&loaded.world, Parcel::Export, &mut archive).expect("it can be packed");
    store.end();
    (archive, packed)
}

fn unpacked(archive: &[u8]) -> (TempDir, Folder) {
    let home = tempfile::tempdir().expect("a temporary folder");
    let (folder, _) = unpack(archive, &home.path().join(".adjutant")).expect("it can be unpacked");
    (home, folder)
}

fn refusal(archive: &[u8], root: &Path) -> String {
    unpack(archive, root).map(drop).expect_err("it is refused").to_string()
}

#[test]
fn what_comes_out_is_what_went_in() {
    let project = project();
    let (archive, packed) = pack(project.folder());
    let (_home, folder) = unpacked(&archive);
    let (before, world) = FileStore::open(project.folder()).expect("it opens");
    let (after, again) = FileStore::open(&folder).expect("it opens");
    assert_eq!(again.edits, [], "nobody edited anything");
    assert!(!before.owed().is_empty(), "something is owed");
    assert_eq!(again.world, world.world);
    assert_eq!((after.version(), after.owed()), (before.version(), before.owed()));
    assert_eq!(packed.version, before.version());
    let mut files = nodes::files(project.folder());
    files.retain(|path, _| !STAYS.contains(&&**path) && !path.contains("shim."));
    files.retain(|path, _| !path.starts_with("worktrees/"));
    assert_eq!(nodes::files(&folder), files);
    assert_eq!(examine(&folder).expect("a look"), examine(project.folder()).expect("a look"));
    drop((before, after));
    assert_eq!(pack(&folder), (archive, packed), "and back, byte for byte");
}

#[test]
fn who_packs_is_told_what_stays() {
    let project = project();
    let left = stays(project.folder()).expect("a look");
    assert_eq!(left, ["client.key", "keys", "node.creds", "notes.md", "slack.url"]);
    let (archive, _) = pack(project.folder());
    assert!(!archive.windows(15).any(|bytes| bytes == b"of this machine"), "no key travels");
}

#[test]
fn a_folder_that_was_unpacked_goes_on_where_it_was() {
    let mut engine = project().engine();
    let world = engine.world().clone();
    engine.rest().expect("at rest");
    let project = project();
    let (_home, folder) = unpacked(&pack(project.folder()).0);
    let (store, loaded) = FileStore::open(&folder).expect("it opens");
    let version = store.version();
    let clock = Box::new(project.clock.clone());
    let mut engine = adjutant_runtime::Engine::start(store, loaded, clock, Policy::default())
        .expect("the engine starts");
    let next = id_of(&engine.submit_one(add("Next", Start::Ready)).expect("an answer"));
    assert_eq!(next.as_str(), "TASK-2026-02-09-045", "no number is given out twice");
    assert_eq!(engine.store().version(), version.next());
    assert_eq!(engine.world().last_event(), world.last_event().next());
    drop(engine);
    assert_eq!(examine(&folder).expect("a look"), []);
}

#[test]
fn an_empty_folder_travels_too() {
    let (_home, folder) = unpacked(&pack(Project::new().folder()).0);
    let (store, loaded) = FileStore::open(&folder).expect("it opens");
    assert_eq!((store.version().0, loaded.world.tasks().len()), (0, 0));
}

#[test]
fn nothing_is_written_over() {
    let (archive, _) = pack(project().folder());
    let there = Project::new();
    let before = nodes::files(there.folder());
    let words = refusal(&archive, there.folder().root());
    assert!(words.contains("nothing is written over"), "{words}");
    assert_eq!(nodes::files(there.folder()), before);
    let home = tempfile::tempdir().expect("a temporary folder");
    fs::write(home.path().join("adjutant.toml"), "# mine\n").expect("a file");
    refusal(&archive, home.path());
    let settings = fs::read_to_string(home.path().join("adjutant.toml"));
    assert_eq!(settings.expect("a file"), "# mine\n");
}

#[test]
fn what_is_cut_off_or_changed_is_refused_and_leaves_nothing() {
    let (archive, _) = pack(project().folder());
    let home = tempfile::tempdir().expect("a temporary folder");
    let root = home.path().join(".adjutant");
    // An archive ends with zeros, which say nothing.
    let end = archive.iter().rposition(|byte| *byte != 0).expect("it is not empty");
    for cut in (0..=end).step_by(archive.len() / 40).chain([end]) {
        refusal(&archive[..cut], &root);
    }
    let at = archive.windows(5).position(|bytes| bytes == b"Done.").expect("a text");
    let mut changed = archive.clone();
    changed[at] = b'G';
    let words = refusal(&changed, &root);
    assert!(words.contains("not what was put into it"), "{words}");
    assert_eq!(fs::read_dir(home.path()).expect("a folder").count(), 0, "nothing is left");
}

#[test]
fn an_archive_cannot_reach_out_of_the_folder() {
    for name in ["../out.md", "/tmp/out.md", "journal/00000009.wal", "secret", "tasks/../../x"] {
        let mut header = tar::Header::new_gnu();
        header.set_size(1);
        // The crate itself would refuse to write such a name.
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
fn an_archive_that_nobody_made_is_refused() {
    let home = tempfile::tempdir().expect("a temporary folder");
    for bytes in [&b""[..], b"not an archive", &[0; 2048], &[0xff; 2048]] {
        let error = unpack(bytes, &home.path().join("data")).map(drop);
        assert!(matches!(error, Err(UnpackError::Bad(_))), "{error:?}");
    }
}
