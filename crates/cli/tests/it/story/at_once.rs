//! Several processes at once.

use std::process::Stdio;

use crate::story::support::{Project, answer};

#[test]
fn eight_processes_that_go_on_at_once_make_one_dispatch() {
    for _ in 0..5 {
        let project = Project::with_story();
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
fn hooks_that_come_at_once_take_a_step_in_once() {
    let project = Project::with_story();
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
