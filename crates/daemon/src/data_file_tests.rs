//! Golden files of small files in the data folder that processes of one machine share.

use std::fs;
use std::path::Path;

use adjutant_config::run_token::TokenSecret;
use adjutant_model::evidence::WorkEvidence;
use adjutant_test_support::golden::GoldenFolder;
use adjutant_testkit::golden_samples::{evidence, task};

use crate::{DaemonInfo, DaemonLock, HttpEndpointFile};

fn holder(only: Option<&str>) -> DaemonInfo {
    DaemonInfo {
        pid: 4711,
        since: "2026-02-09T20:30:00.250Z".into(),
        version: "0.1.0".into(),
        only: only.map(str::to_owned),
    }
}

fn daemon_file(root: &Path) -> String {
    let each = [None, Some("US-005")].map(|only| {
        let held = DaemonLock::take(root, &holder(only)).expect("no other daemon");
        let text = fs::read_to_string(root.join("journal/daemon")).expect("its text");
        drop(held);
        text
    });
    each.concat()
}

fn http_file(root: &Path) -> String {
    let place = HttpEndpointFile {
        pid: 4711,
        url: "http://127.0.0.1:8080".into(),
        login: "0123-login".into(),
    };
    place.write(root).expect("it is written");
    assert_eq!(HttpEndpointFile::read(root, 4711), Some(place));
    fs::read_to_string(root.join("journal/http")).expect("its text") + "\n"
}

/// Tokens and the mark of a folder, made from a known secret.
fn tokens(root: &Path) -> String {
    let hex = adjutant_config::run_token::hex(&(0..32).collect::<Vec<u8>>());
    fs::write(root.join("secret"), format!("{hex}\n")).expect("it is written");
    let secret = TokenSecret::open(root).expect("a secret");
    let (first, later) = (secret.token(&task(), 1, None), secret.token(&task(), u64::MAX, None));
    format!("secret: {hex}\nmark: {}\ntoken: {first}\ntoken: {later}\n", secret.folder_id())
}

fn evidence_file(evidence: &WorkEvidence) -> String {
    let text = serde_json::to_string_pretty(evidence);
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
    golden.add("evidence-bare.json", evidence_file(&WorkEvidence::default()));
    golden.add("evidence-full.json", evidence_file(&evidence()));
    golden.check();
}
