//! An agent that tries to have a program run or a file outside its worktree written.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use adjutant_git::worktree::MergeMethod;
use adjutant_model::work::MergeResult;

use crate::worktree::support::{WorktreeProject, git, task};

/// Configures everything that makes git run a program, in the worktree and in the repository.
fn set_traps(project: &WorktreeProject, tree: &Path) {
    let trap = format!("touch {}", project.path("sprung").display());
    let config = |key: &str| git(tree, &["config", key, &trap]);
    for key in [
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "core.editor",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "diff.evil.command",
        "diff.evil.textconv",
        "diff.external",
        "merge.evil.driver",
        "gpg.program",
    ] {
        config(key);
    }
    git(tree, &["config", "commit.gpgSign", "true"]);
    git(tree, &["config", "filter.evil.required", "true"]);
    fs::write(tree.join(".gitattributes"), "* filter=evil diff=evil merge=evil\n")
        .expect("written");
    let hooks = project.path(".git/hooks");
    fs::create_dir_all(&hooks).expect("made");
    git(tree, &["config", "core.hooksPath", hooks.to_str().expect("text")]);
    for hook in [
        "pre-commit",
        "post-checkout",
        "post-index-change",
        "reference-transaction",
        "post-commit",
        "pre-rebase",
        "post-merge",
        "fsmonitor-watchman",
    ] {
        let path = hooks.join(hook);
        fs::write(&path, format!("#!/bin/sh\n{trap}\n")).expect("written");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&path, mode).expect("set");
    }
    let _ = fs::remove_file(project.path("sprung"));
}

#[test]
fn worktree_runs_no_program_that_an_agent_left() {
    let project = WorktreeProject::new();
    let tree = project.prepare(1).expect("made").tree;
    fs::write(tree.join("b.txt"), "b\n").expect("written");
    set_traps(&project, &tree);
    project.write("c.txt", b"c\n");
    let yard = project.worktrees();
    yard.commit_work(&task(), "Do it", "swe", 1).expect("settled");
    fs::write(tree.join("b.txt"), "uncommitted\n").expect("written");
    project.prepare(2).expect("made again");
    yard.diff(&task()).expect("shown");
    yard.saved_work(None).expect("listed");
    let merged = project.merge(MergeMethod::Rebase);
    assert!(matches!(merged, MergeResult::Done { .. }), "{merged:?}");
    assert_eq!(fs::read_to_string(project.path("b.txt")).expect("merged"), "b\n");
    yard.remove(&task(), 2).expect("tidied");
    assert!(!project.path("sprung").exists(), "something was run");
}

#[test]
fn worktree_does_not_follow_link_in_place_of_folder() {
    let project = WorktreeProject::new();
    let tree = project.prepare(1).expect("made").tree;
    let outside = tempfile::tempdir().expect("a folder");
    fs::create_dir(tree.join("sub")).expect("made");
    fs::write(tree.join("sub/file"), "inside").expect("written");
    git(&tree, &["add", "."]);
    git(&tree, &["commit", "-qm", "a folder"]);
    fs::remove_dir_all(tree.join("sub")).expect("removed");
    symlink(outside.path(), tree.join("sub")).expect("linked");
    fs::write(outside.path().join("precious"), "mine").expect("written");
    project.prepare(2).expect("made again");
    assert_eq!(fs::read_to_string(tree.join("sub/file")).expect("it is there"), "inside");
    assert_eq!(fs::read_to_string(outside.path().join("precious")).expect("kept"), "mine");
    assert_eq!(fs::read_dir(outside.path()).expect("read").count(), 1);
}

#[test]
fn worktree_that_is_a_link_is_refused_and_not_followed() {
    let project = WorktreeProject::new();
    let tree = project.prepare(1).expect("made").tree;
    let outside = tempfile::tempdir().expect("a folder");
    fs::write(outside.path().join("precious"), "mine").expect("written");
    fs::remove_dir_all(&tree).expect("removed");
    symlink(outside.path(), &tree).expect("linked");
    let refused = project.prepare(2).expect_err("it is no folder");
    assert!(refused.0.contains("is not a folder"), "{refused}");
    assert!(project.worktrees().remove(&task(), 1).is_err());
    assert_eq!(fs::read_to_string(outside.path().join("precious")).expect("kept"), "mine");
}

#[test]
fn worktree_git_file_that_leads_elsewhere_is_corrected() {
    let project = WorktreeProject::new();
    let other = WorktreeProject::new();
    let tree = project.prepare(1).expect("made").tree;
    let before = other.git(&["rev-parse", "main"]);
    fs::write(tree.join(".git"), format!("gitdir: {}\n", other.path(".git").display()))
        .expect("written");
    fs::write(tree.join("b.txt"), "b").expect("written");
    let settled = project.worktrees().commit_work(&task(), "Do it", "swe", 1).expect("settled");
    assert_eq!(project.git(&["rev-parse", &settled.branch]), settled.commit);
    assert_eq!(other.git(&["rev-parse", "main"]), before);
    project.prepare(2).expect("made again");
    assert_eq!(git(&tree, &["rev-parse", "--abbrev-ref", "HEAD"]), settled.branch);
}

#[test]
fn worktree_saves_files_marked_as_unchanged() {
    let project = WorktreeProject::new();
    let tree = project.prepare(1).expect("made").tree;
    git(&tree, &["update-index", "--assume-unchanged", "a.txt"]);
    git(&tree, &["update-index", "--skip-worktree", ".gitignore"]);
    fs::write(tree.join("a.txt"), "hidden").expect("written");
    fs::write(tree.join(".gitignore"), "hidden").expect("written");
    project.prepare(2).expect("made again").saved.expect("it was saved");
    assert_eq!(fs::read_to_string(tree.join("a.txt")).expect("read"), "one\ntwo\n");
    let found = project.worktrees().saved_work(None).expect("listed");
    assert_eq!(found[0].files, [".gitignore", "a.txt"]);
}

#[test]
fn worktree_with_broken_index_and_head_is_saved() {
    let project = WorktreeProject::new();
    let tree = project.prepare(1).expect("made").tree;
    fs::write(tree.join("b.txt"), "b").expect("written");
    let admin = project.path(&format!(".git/worktrees/adjutant-{}", task()));
    fs::write(admin.join("index"), "nonsense").expect("written");
    fs::write(admin.join("index.lock"), "").expect("written");
    fs::remove_file(admin.join("HEAD")).expect("removed");
    symlink("/etc/passwd", admin.join("HEAD")).expect("linked");
    project.prepare(2).expect("made again").saved.expect("it was saved");
    assert_eq!(git(&tree, &["status", "--porcelain"]), "");
    assert!(fs::read_to_string("/etc/passwd").expect("kept").contains("root"));
}

#[test]
fn worktree_branch_checked_out_elsewhere_is_refused() {
    let project = WorktreeProject::new();
    let branch = format!("adjutant/{}", task());
    project.git(&["checkout", "-q", "-b", &branch]);
    let yard = adjutant_git::worktree::Worktrees::new(
        &project.path(".adjutant"),
        &project.path(""),
        Some("main".to_owned()),
    );
    let setup = adjutant_git::worktree::WorktreeSetup::default();
    let refused = yard.prepare(&task(), 0, &setup, &crate::worktree::support::no_setup);
    let refused = refused.expect_err("it is checked out");
    assert!(refused.0.contains("is checked out in"), "{refused}");
}
