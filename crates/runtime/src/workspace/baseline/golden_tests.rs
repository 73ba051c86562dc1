//! Golden files of what is kept about a workspace before a run.

use adjutant_test_support::assert_every_variant;
use adjutant_test_support::golden::GoldenFolder;

use super::super::fingerprint::Fingerprint;
use super::{Baseline, FILE, Listing, Name, Repository, State};

fn fingerprints() -> Vec<Fingerprint> {
    let sha = "0123456789abcdef".to_owned();
    let all = vec![
        Fingerprint::Absent,
        Fingerprint::Content { size: 3, run: false, sha: sha.clone() },
        Fingerprint::Content { size: 3, run: true, sha: sha.clone() },
        Fingerprint::Link(sha),
        Fingerprint::Times { size: 3, mode: 0o100_644, times: (1_770_669_000_000_000_000, -1) },
    ];
    assert_every_variant!(&all, Fingerprint { Absent, Content, Link, Times });
    all
}

/// Files whose names are text and, the last one, no text.
fn files() -> serde_json::Value {
    let names = [&b"a"[..], b"b c.rs", b"\xc3\xbc", b"d", b"\xff\xfe"].map(Name::new);
    serde_json::to_value(names.into_iter().zip(fingerprints()).collect::<Vec<_>>())
        .expect("it makes JSON")
}

/// What was there in a repository can only be made by looking at one, or by reading what was kept.
fn repository() -> Repository {
    let commit = "0123456789abcdef0123456789abcdef01234567";
    let kept = serde_json::json!({
        "named": Name::new(b"sub"), "top": Name::new(b"/p"), "gitDir": Name::new(b"/p/.git"),
        "commonDir": Name::new(b"/p/.git"), "shadow": "baseline.0", "head": commit,
        "tips": [commit], "dirty": files(), "nested": [Name::new(b"lib")],
        "rules": [[Name::new(b".gitignore"), "target/"]],
    });
    serde_json::from_value(kept).expect("a repository")
}

#[test]
fn workspace_baseline_matches_golden_files() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let listing: Listing =
        serde_json::from_value(serde_json::json!({"files": files()})).expect("a listing");
    let states = [
        State::Repositories(vec![repository()]),
        State::Folder(listing),
        State::Unseen("nothing was to be compared".into()),
    ];
    assert_every_variant!(&states, State { Repositories, Folder, Unseen });
    let each = states.map(|state| {
        let (workspace, data) = (Name::new(b"/p"), Name::new(b"/p/.adjutant"));
        let baseline = Baseline { version: 1, workspace, data, state };
        baseline.save(folder.path()).expect("it is written");
        assert_eq!(Baseline::load(folder.path()).expect("it is read"), baseline);
        std::fs::read_to_string(folder.path().join(FILE)).expect("its text") + "\n"
    });
    let mut golden = GoldenFolder::new("run-files/workspace");
    golden.add(FILE, each.concat());
    golden.check();
}
