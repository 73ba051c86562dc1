//! The address that a daemon listens on.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use crate::http::project::HttpProject;

fn failed(stage: &HttpProject, args: &[&str]) -> String {
    let output = stage.command(&[&["up"], args].concat()).output().expect("it starts");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn listen_address_in_use_fails_startup() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let stage = HttpProject::new();
    let said = failed(&stage, &["--listen", &address]);
    assert!(
        said.contains(&format!("cannot listen on {address}")) && said.contains("hint:"),
        "{said}"
    );
    assert_eq!(stage.json(&["status"])["running"], false);
    let stage = HttpProject::with_settings(&format!("[server]\nlisten = \"{address}\"\n"));
    assert!(failed(&stage, &[]).contains(&format!("cannot listen on {address}")));
}

#[test]
fn listen_addresses_of_two_projects_differ() {
    let (one, two) = (HttpProject::new(), HttpProject::new());
    let (first, second) = (one.up_with(&[]), two.up_with(&[]));
    assert_ne!(first.url, second.url);
    assert_eq!(one.json(&["status"])["url"], first.url);
    assert_eq!(two.json(&["status"])["url"], second.url);
    first.call_as(&second.token, "GET", "/v1/tasks", "").assert_problem(401, "unauthenticated");
    first.kill();
    assert_eq!(
        one.json(&["status"])["url"],
        serde_json::Value::Null,
        "what it left counts for nothing"
    );
}

#[test]
fn listen_on_public_address_needs_operator_token() {
    let stage = HttpProject::new();
    let said = failed(&stage, &["--listen", "0.0.0.0:0"]);
    assert!(said.contains("no token file was created") && said.contains("umask 077"), "{said}");
    assert!(!stage.path("operator-token").exists());
    std::fs::write(stage.path("operator-token"), "x".repeat(40)).expect("written");
    std::fs::set_permissions(stage.path("operator-token"), std::fs::Permissions::from_mode(0o644))
        .expect("changed");
    let said = failed(&stage, &["--listen", "0.0.0.0:0"]);
    assert!(
        said.contains("users other than the owner can read") && said.contains("chmod 600"),
        "{said}"
    );
    std::fs::set_permissions(stage.path("operator-token"), std::fs::Permissions::from_mode(0o600))
        .expect("changed");
    let up = stage.up_with(&["--listen", "0.0.0.0:0"]);
    assert_eq!(up.get("/v1/tasks").status, 200);
}

#[test]
fn listen_off_serves_nothing_and_token_is_private() {
    let stage = HttpProject::new();
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
