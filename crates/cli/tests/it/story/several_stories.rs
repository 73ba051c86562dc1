//! Several stories in one project.

use serde_json::json;

use crate::story::support::{StoryTestProject, story_position_text};

#[test]
fn second_story_has_its_own_state_file() {
    let project = StoryTestProject::with_story();
    project.json(&["start", "US-006", "--blocked-by", "US-005"]);
    assert!(project.path(".ai/states/US-006.json").exists());
    assert_eq!(project.run_refused(&["next"]), (1, "several_stories".to_owned()));
    let blocked = project.json(&["next", "--story", "US-006"]);
    assert_eq!(
        (&blocked["result"], &blocked["blocked_by"]),
        (&json!("blocked"), &json!(["US-005"]))
    );
    assert_eq!(project.json(&["next", "--story", "US-005"])["result"], "dispatched");
    project.update_state(&json!({"step": "done", "status": "pass"}));
    assert_eq!(project.json(&["next"])["story"], "US-006", "the one that is not done");
    // A done story is replaced by the next one, and still counts as done.
    project.json(&["start", "US-007", "--blocked-by", "US-005"]);
    assert_eq!(project.state()["story"], "US-007");
    assert_eq!(project.json(&["next", "--story", "US-007"])["result"], "dispatched");
    let list = project.json(&["list"]);
    let mut names: Vec<&str> =
        list.as_array().expect("a list").iter().filter_map(|it| it["story"].as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["US-005", "US-006", "US-007"]);
}

#[test]
fn hand_over_must_name_its_story_if_several_run() {
    let project = StoryTestProject::with_story();
    project.json(&["start", "US-006"]);
    for story in ["US-005", "US-006"] {
        project.json(&["next", "--story", story]);
    }
    project.write(".ai/HANDOFF.md", "---\nstatus: pass\n---\n");
    for story in ["US-005", "US-006"] {
        let (code, hooked) = project.run(&["hook", "--story", story]);
        assert_eq!((code, &hooked["result"]), (1, &json!("stale")));
    }
    project.leave_documents("US-006", "bdd");
    project.write(".ai/HANDOFF.md", "---\nstory: US-006\nstatus: pass\n---\n");
    assert_eq!(project.run(&["hook", "--story", "US-005"]).1["result"], "stale");
    assert_eq!(story_position_text(&project.json(&["hook", "--story", "US-006"])), "bdd 1 pass");
}

#[test]
fn invalid_story_state_does_not_stop_other_stories() {
    let project = StoryTestProject::with_story();
    project.json(&["start", "US-006"]);
    project.write(".ai/states/US-006.json", "{");
    assert_eq!(
        project.run_refused(&["next", "--story", "US-006"]),
        (2, "invalid_state".to_owned())
    );
    assert_eq!(project.run_refused(&["start", "US-006"]), (2, "invalid_state".to_owned()));
    assert_eq!(
        project.run_refused(&["next"]),
        (2, "invalid_state".to_owned()),
        "it may be the one"
    );
    assert_eq!(project.json(&["next", "--story", "US-005"])["result"], "dispatched");
    let listed = project.command(&["list"]).output().expect("it starts");
    let (out, err) =
        (String::from_utf8_lossy(&listed.stdout), String::from_utf8_lossy(&listed.stderr));
    assert!(out.starts_with("US-005  bdd") && err.contains("US-006.json is invalid"), "{out}{err}");
    assert_eq!(project.read(".ai/states/US-006.json"), "{");
}

#[test]
fn second_story_has_its_own_hand_over_file() {
    let project = StoryTestProject::with_story();
    project.json(&["start", "US-006"]);
    let first = project.json(&["next", "--story", "US-005"]);
    let second = project.json(&["next", "--story", "US-006"]);
    let told = |answer: &serde_json::Value, name: &str| {
        answer["prompt"].as_str().is_some_and(|prompt| prompt.contains(&format!("Update {name}:")))
    };
    assert!(told(&first, ".ai/HANDOFF.md") && told(&second, ".ai/handoffs/US-006.md"), "{second}");
    let front = |story: &str, status: &str| {
        format!("---\nstory: {story}\nstep: bdd\nattempt: 1\nstatus: {status}\n---\n")
    };
    project.leave_documents("US-005", "bdd");
    project.leave_documents("US-006", "bdd");
    project.write(".ai/HANDOFF.md", &front("US-005", "pass"));
    project.write(".ai/handoffs/US-006.md", &front("US-006", "failing"));
    assert_eq!(story_position_text(&project.json(&["hook", "--story", "US-006"])), "bdd 1 failing");
    assert_eq!(story_position_text(&project.json(&["hook", "--story", "US-005"])), "bdd 1 pass");
    // The next executor reads its story's hand-over; an old hand-over does not count again.
    let next = project.json(&["next", "--story", "US-006"]);
    let prompt = next["prompt"].as_str().expect("a prompt");
    assert!(
        prompt.contains("- .ai/handoffs/US-006.md\n") && !prompt.contains("HANDOFF.md"),
        "{prompt}"
    );
    let hooked = project.json(&["hook", "--story", "US-006"]);
    assert_eq!(
        (story_position_text(&hooked).as_str(), &hooked["last_error"]),
        ("bdd 2 failing", &json!("the executor left no hand-over"))
    );
    assert!(project.read(".ai/history.md").contains("status: failing"));
    // The shared hand-over file still counts if it names the story.
    project.json(&["next", "--story", "US-006"]);
    project.write(".ai/HANDOFF.md", &front("US-006", "pass").replace("attempt: 1", "attempt: 3"));
    assert_eq!(story_position_text(&project.json(&["hook", "--story", "US-006"])), "bdd 3 pass");
}

#[test]
fn story_that_would_wait_for_itself_is_refused() {
    let project = StoryTestProject::empty();
    let refused = (1, "dependency_cycle".to_owned());
    assert_eq!(project.run_refused(&["start", "US-1", "--blocked-by", "US-1"]), refused);
    project.json(&["start", "US-1", "--blocked-by", "US-2"]);
    project.json(&["start", "US-2", "--blocked-by", "US-3"]);
    assert_eq!(project.run_refused(&["start", "US-3", "--blocked-by", "US-1"]), refused);
    let (_, document) = project.run(&["start", "US-3", "--blocked-by", "US-1"]);
    let text = document["error"].to_string();
    assert!(text.contains("US-3 would wait for itself, through US-1, US-2, US-3"), "{text}");
    project.json(&["start", "US-3", "--blocked-by", "US-4"]);
}
