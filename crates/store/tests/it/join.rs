//! An archive in the place of a folder that nobody has used.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use adjutant_core::command::Start;
use adjutant_store::file::{Folder, Parcel, is_unused, join};
use adjutant_store::{FileStore, Store};
use adjutant_testkit::project::add;
use adjutant_testkit::{Project, nodes};
use tempfile::TempDir;

/// Returns a project with a task, and an archive of it as a node keeps it for others.
fn archived() -> (Project, Vec<u8>) {
    let project = Project::new();
    let mut engine = project.engine();
    engine.submit_one(add("One", Start::Ready)).expect("an answer");
    engine.rest().expect("at rest");
    drop(engine);
    project.write("runs/TASK-2026-02-09-044/attempts/1/output.log", "Hello\n");
    let (project, archive) = packed(project);
    fs::remove_dir_all(project.path("runs/TASK-2026-02-09-044")).expect("a folder");
    (project, archive)
}

fn packed(project: Project) -> (Project, Vec<u8>) {
    let (mut store, loaded) = FileStore::open(project.folder()).expect("the folder opens");
    store.begin().expect("a turn");
    let mut archive = Vec::new();
    store.pack(&loaded.world, Parcel::Snapshot, &mut archive).expect("it can be packed");
    store.end();
    (project, archive)
}

fn new_folder() -> (TempDir, Folder) {
    let home = tempfile::tempdir().expect("a temporary folder");
    let folder = Folder::init(home.path()).expect("a folder");
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
fn a_folder_that_nobody_has_used_becomes_the_archive_and_keeps_its_settings() {
    let (project, archive) = archived();
    let (home, folder) = new_folder();
    // Somebody died here while joining.
    fs::create_dir_all(home.path().join(".adjutant-joining/tasks")).expect("a folder");
    assert!(is_unused(&folder).expect("an answer"));
    join(&folder, &archive[..]).expect("it joins");
    assert!(!is_unused(&folder).expect("an answer"));
    let mut there = nodes::files(&folder);
    assert_eq!(there.remove("adjutant.toml").expect("its own"), b"# mine\n");
    assert_eq!(there.remove("secret").expect("its own"), b"mine");
    assert_eq!(there, nodes::files(project.folder()));
    assert_eq!(names(home.path()), [".adjutant"]);
    let (_, loaded) = FileStore::open(&folder).expect("the folder opens");
    assert_eq!((loaded.world.tasks().count(), loaded.edits.len()), (1, 0));
}

#[test]
fn a_folder_that_is_used_stays_as_it_is() {
    let (_, archive) = archived();
    let (home, folder) = new_folder();
    fs::write(folder.root().join("tasks/ready/mine.md"), "# mine\n").expect("a file");
    let before = nodes::files(&folder);
    join(&folder, &archive[..]).expect("there is nothing to do");
    assert_eq!(nodes::files(&folder), before);
    assert_eq!(names(home.path()), [".adjutant"]);
}

#[test]
fn an_archive_that_is_cut_off_changes_nothing() {
    let (_, archive) = archived();
    let (home, folder) = new_folder();
    let before = nodes::files(&folder);
    let error = join(&folder, &archive[..archive.len() / 2]).expect_err("it is cut off");
    assert!(error.to_string().contains("the archive cannot be taken"), "{error}");
    assert_eq!(nodes::files(&folder), before);
    assert_eq!(names(home.path()), [".adjutant"]);
}

#[test]
fn what_is_of_a_machine_stays_on_it_on_both_ends() {
    let (project, _) = archived();
    let keys = ["node.creds", "client.key", "ca.pem", "hooks/slack.url", "lost+found/TASK-1.md.1"];
    for key in keys {
        project.write(key, "of the one that decides");
    }
    let (project, archive) = packed(project);
    assert!(!archive.windows(11).any(|bytes| bytes == b"of the one "), "no key travels");
    let (_home, folder) = new_folder();
    let before: Vec<(&str, u64)> = keys.iter().map(|key| (*key, own(&folder, key))).collect();
    std::os::unix::fs::symlink("/nowhere", folder.root().join("link")).expect("a link");
    join(&folder, &archive[..]).expect("it joins");
    for (key, inode) in before {
        let path = folder.root().join(key);
        assert_eq!(fs::read_to_string(&path).expect("it is there"), format!("my own {key}"));
        let now = path.metadata().expect("a file");
        assert_eq!((now.ino(), now.mode() & 0o777), (inode, 0o400), "{key} is the same file");
    }
    let link = fs::read_link(folder.root().join("link"));
    assert_eq!(link.expect("a link"), Path::new("/nowhere"));
    let (_, loaded) = FileStore::open(&folder).expect("the folder opens");
    assert_eq!(loaded.world.tasks().count(), project.engine().world().tasks().count());
}

/// Puts a file there that others may not read, and returns which one it is.
fn own(folder: &Folder, name: &str) -> u64 {
    let path = folder.root().join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(&path, format!("my own {name}")).expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).expect("it is ours");
    path.metadata().expect("a file").ino()
}

/// Archives that were made before keys stayed behind are still about.
#[test]
fn keys_in_an_older_archive_are_not_taken() {
    let (project, _) = archived();
    let (mut store, loaded) = FileStore::open(project.folder()).expect("the folder opens");
    fs::write(project.path("adjutant.toml"), "# of another\n").expect("a file");
    store.begin().expect("a turn");
    let mut archive = Vec::new();
    store.pack(&loaded.world, Parcel::Export, &mut archive).expect("it can be packed");
    store.end();
    let (_home, folder) = new_folder();
    join(&folder, &archive[..]).expect("it joins");
    let settings = fs::read_to_string(folder.root().join("adjutant.toml"));
    assert_eq!(settings.expect("its own"), "# mine\n");
}
