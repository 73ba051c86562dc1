//! Story commands that run concurrently.

use std::process::Stdio;

use crate::story::support::{StoryTestProject, answer};

#[test]
fn story_next_by_eight_processes_dispatches_once() {
    for _ in 0..5 {
        let project = StoryTestProject::with_story();
        let start = |_| {
            let mut command = project.command(&["next", "--json"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
        };
        let children: Vec<_> = (0..8).map(start).collect();
        let mut results: Vec<String> = children
            .into_iter()
            .map(|child| {
                let (code, document) = answer(&child.wait_with_output().expect("it ends"));
                assert_eq!(code, 0, "{document}");
                document["result"].as_str().expect("a result").to_owned()
            })
            .collect();
        results.sort();
        assert_eq!(
            results,
            [
                "dispatched",
                "running",
                "running",
                "running",
                "running",
                "running",
                "running",
                "running"
            ]
        );
        assert_eq!(project.state()["dispatches"], serde_json::json!({"bdd": 1}));
    }
}

#[test]
fn story_hook_by_concurrent_processes_accepts_step_once() {
    let project = StoryTestProject::with_story();
    project.write(".ai/step-rules.yaml", "steps:\n  bdd:\n    post_check: echo x >> checked\n");
    project.json(&["next"]);
    project.hand_over("pass");
    let start = |_| {
        let mut command = project.command(&["hook", "--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
    };
    let children: Vec<_> = (0..4).map(start).collect();
    let codes = children.into_iter().map(|child| child.wait_with_output().expect("it ends"));
    let taken = codes.filter(|output| answer(output).0 == 0).count();
    assert_eq!((taken, project.read("checked").as_str()), (1, "x\n"));
}
