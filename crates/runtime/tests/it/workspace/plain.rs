//! Folders without git.

use std::fs;

use adjutant_runtime::workspace::FILES_MAX;

use crate::workspace::support::Stage;

#[test]
fn files_are_added_modified_and_deleted() {
    let stage = Stage::plain();
    for name in ["a.txt", "b.txt", "dir/c.txt", "same.txt"] {
        stage.write(name, "before\n");
    }
    stage.note();
    assert_eq!(stage.changed(), [""; 0]);
    stage.write("a.txt", "after\n");
    stage.remove("b.txt");
    stage.write("dir/d.txt", "new\n");
    stage.remove("same.txt");
    stage.write("same.txt", "before\n");
    stage.write(".adjutant/tasks/x.md", "x");
    assert_eq!(stage.changed(), ["M a.txt", "D b.txt", "A dir/d.txt"]);
    assert_eq!(stage.commits(), 0);
}

#[test]
fn one_that_becomes_a_repository_has_commits() {
    let stage = Stage::plain();
    stage.write("a.txt", "before\n");
    stage.note();
    stage.run(&["init", "-q"]);
    assert_eq!(stage.commits(), 0);
    stage.run(&["add", "."]);
    stage.run(&["commit", "-qm", "first"]);
    assert_eq!(stage.commits(), 1);
    assert_eq!(stage.changed(), [""; 0]);
}

#[test]
fn one_that_a_repository_ignores_is_one_of_its_own() {
    let stage = Stage::git();
    stage.write(".gitignore", "scratch\n");
    stage.write("scratch/a.txt", "before\n");
    let (attempt, inner) = (stage.attempt(), stage.top().join("scratch"));
    adjutant_runtime::workspace::note(&attempt, &inner, &stage.data()).expect("noted");
    stage.write("scratch/a.txt", "after\n");
    stage.write("b.txt", "elsewhere\n");
    assert_eq!(stage.changed(), ["M a.txt"]);
}

#[test]
fn what_is_too_much_cannot_be_checked() {
    let stage = Stage::plain();
    for folder in 0..(FILES_MAX / 1000) {
        fs::create_dir(stage.top().join(folder.to_string())).expect("made");
        for file in 0..1000 {
            fs::write(stage.top().join(format!("{folder}/{file}")), "").expect("written");
        }
    }
    stage.write("one more", "");
    stage.note();
    let unseen = stage.look().expect_err("there is too much");
    assert!(unseen.to_string().starts_with("more than 50000 files"), "{unseen}");
    fs::remove_dir_all(stage.top().join("0")).expect("removed");
    stage.note();
    assert_eq!(stage.changed(), [""; 0]);
}

#[test]
fn a_run_nobody_noted_anything_for_cannot_be_checked() {
    let stage = Stage::plain();
    let unseen = stage.look().expect_err("there is nothing to compare with");
    assert_eq!(unseen.to_string(), "nobody noted what was there before the run");
    fs::write(stage.attempt().join("baseline.json"), "{\"version\":1").expect("written");
    let unseen = stage.look().expect_err("it makes no sense");
    assert!(unseen.to_string().contains("makes no sense"), "{unseen}");
}
