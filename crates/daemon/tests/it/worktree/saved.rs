//! Uncommitted work is saved before a worktree is touched, and is restored byte for byte.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use adjutant_git::worktree::{RestorableWork, RestoreTarget};

use crate::worktree::support::{WorktreeProject, all_files, git, task};

/// Leaves files of every kind in a worktree.
fn write_odd_files(tree: &Path) {
    let write = |name: &[u8], bytes: &[u8]| {
        fs::write(tree.join(OsStr::from_bytes(name)), bytes).expect("written");
    };
    write(b"a.txt", b"one\r\nTWO\r\n\xff\x00");
    write(b".gitattributes", b"* text=auto eol=lf\n*.bin filter=evil\n");
    write(b"odd \n\x01 name", b"control\n");
    write(b"not-utf8-\xff\xfe", b"x");
    write(b"-rf", b"an option\n");
    write(b"data.bin", &[0, 255, 13, 10, 13, 10]);
    write(b"run.sh", b"#!/bin/sh\n");
    fs::set_permissions(tree.join("run.sh"), fs::Permissions::from_mode(0o755)).expect("set");
    fs::create_dir_all(tree.join("deep/er")).expect("made");
    write(b"deep/er/file", b"");
    symlink("/etc/passwd", tree.join("link")).expect("linked");
    symlink("../..", tree.join("deep/up")).expect("linked");
    write(b"staged", b"first\n");
    git(tree, &["add", "staged"]);
    write(b"staged", b"second\n");
    write(b"forced.o", b"ignored, but added\n");
    git(tree, &["add", "-f", "forced.o"]);
    write(b"ignored.o", b"ignored\n");
}

