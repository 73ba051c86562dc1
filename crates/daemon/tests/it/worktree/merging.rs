//! Merging: the resulting base, uncommitted work of people, and merges that were interrupted.

use std::fs;

use adjutant_git::worktree::MergeMethod;
use adjutant_model::evidence::{CheckResult, DiffStat, WorkEvidence};
use adjutant_model::run::RunExit;
use adjutant_model::work::MergeResult;

use crate::worktree::support::{WorktreeProject, git, task};

/// Simulates a merge to a commit that was interrupted at some step.
type MergeInterruption = fn(&WorktreeProject, &str);

/// Commits work on the branch of the task: a new file, a changed one and a removed one.
fn commit_work(project: &WorktreeProject) {
    let tree = project.prepare(1).expect("made").tree;
    fs::write(tree.join("new.txt"), "new\n").expect("written");
    git(&tree, &["add", "."]);
    git(&tree, &["commit", "-qm", "new"]);
    fs::write(tree.join("a.txt"), "one\nTWO\n").expect("written");
    git(&tree, &["commit", "-qam", "two"]);
    fs::remove_file(tree.join(".gitignore")).expect("removed");
    git(&tree, &["commit", "-qam", "three"]);
}

fn move_base(project: &WorktreeProject, name: &str, text: &str) {
    project.write(name, text.as_bytes());
    project.git(&["add", name]);
    project.git(&["commit", "-qm", "meanwhile"]);
}

fn merged_commit(merged: &MergeResult) -> &str {
    match merged {
        MergeResult::Done { commit, .. } => commit,
        other => panic!("{other:?}"),
    }
}

fn subjects(project: &WorktreeProject) -> String {
    project.git(&["log", "--format=%s", "--reverse", "main"]).replace('\n', " ")
}

/// Checks that the work, and nothing else, is in the base, in the index and in the files.
fn expect_merged(project: &WorktreeProject) {
    assert_eq!(fs::read_to_string(project.path("a.txt")).expect("read"), "one\nTWO\n");
    assert_eq!(fs::read_to_string(project.path("new.txt")).expect("read"), "new\n");
    assert!(!project.path(".gitignore").exists());
    assert_eq!(project.git(&["status", "--porcelain", "--", ":!.adjutant"]), "");
    assert_eq!(project.git(&["fsck", "--no-dangling"]), "");
    let left = project.git(&["for-each-ref", "--format=%(refname)", "refs/adjutant/merging"]);
    assert_eq!(left, "");
}

#[test]
fn merge_modes_give_their_history() {
    for (how, expected) in [
        (MergeMethod::Ff, "first new two three"),
        (MergeMethod::Rebase, "first new two three"),
        (MergeMethod::Squash, "first Do it"),
    ] {
        let project = WorktreeProject::new();
        commit_work(&project);
        let merged = project.merge(how);
        assert_eq!(merged_commit(&merged), project.git(&["rev-parse", "main"]));
        assert_eq!(subjects(&project), expected, "{how:?}");
        expect_merged(&project);
        assert_eq!(merged_commit(&project.merge(how)), project.git(&["rev-parse", "main"]), "once");
        assert_eq!(subjects(&project), expected, "{how:?}");
    }
}

#[test]
fn merge_on_moved_base_recreates_commits() {
    for (how, expected) in [
        (MergeMethod::Rebase, "first meanwhile new two three"),
        (MergeMethod::Squash, "first meanwhile Do it"),
    ] {
        let project = WorktreeProject::new();
        commit_work(&project);
        move_base(&project, "other.txt", "other\n");
        merged_commit(&project.merge(how));
        assert_eq!(subjects(&project), expected, "{how:?}");
        expect_merged(&project);
        project.worktrees().remove(&task(), 1).expect("tidied");
        assert_eq!(project.git(&["branch", "--list", "adjutant/*"]), "");
        let kept = format!("refs/adjutant/merged/{}", task());
        assert_eq!(project.git(&["log", "-1", "--format=%s", &kept]), "three");
    }
    let project = WorktreeProject::new();
    commit_work(&project);
    move_base(&project, "other.txt", "other\n");
    let MergeResult::Refused { reason, .. } = project.merge(MergeMethod::Ff) else {
        panic!("it is refused")
    };
    assert!(reason.contains("git rebase main"), "{reason}");
}

