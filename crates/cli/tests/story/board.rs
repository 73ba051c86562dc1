//! Stories next to a data folder: the inbox and the daemon know of them.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Project, adjutant, answer, minutes_ago, place};

fn project() -> Project {
    let project = Project::with_story();
    let made = adjutant().arg("init").arg(project.root()).output().expect("it starts");
    assert!(made.status.success(), "{made:?}");
    project
}

fn inbox(project: &Project) -> Vec<Value> {
    let mut command = adjutant();
    let output = command.args(["inbox", "--json"]).current_dir(project.root()).output();
    answer(&output.expect("it starts")).1.as_array().expect("a list").clone()
}

#[test]
fn what_waits_for_a_person_is_in_the_inbox_with_what_changed() {
    let project = project();
    project.in_git();
    project.write("a.txt", "one\n");
    project.git(&["add", "a.txt"]);
    project.git(&["commit", "-q", "-m", "begin"]);
    project.json(&["start", "US-005", "--force"]);
    assert_eq!(inbox(&project), [json!(null); 0]);
    project.write("a.txt", "one\ntwo\n");
    project.set(&json!({"step": "contract", "status": "pass"}));
    project.json(&["next"]);
    let items = inbox(&project);
    let [item] = items.as_slice() else { panic!("{items:?}") };
    assert_eq!(
        (&item["kind"], &item["taskId"], &item["step"]),
        (&json!("story"), &json!("US-005"), &json!("review"))
    );
    let text = item["text"].as_str().expect("a text");
    assert!(
        text.starts_with("review waits for a person") && text.contains("1 insertion"),
        "{text}"
    );
    assert_eq!(item["actions"][0], "story approve --story US-005");
    let files = item["changed"]["files"].as_array().expect("a list");
    assert!(files.contains(&json!("a.txt")), "{files:?}");
    project.json(&["approve"]);
    assert_eq!(inbox(&project).len(), 0);
    project.json(&["next"]);
    project.set(&json!({"dispatched_at": minutes_ago(60)}));
    project.json(&["poll"]);
    let text = inbox(&project)[0]["text"].clone();
    assert_eq!(
        text.as_str().map(|text| text.split(" (").next()),
        Some(Some("scaffold took too long: no report within 5 minutes"))
    );
}

#[test]
fn the_daemon_gives_up_executors_that_take_too_long() {
    let project = project();
    project.write(".adjutant/adjutant.toml", "[scheduler]\npoll = \"50ms\"\n");
    project.json(&["next"]);
    let mut up = adjutant();
    let up = up.arg("up").current_dir(project.root()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut up = up.spawn().expect("it starts");
    project.set(&json!({"dispatched_at": minutes_ago(6)}));
    let until = Instant::now() + Duration::from_mins(1);
    while place(&project.state()) != "bdd 1 timeout" && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    let seen = place(&project.state());
    up.kill().expect("it can be killed");
    up.wait().expect("it ends");
    assert_eq!(seen, "bdd 1 timeout");
}
