//! Where a daemon listens, and where it does not.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use crate::http::stage::Stage;

fn failed(stage: &Stage, args: &[&str]) -> String {
    let output = stage.command(&[&["up"], args].concat()).output().expect("it starts");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn an_address_that_was_asked_for_is_had_or_the_daemon_does_not_start() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let stage = Stage::new();
    let said = failed(&stage, &["--listen", &address]);
    assert!(
        said.contains(&format!("cannot listen at {address}")) && said.contains("hint:"),
        "{said}"
    );
    assert_eq!(stage.json(&["status"])["running"], false);
    let stage = Stage::with(&format!("[server]\nlisten = \"{address}\"\n"));
    assert!(failed(&stage, &[]).contains(&format!("cannot listen at {address}")));
}

#[test]
fn two_projects_on_one_machine_both_get_an_address() {
    let (one, two) = (Stage::new(), Stage::new());
    let (first, second) = (one.up_with(&[]), two.up_with(&[]));
    assert_ne!(first.url, second.url);
    assert_eq!(one.json(&["status"])["url"], first.url);
    assert_eq!(two.json(&["status"])["url"], second.url);
    first.call_as(&second.token, "GET", "/v1/tasks", "").is_problem(401, "unauthenticated");
    first.kill();
    assert_eq!(
        one.json(&["status"])["url"],
        serde_json::Value::Null,
        "what it left counts for nothing"
    );
}

#[test]
fn elsewhere_than_here_it_listens_only_with_a_token_that_somebody_made() {
    let stage = Stage::new();
    let said = failed(&stage, &["--listen", "0.0.0.0:0"]);
    assert!(said.contains("nobody has set up a token") && said.contains("umask 077"), "{said}");
    assert!(!stage.path("operator-token").exists());
    std::fs::write(stage.path("operator-token"), "x".repeat(40)).expect("written");
    std::fs::set_permissions(stage.path("operator-token"), std::fs::Permissions::from_mode(0o644))
        .expect("changed");
    let said = failed(&stage, &["--listen", "0.0.0.0:0"]);
    assert!(said.contains("can be read by others") && said.contains("chmod 600"), "{said}");
    std::fs::set_permissions(stage.path("operator-token"), std::fs::Permissions::from_mode(0o600))
        .expect("changed");
    let up = stage.up_with(&["--listen", "0.0.0.0:0"]);
    assert_eq!(up.get("/v1/tasks").status, 200);
}

#[test]
fn a_daemon_can_be_told_not_to_listen_and_cleans_up_after_itself() {
    let stage = Stage::new();
    stage.ok(&["up", "--detach", "--listen", "off"]);
    assert_eq!(stage.json(&["status"])["url"], serde_json::Value::Null);
    stage.ok(&["down"]);
    stage.ok(&["up", "--until-idle"]);
    assert!(!stage.path("operator-token").exists(), "nobody listened");
    let said = stage.json(&["up", "--detach", "--listen", "127.0.0.1:0"]);
    assert_eq!(stage.json(&["status"])["url"], said["url"]);
    let mode = stage.path("operator-token").metadata().expect("a token").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(stage.ok(&["status"]).contains(said["url"].as_str().expect("an address")));
    stage.ok(&["down"]);
    assert!(!stage.path("journal/http").exists());
}