#[test]
fn merge_of_change_that_the_base_has_makes_no_commit() {
    for how in [MergeMethod::Squash, MergeMethod::Rebase] {
        let project = WorktreeProject::new();
        let tree = project.prepare(1).expect("made").tree;
        fs::write(tree.join("new.txt"), "new\n").expect("written");
        git(&tree, &["add", "."]);
        git(&tree, &["commit", "-qm", "new"]);
        move_base(&project, "new.txt", "new\n");
        let before = project.git(&["rev-parse", "main"]);
        let MergeResult::Done { commit, evidence, .. } = project.merge(how) else {
            panic!("{how:?}: it is done")
        };
        assert_eq!(commit, before, "{how:?}");
        assert_eq!(evidence.changes, Some(DiffStat::default()), "{how:?}");
        assert_eq!(project.git(&["rev-parse", "main"]), before, "{how:?}: no empty commit");
        assert_eq!(subjects(&project), "first meanwhile", "{how:?}");
        assert_eq!(merged_commit(&project.merge(how)), before, "{how:?}: once more");
    }
}

#[test]
fn merge_conflict_names_its_files_and_changes_nothing() {
    for how in [MergeMethod::Rebase, MergeMethod::Squash] {
        let project = WorktreeProject::new();
        commit_work(&project);
        move_base(&project, "a.txt", "one\n2\n");
        let before = project.git(&["rev-parse", "main"]);
        let MergeResult::Refused { files, reason } = project.merge(how) else {
            panic!("a conflict")
        };
        assert_eq!(files, ["a.txt"], "{how:?}");
        assert!(reason.contains("a.txt"), "{reason}");
        assert_eq!(project.git(&["rev-parse", "main"]), before);
        assert_eq!(fs::read_to_string(project.path("a.txt")).expect("read"), "one\n2\n");
    }
}

#[test]
fn merge_checks_run_on_the_result_before_the_base_moves() {
    let project = WorktreeProject::new();
    commit_work(&project);
    move_base(&project, "other.txt", "other\n");
    let before = project.git(&["rev-parse", "main"]);
    let seen = std::cell::RefCell::new(Vec::new());
    let check = |code: i32| {
        let (seen, before, project) = (&seen, &before, &project);
        move |at: &std::path::Path| {
            let both = at.join("other.txt").exists() && at.join("new.txt").exists();
            seen.borrow_mut().push(both && project.git(&["rev-parse", "main"]) == *before);
            fs::write(at.join("litter"), "x").expect("written");
            let exit = RunExit::Code(code);
            let (command, tail, log) = ("make".to_owned(), "no".to_owned(), String::new());
            let check = CheckResult { command, exit, duration_ms: 1, tail, log };
            WorkEvidence { checks: vec![check], ..WorkEvidence::default() }
        }
    };
    let refused = project.merge_checking(MergeMethod::Rebase, Some(&check(2)));
    let MergeResult::Refused { reason, .. } = refused else { panic!("{refused:?}") };
    assert!(reason.contains("`make`: exit code 2: no"), "{reason}");
    assert_eq!(project.git(&["rev-parse", "main"]), before);
    merged_commit(&project.merge_checking(MergeMethod::Rebase, Some(&check(0))));
    expect_merged(&project);
    assert_eq!(*seen.borrow(), [true, true]);
    assert!(
        project.worktrees().saved_work(None).expect("listed").is_empty(),
        "litter is nobody's work"
    );
}

