//! Small files that processes of one machine leave for each other in the data folder.

use std::fs;
use std::path::Path;

use adjutant_core::evidence::Evidence;
use adjutant_store::wire::work::EvidenceWire;
use adjutant_test_support::golden::GoldenFolder;

use super::samples::{evidence, task};
use crate::daemon::{Held, Holder, Place};
use crate::token::Secret;

fn holder(only: Option<&str>) -> Holder {
    Holder {
        pid: 4711,
        since: "2026-02-09T20:30:00.250Z".into(),
        version: "0.1.0".into(),
        only: only.map(str::to_owned),
    }
}

fn daemon_file(root: &Path) -> String {
    let each = [None, Some("US-005")].map(|only| {
        let held = Held::take(root, &holder(only)).expect("no other daemon");
        let text = fs::read_to_string(root.join("journal/daemon")).expect("its text");
        drop(held);
        text
    });
    each.concat()
}

fn http_file(root: &Path) -> String {
    let place =
        Place { pid: 4711, url: "http://127.0.0.1:8080".into(), login: "0123-login".into() };
    place.write(root).expect("it is written");
    assert_eq!(Place::of(root, 4711), Some(place));
    fs::read_to_string(root.join("journal/http")).expect("its text") + "\n"
}

/// Tokens and the mark of a folder, made from a secret that is known.
fn tokens(root: &Path) -> String {
    let hex = crate::token::hex(&(0..32).collect::<Vec<u8>>());
    fs::write(root.join("secret"), format!("{hex}\n")).expect("it is written");
    let secret = Secret::open(root).expect("a secret");
    let (first, later) = (secret.token(&task(), 1), secret.token(&task(), u64::MAX));
    format!("secret: {hex}\nmark: {}\ntoken: {first}\ntoken: {later}\n", secret.mark())
}

fn evidence_file(evidence: &Evidence) -> String {
    let text = serde_json::to_string_pretty(&EvidenceWire::from(evidence));
    text.expect("it makes JSON") + "\n"
}

#[test]
fn data_files_match_golden_files() {
    let root = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(root.path().join("journal")).expect("a folder");
    let mut golden = GoldenFolder::new("data-files");
    golden.add("journal-daemon.jsonl", daemon_file(root.path()));
    golden.add("journal-http.json", http_file(root.path()));
    golden.add("tokens.txt", tokens(root.path()));
    golden.add("evidence-bare.json", evidence_file(&Evidence::default()));
    golden.add("evidence-full.json", evidence_file(&evidence()));
    golden.check();
}
