//! Format numbers: a folder or archive of a newer format is refused and left as it was, one of an
//! older format is migrated, and a copy is kept.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use adjutant_core::World;
use adjutant_engine::Engine;
use adjutant_model::command::InitialStatus;
use adjutant_model::{Status, TaskId};
use adjutant_store::file::doctor::{FindingCode, examine, repair};
use adjutant_store::file::{
    ArchiveScope, DataFolder, IncrementalReader, UnpackError, check_format, join_from_archive,
    read_folder_end, read_world, synced_paths, unpack,
};
use adjutant_store::format::{FormatPart, NewerFormat};
use adjutant_store::hash::ShortHash;
use adjutant_store::{FileStore, Store, StoreError};
use adjutant_testkit::TestProject;
use adjutant_testkit::folder_operation::given::set_up_project;
use adjutant_testkit::project::add_request;
use tempfile::TempDir;

const NEWEST: &str = "{\"folder\":2,\"eventLog\":1}\n";

/// Returns the hash of every file in a folder, and `None` for every subfolder.
fn tree(root: &Path) -> BTreeMap<PathBuf, Option<ShortHash>> {
    let (mut tree, mut folders) = (BTreeMap::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let hash =
                (!path.is_dir()).then(|| ShortHash::digest(&fs::read(&path).expect("a file")));
            folders.extend(hash.is_none().then(|| path.clone()));
            tree.insert(path.strip_prefix(root).expect("inside").to_owned(), hash);
        }
    }
    tree
}

/// Returns the files alone, without the lock; empty folders of a journal do not matter.
fn files(root: &Path) -> BTreeMap<PathBuf, ShortHash> {
    let files = tree(root).into_iter().filter_map(|(path, hash)| Some((path, hash?)));
    files.filter(|(path, _)| path != Path::new("lock")).collect()
}

fn at_rest() -> TestProject {
    let project = TestProject::new();
    set_up_project(&project);
    project
}

/// A project from before folders had a `format.json`.
fn of_format_1() -> TestProject {
    let project = at_rest();
    fs::remove_file(project.path("format.json")).expect("a format");
    project
}

fn tasks(world: &World) -> Vec<(String, Status)> {
    world.tasks().map(|task| (task.id.to_string(), task.status())).collect()
}

/// Returns a line of the journal with its checksum.
fn line(json: &str) -> String {
    format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes()))
}

/// Checks that every way to open the folder refuses it, and that nothing in it changes.
fn check_refused(project: &TestProject, part: FormatPart, found: u64) {
    let folder = project.folder();
    let before = tree(folder.root());
    let world = |folder: &DataFolder| {
        let mut reader = IncrementalReader::new(folder);
        reader.with_current_world::<_, StoreError>(|| panic!("it is not read"), |_: &World| Ok(()))
    };
    let tried = [
        ("open", FileStore::open(folder).map(drop)),
        ("try_open", FileStore::try_open(folder).map(drop)),
        ("read_world", read_world(folder).map(drop)),
        ("reader", world(folder)),
        ("ending", read_folder_end(folder).map(drop)),
        ("check", check_format(folder)),
    ];
    for (way, tried) in tried {
        match tried {
            Err(StoreError::Newer(format)) => {
                assert_eq!(format, NewerFormat { part, found }, "{way}");
            }
            other => panic!("{way}: {other:?}"),
        }
    }
    let joined = join_from_archive(folder, &b"no archive"[..]);
    assert!(matches!(joined, Err(UnpackError::Newer(_))), "{joined:?}");
    let findings = examine(folder).expect("the doctor looks at it");
    let codes: Vec<FindingCode> = findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, [FindingCode::FormatNewer]);
    assert!(findings[0].text.contains("install a newer version"), "{}", findings[0].text);
    assert_eq!(repair(folder).expect("the doctor leaves it alone"), []);
    assert_eq!(tree(folder.root()), before, "nothing has changed");
}

#[test]
fn newer_folder_format_is_refused() {
    let project = at_rest();
    project.write("format.json", "{\"folder\":3,\"eventLog\":1,\"color\":\"blue\"}\n");
    check_refused(&project, FormatPart::Folder, 3);
}

#[test]
fn newer_event_log_format_is_refused() {
    let project = at_rest();
    project.write("format.json", "{\"folder\":2,\"eventLog\":2}\n");
    check_refused(&project, FormatPart::EventLog, 2);
}

#[test]
fn newer_journal_state_is_refused() {
    let project = at_rest();
    let state = project.read("journal/state").replacen("adjutant 1 ", "adjutant 2 ", 1);
    project.write("journal/state", &state);
    check_refused(&project, FormatPart::Journal, 2);
}

