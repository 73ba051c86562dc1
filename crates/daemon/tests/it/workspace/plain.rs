//! Workspaces without git.

use std::fs;

use adjutant_git::workspace::FILES_MAX;

use crate::workspace::support::WorkspaceFixture;

#[test]
fn plain_folder_files_are_added_modified_and_deleted() {
    let stage = WorkspaceFixture::plain();
    for name in ["a.txt", "b.txt", "dir/c.txt", "same.txt"] {
        stage.write(name, "before\n");
    }
    stage.take_baseline();
    assert_eq!(stage.changed_files(), [""; 0]);
    stage.write("a.txt", "after\n");
    stage.remove("b.txt");
    stage.write("dir/d.txt", "new\n");
    stage.remove("same.txt");
    stage.write("same.txt", "before\n");
    stage.write(".adjutant/tasks/x.md", "x");
    assert_eq!(stage.changed_files(), ["M a.txt", "D b.txt", "A dir/d.txt"]);
    assert_eq!(stage.new_commits(), 0);
}

#[test]
fn plain_folder_that_becomes_a_repository_has_commits() {
    let stage = WorkspaceFixture::plain();
    stage.write("a.txt", "before\n");
    stage.take_baseline();
    stage.run(&["init", "-q"]);
    assert_eq!(stage.new_commits(), 0);
    stage.run(&["add", "."]);
    stage.run(&["commit", "-qm", "first"]);
    assert_eq!(stage.new_commits(), 1);
    assert_eq!(stage.changed_files(), [""; 0]);
}

#[test]
fn ignored_folder_is_inspected_by_itself() {
    let stage = WorkspaceFixture::git();
    stage.write(".gitignore", "scratch\n");
    stage.write("scratch/a.txt", "before\n");
    let (attempt, inner) = (stage.attempt(), stage.top().join("scratch"));
    adjutant_git::workspace::record_baseline(&attempt, &inner, &stage.data()).expect("noted");
    stage.write("scratch/a.txt", "after\n");
    stage.write("b.txt", "elsewhere\n");
    assert_eq!(stage.changed_files(), ["M a.txt"]);
}

#[test]
fn plain_folder_with_too_many_files_cannot_be_checked() {
    let stage = WorkspaceFixture::plain();
    for folder in 0..(FILES_MAX / 1000) {
        fs::create_dir(stage.top().join(folder.to_string())).expect("made");
        for file in 0..1000 {
            fs::write(stage.top().join(format!("{folder}/{file}")), "").expect("written");
        }
    }
    stage.write("one more", "");
    stage.take_baseline();
    let unseen = stage.inspect().expect_err("there is too much");
    assert!(unseen.to_string().starts_with("more than 50000 files"), "{unseen}");
    fs::remove_dir_all(stage.top().join("0")).expect("removed");
    stage.take_baseline();
    assert_eq!(stage.changed_files(), [""; 0]);
}

#[test]
fn run_without_baseline_cannot_be_checked() {
    let stage = WorkspaceFixture::plain();
    let unseen = stage.inspect().expect_err("there is nothing to compare with");
    assert_eq!(unseen.to_string(), "the state of the workspace before the run was not recorded");
    fs::write(stage.attempt().join("baseline.json"), "{\"version\":1").expect("written");
    let unseen = stage.inspect().expect_err("it makes no sense");
    assert!(unseen.to_string().contains("before the run is invalid"), "{unseen}");
}
