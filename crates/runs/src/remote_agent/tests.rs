//! Golden files of the posts to a webhook agent.

use adjutant_run_files::daemon_lock::{DaemonInfo, DaemonLock};
use adjutant_run_files::http_endpoint::HttpEndpointFile;
use adjutant_test_support::golden::GoldenFolder;

use super::{RemoteRun, message_head, order_message};

#[test]
fn webhook_agent_posts_match_golden_files() {
    let root = tempfile::tempdir().expect("a temporary folder");
    std::fs::create_dir(root.path().join("journal")).expect("a folder");
    let errand = RemoteRun {
        root: root.path().to_owned(),
        task: "TASK-2026-02-09-001".into(),
        agent: "swe".into(),
        attempt: 2,
        token: "3-0123456789abcdef0123456789abcdef".into(),
        order: "# Work order: Mend it\n".into(),
    };
    let alone = order_message(&errand);
    // The endpoint file counts only while the daemon that wrote it lives.
    let (pid, since) = (std::process::id(), "2026-02-09T20:30:00.250Z".to_owned());
    let me = DaemonInfo { pid, since, version: "0.1.0".into(), only: None };
    let _held = DaemonLock::take(root.path(), &me).expect("no other daemon");
    let place = HttpEndpointFile { pid, url: "http://127.0.0.1:8080".into(), login: String::new() };
    place.write(root.path()).expect("it is written");
    let mut golden = GoldenFolder::new("ipc/webhook-agent");
    golden.add("order.jsonl", format!("{alone}\n{}\n", order_message(&errand)));
    golden.add("cancel.json", format!("{}\n", message_head("cancel", &errand)));
    golden.check();
}
