//! Merging: what the base becomes, whose work is left alone, and what a cut in the middle leaves.

use std::fs;

use adjutant_core::evidence::{Check, Evidence};
use adjutant_core::run::Exit;
use adjutant_core::work::Merged;
use adjutant_runtime::worktree::How;

use crate::worktree::support::{Project, git, task};

/// Leaves what a merge to a commit would have left, had it been cut off somewhere.
type Cut = fn(&Project, &str);

/// Commits work on the branch of the task: a new file, then a change of another.
fn work(project: &Project) {
    let tree = project.prepare(1).expect("made").tree;
    fs::write(tree.join("new.txt"), "new\n").expect("written");
    git(&tree, &["add", "."]);
    git(&tree, &["commit", "-qm", "new"]);
    fs::write(tree.join("a.txt"), "one\nTWO\n").expect("written");
    git(&tree, &["commit", "-qam", "two"]);
    fs::remove_file(tree.join(".gitignore")).expect("removed");
    git(&tree, &["commit", "-qam", "three"]);
}

fn move_base(project: &Project, name: &str, text: &str) {
    project.write(name, text.as_bytes());
    project.git(&["add", name]);
    project.git(&["commit", "-qm", "meanwhile"]);
}

fn done(merged: &Merged) -> &str {
    match merged {
        Merged::Done { commit, .. } => commit,
        other => panic!("{other:?}"),
    }
}

fn subjects(project: &Project) -> String {
    project.git(&["log", "--format=%s", "--reverse", "main"]).replace('\n', " ")
}

/// Makes sure that the work is in the base, in the index and in the files, and nothing else is.
fn is_whole(project: &Project) {
    assert_eq!(fs::read_to_string(project.path("a.txt")).expect("read"), "one\nTWO\n");
    assert_eq!(fs::read_to_string(project.path("new.txt")).expect("read"), "new\n");
    assert!(!project.path(".gitignore").exists());
    assert_eq!(project.git(&["status", "--porcelain", "--", ":!.adjutant"]), "");
    assert_eq!(project.git(&["fsck", "--no-dangling"]), "");
    let left = project.git(&["for-each-ref", "--format=%(refname)", "refs/adjutant/merging"]);
    assert_eq!(left, "");
}

#[test]
fn each_way_leads_where_it_says() {
    for (how, expected) in [
        (How::Ff, "first new two three"),
        (How::Rebase, "first new two three"),
        (How::Squash, "first Do it"),
    ] {
        let project = Project::new();
        work(&project);
        let merged = project.merge(how);
        assert_eq!(done(&merged), project.git(&["rev-parse", "main"]));
        assert_eq!(subjects(&project), expected, "{how:?}");
        is_whole(&project);
        assert_eq!(done(&project.merge(how)), project.git(&["rev-parse", "main"]), "once");
        assert_eq!(subjects(&project), expected, "{how:?}");
    }
}

#[test]
fn on_a_base_that_has_moved_work_is_made_anew() {
    for (how, expected) in
        [(How::Rebase, "first meanwhile new two three"), (How::Squash, "first meanwhile Do it")]
    {
        let project = Project::new();
        work(&project);
        move_base(&project, "other.txt", "other\n");
        done(&project.merge(how));
        assert_eq!(subjects(&project), expected, "{how:?}");
        is_whole(&project);
        project.yard().tidy(&task(), 1).expect("tidied");
        assert_eq!(project.git(&["branch", "--list", "adjutant/*"]), "");
        let kept = format!("refs/adjutant/merged/{}", task());
        assert_eq!(project.git(&["log", "-1", "--format=%s", &kept]), "three");
    }
    let project = Project::new();
    work(&project);
    move_base(&project, "other.txt", "other\n");
    let Merged::Refused { reason, .. } = project.merge(How::Ff) else { panic!("it is refused") };
    assert!(reason.contains("git rebase main"), "{reason}");
}

#[test]
fn a_conflict_names_its_files_and_changes_nothing() {
    for how in [How::Rebase, How::Squash] {
        let project = Project::new();
        work(&project);
        move_base(&project, "a.txt", "one\n2\n");
        let before = project.git(&["rev-parse", "main"]);
        let Merged::Refused { files, reason } = project.merge(how) else { panic!("a conflict") };
        assert_eq!(files, ["a.txt"], "{how:?}");
        assert!(reason.contains("a.txt"), "{reason}");
        assert_eq!(project.git(&["rev-parse", "main"]), before);
        assert_eq!(fs::read_to_string(project.path("a.txt")).expect("read"), "one\n2\n");
    }
}

