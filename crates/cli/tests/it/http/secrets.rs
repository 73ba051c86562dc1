//! Secrets of Adjutant and of the operator: where they came in, where they must not come out.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::http::project::{HttpProject, ListeningDaemon};

/// Looks like the key of a well-known service.
const KEY: &str = "ghp_aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3kM5";

/// Prints and reports every secret that it can find.
const LEAKY_AGENT: &str = r#"
[agents.leaky]
kind = "command"
sandbox = "none"
command = ["sh", "-c", '''
secrets="$(cat "$ADJUTANT_DATA/operator-token" "$ADJUTANT_DATA/secret") $ADJUTANT_RUN_TOKEN"
echo "printed: $secrets"
printf 'sk-\033[0maB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3kM5\n'
adjutant report progress "progress: $(echo $secrets)"
adjutant report done --notes "notes: $(echo $secrets)"
''']
"#;

/// Returns the secrets of a project: the operator's token, the secret of run tokens and the code of
/// the sign-in link.
fn own_secrets(stage: &HttpProject, up: &ListeningDaemon) -> [String; 3] {
    let secret = fs::read_to_string(stage.path("secret")).expect("a secret");
    let (_, code) = up.login.split_once("code=").expect("a code");
    [up.token.clone(), secret.trim().to_owned(), code.to_owned()]
}

/// Asserts that no file of the project has any of the secrets.
fn assert_not_stored(folder: &Path, secrets: &[String]) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let is_own = ["operator-token", "secret", "http"].iter().any(|own| name == *own);
        if path.is_dir() {
            assert_not_stored(&path, secrets);
        } else if path.is_file() && !is_own {
            let bytes = fs::read(&path).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            for secret in secrets {
                assert!(!text.contains(secret), "{} has {secret}: {text}", path.display());
            }
        }
    }
}

fn run_tokens(text: &str) -> Vec<&str> {
    let is_token = |word: &&str| {
        word.split_once('-').is_some_and(|(fence, code)| {
            fence.parse::<u64>().is_ok()
                && code.len() == 32
                && code.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    };
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').filter(is_token).collect()
}

#[test]
fn own_secret_is_stored_nowhere_and_in_no_answer() {
    let stage = HttpProject::with_settings(LEAKY_AGENT);
    let up = stage.up();
    let secrets = own_secrets(&stage, &up);
    let all = secrets.join(" ");
    let id = stage.add(&[&format!("title {all}"), "--body", &format!("body {all}")]);
    let title = stage.json(&["task", "show", &id])["title"].clone();
    assert_eq!(title, json!("title **** **** ****"));
    let posted =
        up.call("POST", "/v1/tasks", &json!({"title": format!("posted {all}")}).to_string());
    assert_eq!(posted.json()["title"], json!("posted **** **** ****"), "{posted:?}");
    let run = stage.add(&["work", "--agent", "leaky", "--status", "ready"]);
    stage.wait_for("task.completed", 1);
    stage.wait_for("run.exited", 1);
    for path in [
        "/v1/tasks".to_owned(),
        format!("/v1/tasks/{run}"),
        format!("/v1/tasks/{id}"),
        "/v1/events".to_owned(),
        "/v1/inbox".to_owned(),
    ] {
        let answer = up.get(&path).text();
        assert!(!secrets.iter().any(|secret| answer.contains(secret)), "{path}: {answer}");
        assert_eq!(run_tokens(&answer), [""; 0], "{path}: {answer}");
    }
    let log = stage.ok(&["logs", &run]);
    assert!(log.contains("printed: ****") && log.contains("sk-"), "{log}");
    assert!(!log.contains("aB3dE5gH7jK9"), "a key that is split by an escape code: {log}");
    drop(up);
    stage.ok(&["doctor"]);
    assert_not_stored(&stage.path(""), &secrets);
    let events = fs::read_dir(stage.path("events")).expect("a folder").flatten();
    for day in events {
        let text = fs::read_to_string(day.path()).expect("a text");
        assert_eq!(run_tokens(&text), [""; 0], "{text}");
    }
}

#[test]
fn own_secret_in_a_file_by_hand_is_redacted_when_it_is_read() {
    let stage = HttpProject::new();
    let up = stage.up();
    let secrets = own_secrets(&stage, &up);
    let id = stage.add(&["by hand"]);
    let path = stage.path(&format!("tasks/backlog/{id}.md"));
    let text = fs::read_to_string(&path).expect("a task");
    fs::write(&path, text.replace("by hand", &format!("by {}", secrets[0]))).expect("written");
    stage.wait_for("task.edited", 1);
    let answer = up.get(&format!("/v1/tasks/{id}")).text();
    assert!(answer.contains("by ****") && !answer.contains(&secrets[0]), "{answer}");
    let events = stage.ok(&["events", "--json"]);
    assert!(!events.contains(&secrets[0]), "{events}");
    drop(up);
    stage.ok(&["doctor"]);
    assert_eq!(stage.events("task.edited").len(), 1, "the edit is found once");
}

#[test]
fn title_and_note_that_look_like_keys_are_not_on_the_board() {
    let stage = HttpProject::new();
    let up = stage.up();
    let id = stage.add(&[&format!("use {KEY}"), "--status", "ready"]);
    let sent = json!({
        "protocol": "aof", "version": 1, "type": "status.update", "taskId": id,
        "fromAgent": "swe", "toAgent": "router", "sentAt": "2026-02-09T21:00:00Z",
        "payload": {"taskId": id, "agentId": "swe", "notes": format!("the note {KEY}")},
    });
    assert_eq!(up.call("POST", "/v1/messages", &sent.to_string()).status, 200);
    let path = up.login.strip_prefix(&up.url).expect("a path");
    let signed = up.call_with("GET", path, &[], b"");
    let cookie = signed.header("set-cookie").expect("a cookie").to_owned();
    let cookie = cookie.split(';').next().unwrap_or_default();
    for path in ["/".to_owned(), format!("/tasks/{id}"), "/inbox".to_owned(), "/record".to_owned()]
    {
        let page = up.call_with("GET", &path, &[("Cookie", cookie)], b"").text();
        assert!(page.contains("Adjutant") && !page.contains(KEY), "{path}: {page}");
    }
}
