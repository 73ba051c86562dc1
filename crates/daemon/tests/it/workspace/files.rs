//! The files a run changed in a repository.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::workspace::support::{WorkspaceFixture, git};

#[test]
fn idle_run_changes_no_files() {
    let stage = WorkspaceFixture::git();
    stage.take_baseline();
    assert_eq!(stage.changed_files(), [""; 0]);
    assert_eq!(stage.new_commits(), 0);
}

#[test]
fn changed_files_are_added_modified_and_deleted() {
    let stage = WorkspaceFixture::git();
    stage.take_baseline();
    stage.write("a.txt", "other\n");
    stage.remove("b.txt");
    stage.write("new/d.txt", "new\n");
    assert_eq!(stage.changed_files(), ["M a.txt", "D b.txt", "A new/d.txt"]);
}

#[test]
fn staged_and_committed_changes_count_the_same() {
    let stage = WorkspaceFixture::git();
    stage.take_baseline();
    stage.write("a.txt", "other\n");
    stage.write("d.txt", "new\n");
    stage.run(&["rm", "-q", "b.txt"]);
    let expected = ["M a.txt", "D b.txt", "A d.txt"];
    stage.run(&["add", "."]);
    assert_eq!(stage.changed_files(), expected);
    stage.run(&["commit", "-qm", "work"]);
    assert_eq!(stage.changed_files(), expected);
}

#[test]
fn changes_before_the_run_are_not_its_own() {
    let stage = WorkspaceFixture::git();
    stage.write("a.txt", "a person's\n");
    stage.remove("b.txt");
    stage.write("notes.txt", "a person's\n");
    stage.run(&["add", "a.txt"]);
    stage.take_baseline();
    assert_eq!(stage.changed_files(), [""; 0]);
    stage.run(&["commit", "-qam", "all of it"]);
    assert_eq!(stage.changed_files(), ["M a.txt", "D b.txt"], "as its commit says");
}

#[test]
fn files_changed_before_the_run_can_change_again() {
    let stage = WorkspaceFixture::git();
    stage.write("a.txt", "a person's\n");
    stage.remove("b.txt");
    stage.write("notes.txt", "a person's\n");
    stage.write("more.txt", "a person's\n");
    stage.take_baseline();
    stage.write("a.txt", "the agent's\n");
    stage.write("b.txt", "b.txt\n");
    stage.remove("notes.txt");
    assert_eq!(stage.changed_files(), ["M a.txt", "A b.txt", "D notes.txt"]);
}

#[test]
fn file_rewritten_unchanged_is_not_changed() {
    let stage = WorkspaceFixture::git();
    stage.take_baseline();
    stage.remove("a.txt");
    stage.write("a.txt", "a.txt\n");
    stage.run(&["checkout", "-q", "-b", "other"]);
    stage.write("b.txt", "other\n");
    stage.run(&["stash", "-q"]);
    stage.run(&["stash", "drop", "-q"]);
    assert_eq!(stage.changed_files(), [""; 0]);
}

#[test]
fn ignored_files_do_not_count() {
    let stage = WorkspaceFixture::git();
    stage.write(".gitignore", "target/\n*.log\n");
    fs::write(stage.top().join(".git/info/exclude"), "private\n").expect("written");
    stage.take_baseline();
    stage.write("target/debug/x", "x");
    stage.write("a.log", "x");
    stage.write("private", "x");
    assert_eq!(stage.changed_files(), [""; 0]);
}

#[test]
fn files_that_the_run_itself_ignores_count() {
    let stage = WorkspaceFixture::git();
    stage.write(".gitignore", "*.log\n");
    stage.take_baseline();
    stage.write("a.log", "x");
    stage.write(".gitignore", "*.log\n*.rs\nbuild/\n");
    stage.write("src/main.rs", "fn main() {}\n");
    stage.write("src/lib.rs", "\n");
    stage.write("build/one", "1");
    stage.write("build/two", "2");
    fs::write(stage.top().join(".git/info/exclude"), "*.txt\n").expect("written");
    stage.write("new.txt", "x");
    let changed = stage.changed_files();
    assert_eq!(changed, ["M .gitignore", "A build/", "A new.txt", "A src/lib.rs", "A src/main.rs"]);
}

#[test]
fn assume_unchanged_hides_nothing() {
    let stage = WorkspaceFixture::git();
    stage.take_baseline();
    stage.run(&["update-index", "--assume-unchanged", "a.txt"]);
    stage.run(&["update-index", "--skip-worktree", "b.txt"]);
    stage.write("a.txt", "other\n");
    stage.write("b.txt", "other\n");
    stage.run(&["rm", "-q", "--cached", "dir/c.txt"]);
    assert_eq!(stage.changed_files(), ["M a.txt", "M b.txt"]);
}

#[test]
fn data_folder_does_not_count() {
    let stage = WorkspaceFixture::git();
    stage.take_baseline();
    stage.write(".adjutant/tasks/ready/x.md", "x");
    assert_eq!(stage.changed_files(), [""; 0]);
    stage.run(&["add", "."]);
    stage.run(&["commit", "-qm", "all there is"]);
    assert_eq!(stage.changed_files(), [""; 0]);
}

