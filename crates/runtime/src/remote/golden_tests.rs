//! Golden files of what is posted to an agent that is called by HTTP.

use adjutant_test_support::golden::GoldenFolder;

use super::{Errand, head, order};
use crate::daemon::{Held, Holder, Place};

#[test]
fn webhook_agent_posts_match_golden_files() {
    let root = tempfile::tempdir().expect("a temporary folder");
    std::fs::create_dir(root.path().join("journal")).expect("a folder");
    let errand = Errand {
        root: root.path().to_owned(),
        task: "TASK-2026-02-09-001".into(),
        agent: "swe".into(),
        attempt: 2,
        token: "3-0123456789abcdef0123456789abcdef".into(),
        order: "# Work order: Mend it\n".into(),
    };
    let alone = order(&errand);
    // The address counts only while the daemon that wrote it lives.
    let (pid, since) = (std::process::id(), "2026-02-09T20:30:00.250Z".to_owned());
    let me = Holder { pid, since, version: "0.1.0".into(), only: None };
    let _held = Held::take(root.path(), &me).expect("no other daemon");
    let place = Place { pid, url: "http://127.0.0.1:8080".into(), login: String::new() };
    place.write(root.path()).expect("it is written");
    let mut golden = GoldenFolder::new("ipc/webhook-agent");
    golden.add("order.jsonl", format!("{alone}\n{}\n", order(&errand)));
    golden.add("cancel.json", format!("{}\n", head("cancel", &errand)));
    golden.check();
}
