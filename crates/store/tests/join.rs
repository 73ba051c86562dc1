//! An archive in the place of a folder that nobody has used.

use std::fs;
use std::path::Path;

use adjutant_core::command::Start;
use adjutant_store::file::{Folder, Logs, is_unused, join};
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
    let (mut store, loaded) = FileStore::open(project.folder()).expect("the folder opens");
    store.begin().expect("a turn");
    let mut archive = Vec::new();
    store.pack(&loaded.world, Logs::Left, &mut archive).expect("it can be packed");
    store.end();
    fs::remove_dir_all(project.path("runs/TASK-2026-02-09-044")).expect("a folder");
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