#[test]
fn merge_waits_for_uncommitted_files_of_a_person() {
    // A file the work changes, one it removes, one it adds; and one that is only staged.
    for (name, marked) in
        [("a.txt", false), (".gitignore", false), ("new.txt", false), ("a.txt", true)]
    {
        let project = WorktreeProject::new();
        commit_work(&project);
        project.write(name, b"mine\n");
        if marked {
            project.git(&["add", name]);
        }
        let status = project.git(&["status", "--porcelain"]);
        let MergeResult::Waits { reason } = project.merge(MergeMethod::Rebase) else {
            panic!("it waits")
        };
        assert!(reason.contains(name), "{reason}");
        assert_eq!(fs::read(project.path(name)).expect("kept"), b"mine\n");
        assert_eq!(project.git(&["status", "--porcelain"]), status);
        assert_eq!(project.git(&["rev-list", "--count", "main"]), "1");
        assert!(!project.path(".git/index.lock").exists());
    }
}

#[test]
fn merge_waits_for_git_operation_of_a_person() {
    let project = WorktreeProject::new();
    commit_work(&project);
    project.write(".git/index.lock", b"");
    let MergeResult::Waits { reason } = project.merge(MergeMethod::Squash) else {
        panic!("it waits")
    };
    assert!(reason.contains("index.lock"), "{reason}");
    fs::remove_file(project.path(".git/index.lock")).expect("removed");
    project.write(".git/MERGE_HEAD", b"");
    let MergeResult::Waits { reason } = project.merge(MergeMethod::Squash) else {
        panic!("it waits")
    };
    assert!(reason.contains("a merge is in progress"), "{reason}");
    fs::remove_file(project.path(".git/MERGE_HEAD")).expect("removed");
    merged_commit(&project.merge(MergeMethod::Squash));
    expect_merged(&project);
}

#[test]
fn merge_interrupted_anywhere_is_made_once() {
    // The state each step leaves if the merge stops after it.
    let cuts: [(&str, MergeInterruption); 5] = [
        ("the lock was taken", |project, _| {
            project.write(".git/index.lock", b"adjutant merge\n");
        }),
        ("the result was noted", |project, result| {
            project.git(&["update-ref", &format!("refs/adjutant/merging/{}", task()), result]);
            project.write(".git/index.lock", b"adjutant merge\n");
        }),
        ("some files were written", |project, result| {
            project.git(&["update-ref", &format!("refs/adjutant/merging/{}", task()), result]);
            project.write("new.txt", b"new\n");
            project.write("a.txt", b"one\nTWO\n");
            project.write(".git/index.lock", b"adjutant merge\n");
        }),
        ("all files and the index were written", |project, result| {
            project.git(&["update-ref", &format!("refs/adjutant/merging/{}", task()), result]);
            project.git(&["read-tree", "-m", "-u", "main", result]);
            project.write(".git/index.lock", b"adjutant merge\n");
        }),
        ("the base was moved", |project, result| {
            project.git(&["update-ref", &format!("refs/adjutant/merging/{}", task()), result]);
            project.git(&["read-tree", "-m", "-u", "main", result]);
            project.git(&["update-ref", "refs/heads/main", result]);
        }),
    ];
    for (what, cut) in cuts {
        let project = WorktreeProject::new();
        commit_work(&project);
        let result = project.git(&["rev-parse", &format!("adjutant/{}", task())]);
        cut(&project, &result);
        let merged = project.merge(MergeMethod::Rebase);
        assert!(matches!(merged, MergeResult::Done { .. }), "{what}: {merged:?}");
        assert_eq!(subjects(&project), "first new two three", "{what}");
        expect_merged(&project);
        assert!(!project.path(".git/index.lock").exists() || what.contains("base"), "{what}");
    }
}

#[test]
fn merge_to_base_not_checked_out_leaves_files_alone() {
    let project = WorktreeProject::new();
    commit_work(&project);
    project.git(&["checkout", "-q", "-b", "elsewhere"]);
    project.write("a.txt", b"mine\n");
    merged_commit(&project.merge(MergeMethod::Rebase));
    assert_eq!(subjects(&project), "first new two three");
    assert_eq!(fs::read(project.path("a.txt")).expect("kept"), b"mine\n");
}
