//! Golden files of the workspace baseline.

use adjutant_test_support::assert_every_variant;
use adjutant_test_support::golden::GoldenFolder;

use super::super::fingerprint::ContentFingerprint;
use super::{BytePath, FILE, FolderListing, RepositoryBaseline, WorkspaceBaseline, WorkspaceState};

fn fingerprints() -> Vec<ContentFingerprint> {
    let sha = "0123456789abcdef".to_owned();
    let all = vec![
        ContentFingerprint::Absent,
        ContentFingerprint::Content { size: 3, run: false, sha: sha.clone() },
        ContentFingerprint::Content { size: 3, run: true, sha: sha.clone() },
        ContentFingerprint::Link(sha),
        ContentFingerprint::Times {
            size: 3,
            mode: 0o100_644,
            times: (1_770_669_000_000_000_000, -1),
        },
    ];
    assert_every_variant!(&all, ContentFingerprint { Absent, Content, Link, Times });
    all
}

/// Files with valid UTF-8 names and, last, one without.
fn files() -> serde_json::Value {
    let names = [&b"a"[..], b"b c.rs", b"\xc3\xbc", b"d", b"\xff\xfe"].map(BytePath::new);
    serde_json::to_value(names.into_iter().zip(fingerprints()).collect::<Vec<_>>())
        .expect("it makes JSON")
}

/// A `RepositoryBaseline` can only be made from a real repository or by reading its stored form.
fn repository() -> RepositoryBaseline {
    let commit = "0123456789abcdef0123456789abcdef01234567";
    let kept = serde_json::json!({
        "named": BytePath::new(b"sub"), "top": BytePath::new(b"/p"), "gitDir": BytePath::new(b"/p/.git"),
        "commonDir": BytePath::new(b"/p/.git"), "shadow": "baseline.0", "head": commit,
        "tips": [commit], "dirty": files(), "nested": [BytePath::new(b"lib")],
        "rules": [[BytePath::new(b".gitignore"), "target/"]],
    });
    serde_json::from_value(kept).expect("a repository")
}

#[test]
fn workspace_baseline_matches_golden_files() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let listing: FolderListing =
        serde_json::from_value(serde_json::json!({"files": files()})).expect("a listing");
    let states = [
        WorkspaceState::Repositories(vec![repository()]),
        WorkspaceState::Folder(listing),
        WorkspaceState::Unseen("the run has no constraints to compare".into()),
    ];
    assert_every_variant!(&states, WorkspaceState { Repositories, Folder, Unseen });
    let each = states.map(|state| {
        let (workspace, data) = (BytePath::new(b"/p"), BytePath::new(b"/p/.adjutant"));
        let baseline = WorkspaceBaseline { version: 1, workspace, data, state };
        baseline.save(folder.path()).expect("it is written");
        assert_eq!(WorkspaceBaseline::load(folder.path()).expect("it is read"), baseline);
        std::fs::read_to_string(folder.path().join(FILE)).expect("its text") + "\n"
    });
    let mut golden = GoldenFolder::new("run-files/workspace");
    golden.add(FILE, each.concat());
    golden.check();
}