#[test]
fn checks_are_run_on_the_result_before_the_base_moves() {
    let project = Project::new();
    work(&project);
    move_base(&project, "other.txt", "other\n");
    let before = project.git(&["rev-parse", "main"]);
    let seen = std::cell::RefCell::new(Vec::new());
    let check = |code: i32| {
        let (seen, before, project) = (&seen, &before, &project);
        move |at: &std::path::Path| {
            let both = at.join("other.txt").exists() && at.join("new.txt").exists();
            seen.borrow_mut().push(both && project.git(&["rev-parse", "main"]) == *before);
            fs::write(at.join("litter"), "x").expect("written");
            let exit = Exit::Code(code);
            let (command, tail, log) = ("make".to_owned(), "no".to_owned(), String::new());
            let check = Check { command, exit, duration_ms: 1, tail, log };
            Evidence { checks: vec![check], ..Evidence::default() }
        }
    };
    let refused = project.merge_checking(How::Rebase, Some(&check(2)));
    let Merged::Refused { reason, .. } = refused else { panic!("{refused:?}") };
    assert!(reason.contains("`make`: exit code 2: no"), "{reason}");
    assert_eq!(project.git(&["rev-parse", "main"]), before);
    done(&project.merge_checking(How::Rebase, Some(&check(0))));
    is_whole(&project);
    assert_eq!(*seen.borrow(), [true, true]);
    assert!(project.yard().saved(None).expect("listed").is_empty(), "litter is nobody's work");
}

#[test]
fn what_a_person_did_not_commit_is_not_touched() {
    // A file the work changes, one it removes, one it adds; and one that is only marked.
    for (name, marked) in
        [("a.txt", false), (".gitignore", false), ("new.txt", false), ("a.txt", true)]
    {
        let project = Project::new();
        work(&project);
        project.write(name, b"mine\n");
        if marked {
            project.git(&["add", name]);
        }
        let status = project.git(&["status", "--porcelain"]);
        let Merged::Waits { reason } = project.merge(How::Rebase) else { panic!("it waits") };
        assert!(reason.contains(name), "{reason}");
        assert_eq!(fs::read(project.path(name)).expect("kept"), b"mine\n");
        assert_eq!(project.git(&["status", "--porcelain"]), status);
        assert_eq!(project.git(&["rev-list", "--count", "main"]), "1");
        assert!(!project.path(".git/index.lock").exists());
    }
}

#[test]
fn a_person_in_the_middle_of_something_is_waited_for() {
    let project = Project::new();
    work(&project);
    project.write(".git/index.lock", b"");
    let Merged::Waits { reason } = project.merge(How::Squash) else { panic!("it waits") };
    assert!(reason.contains("index.lock"), "{reason}");
    fs::remove_file(project.path(".git/index.lock")).expect("removed");
    project.write(".git/MERGE_HEAD", b"");
    let Merged::Waits { reason } = project.merge(How::Squash) else { panic!("it waits") };
    assert!(reason.contains("a merge is under way"), "{reason}");
    fs::remove_file(project.path(".git/MERGE_HEAD")).expect("removed");
    done(&project.merge(How::Squash));
    is_whole(&project);
}

#[test]
fn a_merge_that_was_cut_off_anywhere_is_made_once() {
    // What each step leaves behind, if nothing comes after it.
    let cuts: [(&str, Cut); 5] = [
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
        let project = Project::new();
        work(&project);
        let result = project.git(&["rev-parse", &format!("adjutant/{}", task())]);
        cut(&project, &result);
        let merged = project.merge(How::Rebase);
        assert!(matches!(merged, Merged::Done { .. }), "{what}: {merged:?}");
        assert_eq!(subjects(&project), "first new two three", "{what}");
        is_whole(&project);
        assert!(!project.path(".git/index.lock").exists() || what.contains("base"), "{what}");
    }
}

#[test]
fn a_base_that_nobody_has_checked_out_moves_alone() {
    let project = Project::new();
    work(&project);
    project.git(&["checkout", "-q", "-b", "elsewhere"]);
    project.write("a.txt", b"mine\n");
    done(&project.merge(How::Rebase));
    assert_eq!(subjects(&project), "first new two three");
    assert_eq!(fs::read(project.path("a.txt")).expect("kept"), b"mine\n");
}