#[test]
fn newer_journal_head_is_refused() {
    let project = at_rest();
    let text = project.read("journal/00000001.wal");
    let (_, rest) = text.split_once('\n').expect("a head");
    let head = line(r#"{"journal":2,"start":{"base":0}}"#);
    project.write("journal/00000001.wal", &(head + rest));
    check_refused(&project, FormatPart::Journal, 2);
}

#[test]
fn newer_index_is_refused() {
    let project = at_rest();
    project.write("journal/index", "adjutant index 3\nwhatever\n");
    check_refused(&project, FormatPart::Index, 3);
}

/// Only a whole number that is too high is newer.
#[test]
fn damaged_numbers_in_journal_are_not_newer() {
    let project = at_rest();
    let before = tasks(project.open_engine().world());
    for (path, text) in [
        ("journal/state", "adjutant two 7 7 boot\n"),
        ("journal/state", ""),
        ("journal/state", "adjutant -2 7 7 boot\n"),
        ("journal/index", "adjutant index new\n"),
        ("journal/index", "adjutant index 2"),
    ] {
        project.write(path, text);
        let mut engine = project.open_engine();
        assert_eq!(tasks(engine.world()), before, "{path} {text:?}");
        engine.rest().expect("at rest");
    }
}

#[test]
fn damaged_format_file_is_refused_and_found_by_doctor() {
    let project = at_rest();
    for text in ["", "{", "2", "{\"folder\":2}", "{\"folder\":0,\"eventLog\":1}", "\0\0\0"] {
        project.write("format.json", text);
        let before = tree(project.folder().root());
        let opened = FileStore::open(project.folder()).map(drop);
        assert!(matches!(opened, Err(StoreError::Damaged { .. })), "{text:?}: {opened:?}");
        let findings = examine(project.folder()).expect("the doctor looks at it");
        let codes: Vec<FindingCode> = findings.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, [FindingCode::FormatUnreadable], "{text:?}");
        assert_eq!(repair(project.folder()).expect("the doctor leaves it alone"), []);
        assert_eq!(tree(project.folder().root()), before, "nothing has changed");
    }
}

/// A daemon has its folder open for days, and a newer version may migrate it meanwhile.
#[test]
fn open_store_refuses_folder_that_was_migrated_meanwhile() {
    let project = at_rest();
    let mut engine = project.open_engine();
    project.write("format.json", "{\"folder\":3,\"eventLog\":1}\n");
    let before = tree(project.folder().root());
    for _ in 0..2 {
        let answered = engine.submit_one(add_request("Too late", InitialStatus::Ready));
        assert!(matches!(answered, Err(StoreError::Newer(_))), "{answered:?}");
    }
    assert_eq!(tree(project.folder().root()), before);
    project.write("format.json", NEWEST);
    engine
        .submit_one(add_request("In time", InitialStatus::Ready))
        .expect("the folder is known again");
}

#[test]
fn new_folder_has_newest_formats_and_no_copy() {
    let project = TestProject::new();
    drop(project.open_engine());
    assert_eq!(project.read("format.json"), NEWEST);
    assert!(!project.exists("backup"));
}

#[test]
fn folder_of_original_aof_gets_formats_and_no_copy() {
    let project = TestProject::new();
    project.write_task("TASK-2026-02-09-001", Status::Ready, "");
    fs::remove_dir_all(project.path("journal")).expect("a journal");
    assert_eq!(tasks(project.open_engine().world()).len(), 1);
    assert_eq!(project.read("format.json"), NEWEST);
    assert!(!project.exists("backup"));
}

#[test]
fn folder_of_format_1_is_migrated_and_copy_is_kept() {
    let project = of_format_1();
    let journal = files(&project.path("journal"));
    let task_files = tree(&project.path("tasks"));
    let mut engine = project.open_engine();
    assert_eq!(tasks(engine.world()).len(), 5);
    assert_eq!(project.read("format.json"), NEWEST);
    assert_eq!(files(&project.path("backup/format-1/journal")), journal);
    assert_eq!(project.read("backup/.gitignore"), "*\n");
    assert_eq!(tree(&project.path("tasks")), task_files, "tasks are not touched");
    assert_eq!(examine(project.folder()).expect("a look"), []);
    engine.submit_one(add_request("Afterwards", InitialStatus::Ready)).expect("work goes on");
    engine.rest().expect("at rest");
    let after = tree(&project.path("backup"));
    drop(project.open_engine());
    assert_eq!(tree(&project.path("backup")), after, "it is migrated once");
}