fn only_saved(project: &WorktreeProject) -> RestorableWork {
    let mut found = project.worktrees().saved_work(Some(&task())).expect("listed");
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[test]
fn saved_work_except_ignored_files_is_restored() {
    let project = WorktreeProject::new();
    let tree = project.prepare(1).expect("made").tree;
    write_odd_files(&tree);
    let mut before = all_files(&tree);
    before.remove(Path::new("ignored.o"));
    let again = project.prepare(2).expect("made again");
    let saved = again.saved.expect("something was saved");
    assert_eq!(saved.reference, format!("refs/adjutant/salvage/{}/1", task()));
    let clean = all_files(&tree);
    assert_eq!(clean.len(), 3, "nothing else is there, what is ignored aside: {clean:?}");
    let (found, yard) = (only_saved(&project), project.worktrees());
    assert_eq!(found.commit, saved.commit);
    let to = project.path("back");
    yard.restore(&found, &RestoreTarget::Folder(to.clone())).expect("brought back");
    assert_eq!(all_files(&to), before);
    // Staged content is saved too.
    let staged = format!("{}^2:staged", saved.commit);
    assert_eq!(project.git(&["show", &staged]), "first");
    yard.restore(&found, &RestoreTarget::Worktree).expect("brought back in place");
    let mut in_place = all_files(&tree);
    in_place.remove(Path::new("ignored.o"));
    assert_eq!(in_place, before);
    // A second restore finds the same work: nothing new is saved, and nothing is overwritten.
    let refused = yard.restore(&found, &RestoreTarget::Worktree).expect_err("it is there");
    assert!(refused.0.contains("has uncommitted work"), "{refused}");
    let refused = yard.restore(&found, &RestoreTarget::Folder(to)).expect_err("it is there");
    assert!(refused.0.contains("is not an empty folder"), "{refused}");
}

#[test]
fn worktree_is_saved_before_removal_and_recreated_for_restore() {
    let project = WorktreeProject::new();
    let tree = project.prepare(1).expect("made").tree;
    write_odd_files(&tree);
    let mut before = all_files(&tree);
    before.remove(Path::new("ignored.o"));
    let yard = project.worktrees();
    let saved = yard.remove(&task(), 1).expect("tidied").expect("saved");
    assert!(saved.new && !tree.exists());
    assert_eq!(yard.remove(&task(), 1), Ok(None), "twice is once");
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(project.git(&["branch", "--list", "adjutant/*"]), "", "it had nothing of its own");
    yard.restore(&only_saved(&project), &RestoreTarget::Worktree).expect("brought back");
    assert_eq!(all_files(&tree), before);
    assert!(git(&tree, &["status", "--porcelain"]).contains("a.txt"), "it is a work tree again");
}

#[test]
fn clean_worktree_leaves_no_reference_and_keeps_its_branch() {
    let project = WorktreeProject::new();
    let tree = project.prepare(1).expect("made").tree;
    fs::write(tree.join("b.txt"), "b").expect("written");
    git(&tree, &["add", "."]);
    git(&tree, &["commit", "-qm", "work"]);
    let commit = git(&tree, &["rev-parse", "HEAD"]);
    assert_eq!(project.worktrees().remove(&task(), 1), Ok(None));
    assert_eq!(project.git(&["rev-parse", &format!("adjutant/{}", task())]), commit);
    let again = project.prepare(2).expect("made again");
    assert_eq!(again.saved, None);
    assert_eq!(fs::read_to_string(again.tree.join("b.txt")).expect("it is there"), "b");
}

#[test]
fn commits_outside_the_branch_are_saved_too() {
    let project = WorktreeProject::new();
    let tree = project.prepare(1).expect("made").tree;
    git(&tree, &["checkout", "-q", "--detach"]);
    fs::write(tree.join("b.txt"), "b").expect("written");
    git(&tree, &["add", "."]);
    git(&tree, &["commit", "-qm", "beside"]);
    let beside = git(&tree, &["rev-parse", "HEAD"]);
    let saved = project.prepare(2).expect("made again").saved.expect("saved");
    assert_eq!(project.git(&["rev-parse", &format!("{}^1", saved.commit)]), beside);
    assert!(!tree.join("b.txt").exists());
}

#[test]
fn work_left_several_times_is_saved_each_time() {
    let project = WorktreeProject::new();
    let tree = project.prepare(1).expect("made").tree;
    for text in ["first", "second", "second"] {
        fs::write(tree.join("b.txt"), text).expect("written");
        project.prepare(2).expect("made again");
    }
    let found = project.worktrees().saved_work(None).expect("listed");
    let attempts: Vec<&str> = found.iter().map(|one| &*one.attempt).collect();
    assert_eq!(attempts, ["1", "1-2"], "the same is not saved twice");
}

#[test]
fn nested_repository_keeps_worktree_from_being_removed() {
    let project = WorktreeProject::new();
    let tree = project.prepare(1).expect("made").tree;
    fs::create_dir(tree.join("inner")).expect("made");
    git(&tree.join("inner"), &["init", "-q"]);
    fs::write(tree.join("inner/b.txt"), "b").expect("written");
    fs::write(tree.join("c.txt"), "c").expect("written");
    let refused = project.worktrees().remove(&task(), 1).expect_err("it cannot be saved");
    assert!(refused.0.contains("inner"), "{refused}");
    assert!(tree.join("inner/b.txt").exists());
    assert_eq!(only_saved(&project).files, ["c.txt"], "all the rest was saved");
    project.prepare(2).expect("made again");
    assert!(tree.join("inner/b.txt").exists() && !tree.join("c.txt").exists());
}

#[test]
fn line_ends_that_git_writes_are_no_changes_to_save() {
    let project = WorktreeProject::new();
    project.write(".gitattributes", b"*.txt text eol=crlf\n");
    project.git(&["add", "."]);
    project.git(&["commit", "-qm", "line ends", "--", ".gitattributes"]);
    let tree = project.prepare(1).expect("made").tree;
    assert_eq!(fs::read(tree.join("a.txt")).expect("read"), b"one\r\ntwo\r\n");
    assert_eq!(project.prepare(2).expect("made again").saved, None);
    let settled = project.worktrees().commit_work(&task(), "Do it", "swe", 1).expect("settled");
    assert_eq!(settled.changes.files, 0);
}
