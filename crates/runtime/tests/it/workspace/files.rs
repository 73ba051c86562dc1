//! Which files a run changed in a repository.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::workspace::support::{Stage, git};

#[test]
fn nothing_is_changed_by_doing_nothing() {
    let stage = Stage::git();
    stage.note();
    assert_eq!(stage.changed(), [""; 0]);
    assert_eq!(stage.commits(), 0);
}

#[test]
fn files_are_added_modified_and_deleted() {
    let stage = Stage::git();
    stage.note();
    stage.write("a.txt", "other\n");
    stage.remove("b.txt");
    stage.write("new/d.txt", "new\n");
    assert_eq!(stage.changed(), ["M a.txt", "D b.txt", "A new/d.txt"]);
}

#[test]
fn staged_and_committed_changes_are_the_same_changes() {
    let stage = Stage::git();
    stage.note();
    stage.write("a.txt", "other\n");
    stage.write("d.txt", "new\n");
    stage.run(&["rm", "-q", "b.txt"]);
    let expected = ["M a.txt", "D b.txt", "A d.txt"];
    stage.run(&["add", "."]);
    assert_eq!(stage.changed(), expected);
    stage.run(&["commit", "-qm", "work"]);
    assert_eq!(stage.changed(), expected);
}

#[test]
fn what_was_changed_before_is_not_the_runs_own() {
    let stage = Stage::git();
    stage.write("a.txt", "a person's\n");
    stage.remove("b.txt");
    stage.write("notes.txt", "a person's\n");
    stage.run(&["add", "a.txt"]);
    stage.note();
    assert_eq!(stage.changed(), [""; 0]);
    stage.run(&["commit", "-qam", "all of it"]);
    assert_eq!(stage.changed(), ["M a.txt", "D b.txt"], "as its commit says");
}

#[test]
fn what_was_changed_before_can_be_changed_again() {
    let stage = Stage::git();
    stage.write("a.txt", "a person's\n");
    stage.remove("b.txt");
    stage.write("notes.txt", "a person's\n");
    stage.write("more.txt", "a person's\n");
    stage.note();
    stage.write("a.txt", "the agent's\n");
    stage.write("b.txt", "b.txt\n");
    stage.remove("notes.txt");
    assert_eq!(stage.changed(), ["M a.txt", "A b.txt", "D notes.txt"]);
}

#[test]
fn a_file_that_is_written_again_as_it_was_is_not_changed() {
    let stage = Stage::git();
    stage.note();
    stage.remove("a.txt");
    stage.write("a.txt", "a.txt\n");
    stage.run(&["checkout", "-q", "-b", "other"]);
    stage.write("b.txt", "other\n");
    stage.run(&["stash", "-q"]);
    stage.run(&["stash", "drop", "-q"]);
    assert_eq!(stage.changed(), [""; 0]);
}

#[test]
fn what_is_ignored_does_not_count() {
    let stage = Stage::git();
    stage.write(".gitignore", "target/\n*.log\n");
    fs::write(stage.top().join(".git/info/exclude"), "private\n").expect("written");
    stage.note();
    stage.write("target/debug/x", "x");
    stage.write("a.log", "x");
    stage.write("private", "x");
    assert_eq!(stage.changed(), [""; 0]);
}

#[test]
fn what_the_run_itself_says_to_ignore_does_count() {
    let stage = Stage::git();
    stage.write(".gitignore", "*.log\n");
    stage.note();
    stage.write("a.log", "x");
    stage.write(".gitignore", "*.log\n*.rs\nbuild/\n");
    stage.write("src/main.rs", "fn main() {}\n");
    stage.write("src/lib.rs", "\n");
    stage.write("build/one", "1");
    stage.write("build/two", "2");
    fs::write(stage.top().join(".git/info/exclude"), "*.txt\n").expect("written");
    stage.write("new.txt", "x");
    let changed = stage.changed();
    assert_eq!(changed, ["M .gitignore", "A build/", "A new.txt", "A src/lib.rs", "A src/main.rs"]);
}

#[test]
fn marking_a_file_as_unchanged_hides_nothing() {
    let stage = Stage::git();
    stage.note();
    stage.run(&["update-index", "--assume-unchanged", "a.txt"]);
    stage.run(&["update-index", "--skip-worktree", "b.txt"]);
    stage.write("a.txt", "other\n");
    stage.write("b.txt", "other\n");
    stage.run(&["rm", "-q", "--cached", "dir/c.txt"]);
    assert_eq!(stage.changed(), ["M a.txt", "M b.txt"]);
}

#[test]
fn the_data_folder_does_not_count() {
    let stage = Stage::git();
    stage.note();
    stage.write(".adjutant/tasks/ready/x.md", "x");
    assert_eq!(stage.changed(), [""; 0]);
    stage.run(&["add", "."]);
    stage.run(&["commit", "-qm", "all there is"]);
    assert_eq!(stage.changed(), [""; 0]);
}

#[test]
fn names_may_be_whatever_the_system_allows() {
    let stage = Stage::git();
    let strange = ["with space", "line\nbreak", "quote\"", "-dash", ":(top)", "tab\t", "ü", "*"];
    for name in strange {
        stage.write(name, "before\n");
    }
    stage.write(OsStr::from_bytes(b"not\xfftext"), "before\n");
    stage.note();
    assert_eq!(stage.changed(), [""; 0]);
    for name in strange {
        stage.write(name, "after\n");
    }
    stage.write(OsStr::from_bytes(b"not\xfftext"), "after\n");
    stage.write(OsStr::from_bytes(b"new\xff"), "new\n");
    let mut expected: Vec<String> = strange.iter().map(|name| format!("M {name}")).collect();
    expected.extend(["M not\u{fffd}text".to_owned(), "A new\u{fffd}".to_owned()]);
    expected.sort_by(|one, other| one[2..].cmp(&other[2..]));
    assert_eq!(stage.changed(), expected);
}

