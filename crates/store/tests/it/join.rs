//! Tests of joining a fleet: an archive replaces an unused folder.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use adjutant_model::command::InitialStatus;
use adjutant_store::file::{ArchiveScope, DataFolder, is_unused, join_from_archive};
use adjutant_store::{FileStore, Store};
use adjutant_testkit::project::add_request;
use adjutant_testkit::{TestProject, nodes};
use tempfile::TempDir;

/// Returns a project with a task, and its join archive.
fn archived() -> (TestProject, Vec<u8>) {
    let project = TestProject::new();
    let mut engine = project.open_engine();
    engine.submit_one(add_request("One", InitialStatus::Ready)).expect("an answer");
    engine.rest().expect("at rest");
    drop(engine);
    project.write("runs/TASK-2026-02-09-044/attempts/1/output.log", "Hello\n");
    let (project, archive) = packed(project);
    fs::remove_dir_all(project.path("runs/TASK-2026-02-09-044")).expect("a folder");
    (project, archive)
}

fn packed(project: TestProject) -> (TestProject, Vec<u8>) {
    let (mut store, loaded) = FileStore::open(project.folder()).expect("the folder opens");
    store.begin().expect("a turn");
    let mut archive = Vec::new();
    store.pack(&loaded.world, ArchiveScope::Join, &mut archive).expect("it can be packed");
    store.end();
    (project, archive)
}

fn new_folder() -> (TempDir, DataFolder) {
    let home = tempfile::tempdir().expect("a temporary folder");
    let folder = DataFolder::init(home.path()).expect("a folder");
    fs::write(folder.root().join("adjutant.toml"), "# mine\n").expect("a file");
    fs::write(folder.root().join("secret"), "mine").expect("a file");
    (home, folder)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn join_fills_unused_folder_and_keeps_its_settings() {
    let (project, archive) = archived();
    let (home, folder) = new_folder();
    // A process died here while joining.
    fs::create_dir_all(home.path().join(".adjutant-joining/tasks")).expect("a folder");
    assert!(is_unused(&folder).expect("an answer"));
    join_from_archive(&folder, &archive[..]).expect("it joins");
    assert!(!is_unused(&folder).expect("an answer"));
    let mut there = nodes::files_without_journal(&folder);
    assert_eq!(there.remove("adjutant.toml").expect("its own"), b"# mine\n");
    assert_eq!(there.remove("secret").expect("its own"), b"mine");
    assert_eq!(there, nodes::files_without_journal(project.folder()));
    assert_eq!(names(home.path()), [".adjutant"]);
    let (_, loaded) = FileStore::open(&folder).expect("the folder opens");
    assert_eq!((loaded.world.tasks().count(), loaded.edits.len()), (1, 0));
}

#[test]
fn join_leaves_used_folder_unchanged() {
    let (_, archive) = archived();
    let (home, folder) = new_folder();
    fs::write(folder.root().join("tasks/ready/mine.md"), "# mine\n").expect("a file");
    let before = nodes::files_without_journal(&folder);
    join_from_archive(&folder, &archive[..]).expect("there is nothing to do");
    assert_eq!(nodes::files_without_journal(&folder), before);
    assert_eq!(names(home.path()), [".adjutant"]);
}

#[test]
fn join_with_cut_off_archive_changes_nothing() {
    let (_, archive) = archived();
    let (home, folder) = new_folder();
    let before = nodes::files_without_journal(&folder);
    let error =
        join_from_archive(&folder, &archive[..archive.len() / 2]).expect_err("it is cut off");
    assert!(error.to_string().contains("the archive cannot be imported"), "{error}");
    assert_eq!(nodes::files_without_journal(&folder), before);
    assert_eq!(names(home.path()), [".adjutant"]);
}

#[test]
fn join_keeps_machine_files_on_both_sides() {
    let (project, _) = archived();
    let keys = ["node.creds", "client.key", "ca.pem", "hooks/slack.url", "lost+found/TASK-1.md.1"];
    for key in keys {
        project.write(key, "of the one that decides");
    }
    let (project, archive) = packed(project);
    assert!(!archive.windows(11).any(|bytes| bytes == b"of the one "), "no key travels");
    let (_home, folder) = new_folder();
    let before: Vec<(&str, u64)> =
        keys.iter().map(|key| (*key, write_private_file(&folder, key))).collect();
    std::os::unix::fs::symlink("/nowhere", folder.root().join("link")).expect("a link");
    join_from_archive(&folder, &archive[..]).expect("it joins");
    for (key, inode) in before {
        let path = folder.root().join(key);
        assert_eq!(fs::read_to_string(&path).expect("it is there"), format!("my own {key}"));
        let now = path.metadata().expect("a file");
        assert_eq!((now.ino(), now.mode() & 0o777), (inode, 0o400), "{key} is the same file");
    }
    let link = fs::read_link(folder.root().join("link"));
    assert_eq!(link.expect("a link"), Path::new("/nowhere"));
    let (_, loaded) = FileStore::open(&folder).expect("the folder opens");
    assert_eq!(loaded.world.tasks().count(), project.open_engine().world().tasks().count());
}

/// Writes a file that only its owner can read, and returns its inode.
fn write_private_file(folder: &DataFolder, name: &str) -> u64 {
    let path = folder.root().join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(&path, format!("my own {name}")).expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).expect("it is ours");
    path.metadata().expect("a file").ino()
}

/// Archives still exist that were made before machine files were left out.
#[test]
fn join_ignores_machine_files_in_older_archive() {
    let (project, _) = archived();
    let (mut store, loaded) = FileStore::open(project.folder()).expect("the folder opens");
    fs::write(project.path("adjutant.toml"), "# of another\n").expect("a file");
    store.begin().expect("a turn");
    let mut archive = Vec::new();
    store.pack(&loaded.world, ArchiveScope::Export, &mut archive).expect("it can be packed");
    store.end();
    let (_home, folder) = new_folder();
    join_from_archive(&folder, &archive[..]).expect("it joins");
    let settings = fs::read_to_string(folder.root().join("adjutant.toml"));
    assert_eq!(settings.expect("its own"), "# mine\n");
}
