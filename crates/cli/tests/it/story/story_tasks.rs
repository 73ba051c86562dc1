//! Stories in a project with a data folder: the inbox, the daemon and the story's task.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::story::support::{StoryTestProject, adjutant, answer, minutes_ago, story_position_text};

fn project() -> StoryTestProject {
    let project = StoryTestProject::with_story();
    let made = adjutant().arg("init").arg(project.root()).output().expect("it starts");
    assert!(made.status.success(), "{made:?}");
    project
}

fn inbox(project: &StoryTestProject) -> Vec<Value> {
    let mut command = adjutant();
    let output = command.args(["inbox", "--json"]).current_dir(project.root()).output();
    answer(&output.expect("it starts")).1.as_array().expect("a list").clone()
}

#[test]
fn story_review_is_in_inbox_with_changes() {
    let project = project();
    project.init_git();
    project.write("a.txt", "one\n");
    project.git(&["add", "a.txt"]);
    project.git(&["commit", "-q", "-m", "begin"]);
    project.json(&["start", "US-005", "--force"]);
    assert_eq!(inbox(&project), [json!(null); 0]);
    project.write("a.txt", "one\ntwo\n");
    let tests = json!({"pass": 3, "fail": 1, "skip": 0});
    let failing = json!(["sums"]);
    project.update_state(&json!({"step": "contract", "status": "pass", "tests": tests}));
    project.update_state(&json!({"failing_tests": failing}));
    project.json(&["next"]);
    let items = inbox(&project);
    let [item] = items.as_slice() else { panic!("{items:?}") };
    assert_eq!(
        (&item["kind"], &item["story"], &item["step"]),
        (&json!("review"), &json!("US-005"), &json!("review"))
    );
    let text = item["text"].as_str().expect("a text");
    assert!(
        text.starts_with("US-005: review waits for a person") && text.contains("1 insertion"),
        "{text}"
    );
    let id = item["taskId"].as_str().expect("an id");
    assert_eq!(item["actions"][0], format!("approve {id} --note TEXT"));
    let files = item["changed"]["files"].as_array().expect("a list");
    assert!(files.contains(&json!("a.txt")), "{files:?}");
    assert_eq!((&item["tests"], &item["failing_tests"]), (&tests, &failing));
    let shown = adjutant().arg("inbox").current_dir(project.root()).output().expect("it starts");
    let shown = String::from_utf8_lossy(&shown.stdout);
    for line in ["tests: 3 passed, 1 failed, 0 skipped\n", "fails: sums\n", "changed: a.txt\n"] {
        assert!(shown.contains(line), "{line:?} in {shown}");
    }
    project.json(&["approve"]);
    assert_eq!(inbox(&project).len(), 0);
    project.json(&["next"]);
    project.update_state(&json!({"dispatched_at": minutes_ago(60)}));
    project.json(&["poll"]);
    let text = inbox(&project)[0]["text"].clone();
    assert_eq!(
        text.as_str().map(|text| text.split(" (").next()),
        Some(Some("US-005: scaffold timed out: no report within 5 minutes"))
    );
}