#[test]
fn rights_and_links_count() {
    let stage = Stage::git();
    symlink("a.txt", stage.top().join("link")).expect("linked");
    stage.run(&["add", "."]);
    stage.run(&["commit", "-qm", "a link"]);
    stage.note();
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(stage.top().join("a.txt"), executable).expect("set");
    stage.remove("link");
    symlink("b.txt", stage.top().join("link")).expect("linked");
    stage.remove("dir/c.txt");
    fs::remove_dir(stage.top().join("dir")).expect("removed");
    symlink("/", stage.top().join("dir")).expect("linked");
    assert_eq!(stage.changed(), ["M a.txt", "A dir", "D dir/c.txt", "M link"]);
}

#[test]
fn a_repository_without_a_commit_will_do() {
    let stage = Stage::plain();
    stage.run(&["init", "-q"]);
    stage.write("a.txt", "a person's\n");
    stage.note();
    assert_eq!(stage.changed(), [""; 0]);
    stage.write("b.txt", "the agent's\n");
    assert_eq!(stage.changed(), ["A b.txt"]);
    stage.run(&["add", "b.txt"]);
    stage.run(&["commit", "-qm", "first"]);
    assert_eq!(stage.changed(), ["A b.txt"]);
    assert_eq!(stage.commits(), 1);
}

#[test]
fn settings_that_say_how_files_are_written_hold() {
    let stage = Stage::git();
    stage.run(&["config", "core.autocrlf", "true"]);
    stage.write("b.txt", "b.txt\r\n");
    stage.note();
    stage.write("a.txt", "a.txt\r\n");
    assert_eq!(stage.changed(), [""; 0], "git would say so as well");
    stage.write("a.txt", "other\r\n");
    assert_eq!(stage.changed(), ["M a.txt"]);
}

#[test]
fn an_index_in_two_parts_will_do() {
    let stage = Stage::git();
    stage.run(&["update-index", "--split-index"]);
    stage.write("b.txt", "other\n");
    stage.run(&["add", "b.txt"]);
    stage.note();
    stage.write("a.txt", "other\n");
    assert_eq!(stage.changed(), ["M a.txt"]);
}

#[test]
fn a_folder_of_a_repository_stands_for_all_of_it() {
    let stage = Stage::git();
    let (attempt, inner) = (stage.attempt(), stage.top().join("dir"));
    adjutant_runtime::workspace::note(&attempt, &inner, &stage.data()).expect("noted");
    stage.write("a.txt", "other\n");
    stage.write("dir/c.txt", "other\n");
    assert_eq!(stage.changed(), ["M a.txt", "M dir/c.txt"]);
}

#[test]
fn a_linked_work_tree_is_one_of_its_own() {
    let stage = Stage::git();
    stage.run(&["worktree", "add", "-q", "../linked"]);
    let linked = stage.home().join("linked");
    adjutant_runtime::workspace::note(&stage.attempt(), &linked, &stage.data()).expect("noted");
    stage.write("a.txt", "in the other\n");
    fs::write(linked.join("b.txt"), "here\n").expect("written");
    assert_eq!(stage.changed(), ["M b.txt"]);
    git(&linked, &["commit", "-qam", "here"]);
    assert_eq!(stage.commits(), 1);
}

#[test]
fn repositories_in_a_repository_are_looked_at_too() {
    let stage = Stage::git();
    let inner = stage.top().join("inner");
    for folder in [inner.clone(), stage.home().join("origin")] {
        fs::create_dir_all(&folder).expect("made");
        git(&folder, &["init", "-q", "-b", "main"]);
        fs::write(folder.join("x.txt"), "x\n").expect("written");
        git(&folder, &["add", "."]);
        git(&folder, &["commit", "-qm", "inner"]);
    }
    let add =
        ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../origin", "sub"];
    stage.run(&add);
    stage.run(&["commit", "-qm", "a submodule"]);
    stage.note();
    assert_eq!(stage.changed(), [""; 0]);
    fs::write(inner.join("x.txt"), "other\n").expect("written");
    fs::write(stage.top().join("sub/y.txt"), "new\n").expect("written");
    let fresh = stage.top().join("fresh");
    fs::create_dir(&fresh).expect("made");
    git(&fresh, &["init", "-q"]);
    fs::write(fresh.join("z.txt"), "new\n").expect("written");
    assert_eq!(stage.changed(), ["A fresh/z.txt", "M inner/x.txt", "A sub/y.txt"]);
    assert_eq!(stage.commits(), 0);
    git(&inner, &["commit", "-qam", "inner"]);
    assert_eq!(stage.commits(), 1);
    fs::remove_dir_all(&inner).expect("removed");
    assert_eq!(stage.changed(), ["A fresh/z.txt", "D inner", "A sub/y.txt"]);
}

#[test]
fn manifests_are_named() {
    let stage = Stage::git();
    stage.note();
    stage.write("Cargo.toml", "[package]\n");
    stage.write("web/package.json", "{}\n");
    stage.write("a.txt", "other\n");
    let seen = stage.look().expect("it can be seen");
    assert_eq!(seen.manifests().collect::<Vec<_>>(), ["Cargo.toml", "web/package.json"]);
}