/// Git may restore a folder of format 1 that was migrated before.
#[test]
fn earlier_copy_is_never_replaced() {
    let project = of_format_1();
    drop(project.open_engine());
    let first = tree(&project.path("backup/format-1"));
    fs::remove_file(project.path("format.json")).expect("a format");
    drop(project.open_engine());
    assert!(!project.exists("backup/format-1.2"), "the same is not copied twice");
    let mut engine = project.open_engine();
    engine.submit_one(add_request("Another", InitialStatus::Ready)).expect("an answer");
    engine.rest().expect("at rest");
    drop(engine);
    fs::remove_file(project.path("format.json")).expect("a format");
    drop(project.open_engine());
    assert_eq!(tree(&project.path("backup/format-1")), first);
    assert!(project.exists("backup/format-1.2/journal/index"));
}

#[test]
fn older_index_is_rebuilt_and_copy_is_kept() {
    let project = at_rest();
    let before = tasks(project.open_engine().world());
    project.write("journal/index", "adjutant index 1\nwhatever\n");
    let mut engine = project.open_engine();
    assert_eq!(tasks(engine.world()), before);
    engine.rest().expect("at rest");
    assert!(project.read("journal/index").starts_with("adjutant index 2\n"));
    let copy = project.read("backup/format-2/journal/index");
    assert_eq!(copy, "adjutant index 1\nwhatever\n");
    assert_eq!(project.read("backup/format-2/format.json"), NEWEST);
}

/// A power cut must not leave the new numbers without the copy.
#[test]
fn migration_syncs_copy_before_numbers() {
    let project = of_format_1();
    let already = synced_paths().len();
    drop(project.open_engine());
    let synced: Vec<PathBuf> = synced_paths()
        .into_iter()
        .skip(already)
        .filter_map(|path| path.strip_prefix(project.folder().root()).ok().map(Path::to_owned))
        .collect();
    let place = |path: &str| {
        let place = synced.iter().position(|synced| synced == Path::new(path));
        place.unwrap_or_else(|| panic!("{path} is not in {synced:?}"))
    };
    for path in files(&project.path("backup/format-1")).keys() {
        let path = format!("backup/.new/{}", path.display());
        assert!(place(&path) < place("backup/format-1"), "{path}");
    }
    assert!(place("backup/format-1") < place("format.json.new"));
    assert!(place("format.json.new") < place("format.json"));
}

fn pack(folder: &DataFolder) -> Vec<u8> {
    let (mut store, loaded) = FileStore::open(folder).expect("the folder opens");
    store.begin().expect("a turn");
    let mut archive = Vec::new();
    store.pack(&loaded.world, ArchiveScope::Export, &mut archive).expect("it can be packed");
    store.end();
    archive
}

/// Makes an archive of these files, with or without a label.
fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (path, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o600);
        tar.append_data(&mut header, path, text.as_bytes()).expect("an entry");
    }
    tar.into_inner().expect("an archive")
}

fn refuse_archive(archive: &[u8], part: FormatPart, found: u64) {
    let home = tempfile::tempdir().expect("a temporary folder");
    let unpacked = unpack(archive, &home.path().join(".adjutant")).map(drop);
    match unpacked {
        Err(UnpackError::Newer(format)) => assert_eq!(format, NewerFormat { part, found }),
        other => panic!("{other:?}"),
    }
    assert_eq!(tree(home.path()), BTreeMap::new(), "nothing is left of it");
}

#[test]
fn newer_archive_is_refused() {
    let archive = archive(&[("adjutant-export.json", r#"{"export":2,"sum":"blake3:…"}"#)]);
    refuse_archive(&archive, FormatPart::Archive, 2);
}

#[test]
fn archive_of_newer_folder_is_refused() {
    let project = at_rest();
    let (mut store, loaded) = FileStore::open(project.folder()).expect("the folder opens");
    store.begin().expect("a turn");
    project.write("format.json", "{\"folder\":3,\"eventLog\":1}\n");
    let mut archive = Vec::new();
    store.pack(&loaded.world, ArchiveScope::Export, &mut archive).expect("it can be packed");
    refuse_archive(&archive, FormatPart::Folder, 3);
}

#[test]
fn archive_holds_formats_of_its_folder() {
    let project = at_rest();
    let home = tempfile::tempdir().expect("a temporary folder");
    let root = home.path().join(".adjutant");
    let (folder, _) = unpack(&pack(project.folder())[..], &root).expect("it can be unpacked");
    assert_eq!(fs::read_to_string(root.join("format.json")).expect("a format"), NEWEST);
    drop(FileStore::open(&folder).expect("it opens"));
    assert!(!root.join("backup").exists(), "it is up to date");
}

/// Returns the path of a checked-in folder or archive of an earlier format.
fn checked_in(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/formats").join(name)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let from = entry.expect("an entry").path();
        let to = to.join(from.file_name().expect("a name"));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).expect("a file");
        }
    }
}

