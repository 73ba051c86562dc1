//! The commits a run made.

use std::fs;

use crate::workspace::support::{WorkspaceFixture, git};

#[test]
fn commit_is_found_wherever_it_was_made() {
    let ways: [(&str, &[&[&str]]); 6] = [
        ("on the branch", &[&["commit", "-qam", "work"]]),
        ("amended", &[&["commit", "-q", "--amend", "-am", "work"]]),
        (
            "on a branch of its own",
            &[
                &["checkout", "-q", "-b", "other"],
                &["commit", "-qam", "work"],
                &["checkout", "-q", "main"],
            ],
        ),
        ("on no branch", &[&["checkout", "-q", "--detach"], &["commit", "-qam", "work"]]),
        (
            "under a tag",
            &[
                &["checkout", "-q", "--detach"],
                &["commit", "-qam", "work"],
                &["tag", "-am", "v1", "v1"],
                &["checkout", "-q", "main"],
            ],
        ),
        (
            "under a name of no kind",
            &[
                &["commit", "-qam", "work"],
                &["update-ref", "refs/kept/x", "HEAD"],
                &["reset", "-q", "--hard", "HEAD~"],
            ],
        ),
    ];
    for (name, way) in ways {
        let stage = WorkspaceFixture::git();
        stage.take_baseline();
        stage.write("a.txt", "other\n");
        for step in way {
            stage.run(step);
        }
        assert_eq!(stage.new_commits(), 1, "{name}");
        assert_eq!(stage.changed_files(), ["M a.txt"], "{name}");
    }
}

#[test]
fn stash_counts_as_commits() {
    let stage = WorkspaceFixture::git();
    stage.take_baseline();
    stage.write("a.txt", "other\n");
    stage.run(&["stash", "-q"]);
    assert_eq!(stage.new_commits(), 2, "of the index and of the work tree");
    assert_eq!(stage.changed_files(), ["M a.txt"]);
    stage.run(&["stash", "pop", "-q"]);
    assert_eq!(stage.new_commits(), 0);
}

#[test]
fn checkouts_and_branches_are_no_commits() {
    let stage = WorkspaceFixture::git();
    stage.write("b.txt", "second\n");
    stage.run(&["commit", "-qam", "second"]);
    stage.run(&["branch", "old", "HEAD~"]);
    stage.take_baseline();
    stage.run(&["branch", "new"]);
    stage.run(&["tag", "v1"]);
    stage.run(&["checkout", "-q", "old"]);
    stage.run(&["branch", "-qD", "main"]);
    assert_eq!(stage.new_commits(), 0);
    assert_eq!(stage.changed_files(), ["M b.txt"]);
}

#[test]
fn fetched_commits_do_not_count_and_pushed_ones_do() {
    let stage = WorkspaceFixture::git();
    let other = stage.home().join("other");
    let work = stage.top();
    git(stage.home(), &["clone", "-q", "--bare", "work", "origin"]);
    git(stage.home(), &["clone", "-q", "origin", "other"]);
    git(&work, &["remote", "add", "origin", "../origin"]);
    stage.take_baseline();
    fs::write(other.join("b.txt"), "theirs\n").expect("written");
    git(&other, &["commit", "-qam", "theirs"]);
    git(&other, &["push", "-q", "origin", "main"]);
    stage.run(&["fetch", "-q", "origin"]);
    assert_eq!(stage.new_commits(), 0);
    stage.write("a.txt", "ours\n");
    stage.run(&["commit", "-qam", "ours"]);
    stage.run(&["push", "-q", "origin", "HEAD:mine"]);
    assert_eq!(stage.new_commits(), 1);
}

#[test]
fn removed_repository_cannot_be_checked() {
    let stage = WorkspaceFixture::git();
    stage.take_baseline();
    fs::remove_dir_all(stage.top().join(".git")).expect("removed");
    let unseen = stage.inspect().expect_err("there is nothing to ask");
    assert!(unseen.to_string().contains("git"), "{unseen}");
}