#[test]
fn daemon_times_out_slow_story_executor() {
    let project = project();
    project.write(".adjutant/adjutant.toml", "[scheduler]\npoll = \"50ms\"\n");
    project.json(&["next"]);
    let mut up = adjutant();
    let up = up.arg("up").current_dir(project.root()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut up = up.spawn().expect("it starts");
    project.update_state(&json!({"dispatched_at": minutes_ago(6)}));
    let until = Instant::now() + Duration::from_mins(1);
    while story_position_text(&project.state()) != "bdd 1 timeout" && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    let seen = story_position_text(&project.state());
    up.kill().expect("it can be killed");
    up.wait().expect("it ends");
    assert_eq!(seen, "bdd 1 timeout");
}

fn run(project: &StoryTestProject, args: &[&str]) -> (i32, Value) {
    let mut command = adjutant();
    command.args(args).arg("--json").current_dir(project.root());
    answer(&command.output().expect("it starts"))
}

#[test]
fn story_has_a_task_from_start_to_end() {
    let project = project();
    let status = || run(&project, &["task", "show", "US-005"]).1["status"].clone();
    project.json(&["start", "US-005", "--force"]);
    assert_eq!(status(), "ready");
    project.json(&["next"]);
    assert_eq!(status(), "in-progress");
    project.hand_over("pass");
    project.json(&["hook"]);
    assert_eq!(status(), "ready");
    project.update_state(&json!({"step": "contract"}));
    project.json(&["next"]);
    assert_eq!(status(), "review");
    project.json(&["reject", "needs_clarification"]);
    assert_eq!(status(), "ready");
    project.json(&["next"]);
    project.update_state(&json!({"dispatched_at": minutes_ago(60)}));
    project.json(&["poll"]);
    assert_eq!(status(), "blocked");
    project.update_state(&json!({"step": "update-memory", "status": "pass"}));
    project.json(&["next"]);
    assert_eq!(status(), "done");
    // A done task is final: a reopened story gets another task.
    let first = run(&project, &["task", "show", "US-005"]).1["id"].clone();
    project.json(&["reopen", "US-005", "--step", "impl"]);
    assert_eq!(status(), "ready");
    assert_ne!(run(&project, &["task", "show", "US-005"]).1["id"], first);
    let (_, events) = run(&project, &["task", "list"]);
    assert_eq!(events.as_array().map(Vec::len), Some(2));
}

#[test]
fn story_follows_approve_and_reject_of_its_task() {
    let project = project();
    let review = || {
        project.update_state(&json!({"step": "contract", "status": "pass"}));
        project.json(&["next"]);
    };
    review();
    let (code, task) = run(&project, &["approve", "US-005", "--note", "whole numbers"]);
    assert_eq!((code, &task["status"]), (0, &json!("ready")), "{task}");
    assert_eq!(story_position_text(&project.state()), "review 1 pass");
    assert_eq!(project.state()["human_note"], "whole numbers");
    review();
    let (code, _) = run(&project, &["reject", "US-005", "--reason", "scope_warning: too wide"]);
    assert_eq!(
        (code, story_position_text(&project.state())),
        (0, "sdd-delta 1 pending".to_owned())
    );
    assert_eq!(project.state()["human_note"], "too wide");
    review();
    let (code, _) = run(&project, &["reject", "US-005", "--reason", "not what I meant"]);
    assert_eq!(
        (code, story_position_text(&project.state())),
        (0, "bdd 1 pending".to_owned()),
        "the default route"
    );
    assert_eq!(project.state()["human_note"], "not what I meant");
    // Refused: an approval that no step waits for, and a status that only the files can set.
    for args in [&["approve", "US-005"][..], &["task", "move", "US-005", "blocked"]] {
        let before = project.read(".ai/STATE.json");
        let (code, said) = run(&project, args);
        assert_eq!((code, &said["error"]["code"]), (1, &json!("story_owned")), "{said}");
        assert_eq!(project.read(".ai/STATE.json"), before);
    }
}

#[test]
fn story_whose_dependency_was_cancelled_says_so() {
    let project = project();
    project.json(&["start", "US-006", "--blocked-by", "US-005"]);
    run(&project, &["task", "cancel", "US-005"]);
    let (_, why) = run(&project, &["why", "US-006"]);
    let reason = &why["reasons"][0];
    assert_eq!(reason["code"], "dependency_given_up", "{why}");
    let text = reason["text"].as_str().expect("a text");
    assert!(text.contains("US-005, which will not be done (cancelled)"), "{text}");
    let why = project.json(&["why", "--story", "US-006"]);
    assert!(why["reasons"].to_string().contains("will not be done (cancelled)"), "{why}");
    assert!(!why["reasons"].to_string().contains("story_waits"), "{why}");
}