#[test]
fn file_names_with_any_bytes_are_reported() {
    let stage = WorkspaceFixture::git();
    let strange = ["with space", "line\nbreak", "quote\"", "-dash", ":(top)", "tab\t", "ü", "*"];
    for name in strange {
        stage.write(name, "before\n");
    }
    stage.write(OsStr::from_bytes(b"not\xfftext"), "before\n");
    stage.take_baseline();
    assert_eq!(stage.changed_files(), [""; 0]);
    for name in strange {
        stage.write(name, "after\n");
    }
    stage.write(OsStr::from_bytes(b"not\xfftext"), "after\n");
    stage.write(OsStr::from_bytes(b"new\xff"), "new\n");
    let mut expected: Vec<String> = strange.iter().map(|name| format!("M {name}")).collect();
    expected.extend(["M not\u{fffd}text".to_owned(), "A new\u{fffd}".to_owned()]);
    expected.sort_by(|one, other| one[2..].cmp(&other[2..]));
    assert_eq!(stage.changed_files(), expected);
}

#[test]
fn permissions_and_links_count_as_changes() {
    let stage = WorkspaceFixture::git();
    symlink("a.txt", stage.top().join("link")).expect("linked");
    stage.run(&["add", "."]);
    stage.run(&["commit", "-qm", "a link"]);
    stage.take_baseline();
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(stage.top().join("a.txt"), executable).expect("set");
    stage.remove("link");
    symlink("b.txt", stage.top().join("link")).expect("linked");
    stage.remove("dir/c.txt");
    fs::remove_dir(stage.top().join("dir")).expect("removed");
    symlink("/", stage.top().join("dir")).expect("linked");
    assert_eq!(stage.changed_files(), ["M a.txt", "A dir", "D dir/c.txt", "M link"]);
}

#[test]
fn repository_without_commits_is_inspected() {
    let stage = WorkspaceFixture::plain();
    stage.run(&["init", "-q"]);
    stage.write("a.txt", "a person's\n");
    stage.take_baseline();
    assert_eq!(stage.changed_files(), [""; 0]);
    stage.write("b.txt", "the agent's\n");
    assert_eq!(stage.changed_files(), ["A b.txt"]);
    stage.run(&["add", "b.txt"]);
    stage.run(&["commit", "-qm", "first"]);
    assert_eq!(stage.changed_files(), ["A b.txt"]);
    assert_eq!(stage.new_commits(), 1);
}

#[test]
fn line_end_settings_are_respected() {
    let stage = WorkspaceFixture::git();
    stage.run(&["config", "core.autocrlf", "true"]);
    stage.write("b.txt", "b.txt\r\n");
    stage.take_baseline();
    stage.write("a.txt", "a.txt\r\n");
    assert_eq!(stage.changed_files(), [""; 0], "git would say so as well");
    stage.write("a.txt", "other\r\n");
    assert_eq!(stage.changed_files(), ["M a.txt"]);
}

#[test]
fn split_index_is_inspected() {
    let stage = WorkspaceFixture::git();
    stage.run(&["update-index", "--split-index"]);
    stage.write("b.txt", "other\n");
    stage.run(&["add", "b.txt"]);
    stage.take_baseline();
    stage.write("a.txt", "other\n");
    assert_eq!(stage.changed_files(), ["M a.txt"]);
}

#[test]
fn subfolder_stands_for_its_whole_repository() {
    let stage = WorkspaceFixture::git();
    let (attempt, inner) = (stage.attempt(), stage.top().join("dir"));
    adjutant_git::workspace::record_baseline(&attempt, &inner, &stage.data()).expect("noted");
    stage.write("a.txt", "other\n");
    stage.write("dir/c.txt", "other\n");
    assert_eq!(stage.changed_files(), ["M a.txt", "M dir/c.txt"]);
}

#[test]
fn linked_worktree_is_inspected_by_itself() {
    let stage = WorkspaceFixture::git();
    stage.run(&["worktree", "add", "-q", "../linked"]);
    let linked = stage.home().join("linked");
    adjutant_git::workspace::record_baseline(&stage.attempt(), &linked, &stage.data())
        .expect("noted");
    stage.write("a.txt", "in the other\n");
    fs::write(linked.join("b.txt"), "here\n").expect("written");
    assert_eq!(stage.changed_files(), ["M b.txt"]);
    git(&linked, &["commit", "-qam", "here"]);
    assert_eq!(stage.new_commits(), 1);
}

#[test]
fn nested_repositories_are_inspected_too() {
    let stage = WorkspaceFixture::git();
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
    stage.take_baseline();
    assert_eq!(stage.changed_files(), [""; 0]);
    fs::write(inner.join("x.txt"), "other\n").expect("written");
    fs::write(stage.top().join("sub/y.txt"), "new\n").expect("written");
    let fresh = stage.top().join("fresh");
    fs::create_dir(&fresh).expect("made");
    git(&fresh, &["init", "-q"]);
    fs::write(fresh.join("z.txt"), "new\n").expect("written");
    assert_eq!(stage.changed_files(), ["A fresh/z.txt", "M inner/x.txt", "A sub/y.txt"]);
    assert_eq!(stage.new_commits(), 0);
    git(&inner, &["commit", "-qam", "inner"]);
    assert_eq!(stage.new_commits(), 1);
    fs::remove_dir_all(&inner).expect("removed");
    assert_eq!(stage.changed_files(), ["A fresh/z.txt", "D inner", "A sub/y.txt"]);
}

#[test]
fn changed_manifests_are_listed() {
    let stage = WorkspaceFixture::git();
    stage.take_baseline();
    stage.write("Cargo.toml", "[package]\n");
    stage.write("web/package.json", "{}\n");
    stage.write("a.txt", "other\n");
    let seen = stage.inspect().expect("it can be seen");
    assert_eq!(seen.manifests().collect::<Vec<_>>(), ["Cargo.toml", "web/package.json"]);
}
