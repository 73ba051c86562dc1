//! Several stories in one project.

use serde_json::json;

use crate::story::support::{Project, place};

#[test]
fn a_second_story_has_a_file_of_its_own() {
    let project = Project::with_story();
    project.json(&["start", "US-006", "--blocked-by", "US-005"]);
    assert!(project.path(".ai/states/US-006.json").exists());
    assert_eq!(project.refused(&["next"]), (1, "several_stories".to_owned()));
    let blocked = project.json(&["next", "--story", "US-006"]);
    assert_eq!(
        (&blocked["result"], &blocked["blocked_by"]),
        (&json!("blocked"), &json!(["US-005"]))
    );
    assert_eq!(project.json(&["next", "--story", "US-005"])["result"], "dispatched");
    project.set(&json!({"step": "done", "status": "pass"}));
    assert_eq!(project.json(&["next"])["story"], "US-006", "the one that is not done");
    // One that is done makes room, and is still known to be done.
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
fn where_several_are_worked_on_a_hand_over_must_say_whose_it_is() {
    let project = Project::with_story();
    project.json(&["start", "US-006"]);
    for story in ["US-005", "US-006"] {
        project.json(&["next", "--story", story]);
    }
    project.write(".ai/HANDOFF.md", "---\nstatus: pass\n---\n");
    for story in ["US-005", "US-006"] {
        let (code, hooked) = project.run(&["hook", "--story", story]);
        assert_eq!((code, &hooked["result"]), (1, &json!("stale")));
    }
    project.write(".ai/HANDOFF.md", "---\nstory: US-006\nstatus: pass\n---\n");
    assert_eq!(project.run(&["hook", "--story", "US-005"]).1["result"], "stale");
    assert_eq!(place(&project.json(&["hook", "--story", "US-006"])), "bdd 1 pass");
}

#[test]
fn a_state_that_makes_no_sense_stops_no_other_story() {
    let project = Project::with_story();
    project.json(&["start", "US-006"]);
    project.write(".ai/states/US-006.json", "{");
    assert_eq!(project.refused(&["next", "--story", "US-006"]), (2, "invalid_state".to_owned()));
    assert_eq!(project.refused(&["start", "US-006"]), (2, "invalid_state".to_owned()));
    assert_eq!(project.refused(&["next"]), (2, "invalid_state".to_owned()), "it may be the one");
    assert_eq!(project.json(&["next", "--story", "US-005"])["result"], "dispatched");
    let listed = project.command(&["list"]).output().expect("it starts");
    let (out, err) =
        (String::from_utf8_lossy(&listed.stdout), String::from_utf8_lossy(&listed.stderr));
    assert!(
        out.starts_with("US-005  bdd") && err.contains("US-006.json makes no sense"),
        "{out}{err}"
    );
    assert_eq!(project.read(".ai/states/US-006.json"), "{");
}

#[test]
fn a_story_beside_another_has_a_hand_over_of_its_own() {
    let project = Project::with_story();
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
    project.write(".ai/HANDOFF.md", &front("US-005", "pass"));
    project.write(".ai/handoffs/US-006.md", &front("US-006", "failing"));
    assert_eq!(place(&project.json(&["hook", "--story", "US-006"])), "bdd 1 failing");
    assert_eq!(place(&project.json(&["hook", "--story", "US-005"])), "bdd 1 pass");
    // The next executor reads its own, and what it was is not taken for something new.
    let next = project.json(&["next", "--story", "US-006"]);
    let prompt = next["prompt"].as_str().expect("a prompt");
    assert!(
        prompt.contains("- .ai/handoffs/US-006.md\n") && !prompt.contains("HANDOFF.md"),
        "{prompt}"
    );
    let hooked = project.json(&["hook", "--story", "US-006"]);
    assert_eq!(
        (place(&hooked).as_str(), &hooked["last_error"]),
        ("bdd 2 failing", &json!("the executor left no hand-over"))
    );
    assert!(project.read(".ai/history.md").contains("status: failing"));
    // The shared one still counts where it names the story.
    project.json(&["next", "--story", "US-006"]);
    project.write(".ai/HANDOFF.md", &front("US-006", "pass").replace("attempt: 1", "attempt: 3"));
    assert_eq!(place(&project.json(&["hook", "--story", "US-006"])), "bdd 3 pass");
}