/// The contents of the folder of format 1 and of its archive; see `formats/README.md`.
const IN_FORMAT_1: [(&str, Status); 6] = [
    ("TASK-2026-11-17-001", Status::Done),
    ("TASK-2026-11-17-002", Status::Review),
    ("TASK-2026-11-17-003", Status::Backlog),
    ("TASK-2026-11-17-004", Status::Blocked),
    ("TASK-2026-11-17-005", Status::Cancelled),
    ("TASK-2026-11-17-006", Status::Ready),
];

/// The task that is committed in the journal of that folder and not in its files.
const PENDING_IN_FORMAT_1: &str = "TASK-2026-11-17-007";

fn expected(pending: bool) -> Vec<(String, Status)> {
    let pending = pending.then_some((PENDING_IN_FORMAT_1, Status::Ready));
    let all = IN_FORMAT_1.into_iter().chain(pending);
    all.map(|(id, status)| (id.to_owned(), status)).collect()
}

fn checked_in_folder(name: &str) -> (TempDir, DataFolder) {
    let home = tempfile::tempdir().expect("a temporary folder");
    copy(&checked_in(name), &home.path().join(".adjutant"));
    let folder = DataFolder::at(&home.path().join(".adjutant")).expect("a data folder");
    (home, folder)
}

fn engine(folder: &DataFolder) -> (Engine<FileStore>, u64) {
    let (store, loaded) = FileStore::open(folder).expect("it opens");
    assert_eq!((loaded.edits.len(), loaded.adopted_tasks), (0, None), "nobody edited it");
    let version = store.version().0;
    let clock = Box::new(adjutant_testkit::ManualClock::at("2026-11-18T12:00:00.000Z"));
    let engine = Engine::start(store, loaded, clock, adjutant_model::Policy::default());
    (engine.expect("the engine starts"), version)
}

#[test]
fn checked_in_folder_of_format_1_is_opened() {
    let (_home, folder) = checked_in_folder("folder-1");
    let root = folder.root();
    let journal = files(&root.join("journal"));
    let (mut engine, version) = engine(&folder);
    assert_eq!(tasks(engine.world()), expected(true));
    assert_eq!((version, engine.world().last_event().0), (VERSION_1 + 1, LAST_EVENT_1 + 1));
    let id = TaskId::parse(PENDING_IN_FORMAT_1).expect("a good id");
    let text = engine.store().document(&id).expect("it is read");
    assert!(text.is_some_and(|text| text.contains("title: Committed and not in the files")));
    assert_eq!(fs::read_to_string(root.join("format.json")).expect("a format"), NEWEST);
    assert_eq!(files(&root.join("backup/format-1/journal")), journal, "a copy is kept");
    engine.rest().expect("at rest");
    assert_eq!(examine(&folder).expect("a look"), []);
    engine.submit_one(add_request("Afterwards", InitialStatus::Ready)).expect("work goes on");
}

#[test]
fn checked_in_archive_of_format_1_is_imported() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let file = fs::File::open(checked_in("archive-1.tar")).expect("an archive");
    let (folder, _) = unpack(file, &home.path().join(".adjutant")).expect("it can be unpacked");
    let (mut engine, version) = engine(&folder);
    assert_eq!(tasks(engine.world()), expected(false));
    assert_eq!((version, engine.world().last_event().0), (VERSION_1, LAST_EVENT_1));
    engine.rest().expect("at rest");
    assert_eq!(examine(&folder).expect("a look"), []);
    engine.submit_one(add_request("Afterwards", InitialStatus::Ready)).expect("work goes on");
}

/// The version and last event of the folder of format 1, without what is only in its journal.
const VERSION_1: u64 = 15;
const LAST_EVENT_1: u64 = 23;

/// A reader takes no lock and migrates nothing, and sees the same tasks.
#[test]
fn checked_in_folder_of_format_1_is_read_without_migration() {
    let (_home, folder) = checked_in_folder("folder-1");
    let before = tree(folder.root());
    let world = read_world(&folder).expect("it can be read");
    assert_eq!(tasks(&world), expected(true));
    assert_eq!(tree(folder.root()), before);
}
