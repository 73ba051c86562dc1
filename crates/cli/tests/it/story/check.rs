//! `adjutant check` on story files.

use serde_json::{Value, json};

use crate::story::support::{StoryTestProject, adjutant, answer};

fn check(project: &StoryTestProject, name: &str, text: &str) -> (i32, Value) {
    project.write(name, text);
    answer(
        &adjutant().args(["check", "--json"]).arg(project.path(name)).output().expect("it starts"),
    )
}

#[test]
fn check_recognizes_story_files_by_name() {
    let project = StoryTestProject::with_story();
    let state = project.read(".ai/STATE.json");
    let rules = "steps:\n  impl:\n    max_attempts: 2\n";
    project.json(&["next"]);
    project.hand_over("pass");
    let handoff = project.read(".ai/HANDOFF.md");
    for (name, text, kind) in [
        (".ai/STATE.json", &*state, "state"),
        (".ai/states/US-1.json", &*state, "state"),
        (".ai/HANDOFF.md", &*handoff, "handoff"),
        (".ai/step-rules.yaml", rules, "step-rules"),
    ] {
        let (code, said) = check(&project, name, text);
        assert_eq!(
            (code, &said["kind"], &said["valid"]),
            (0, &json!(kind), &json!(true)),
            "{said}"
        );
    }
    let paths = |(code, said): (i32, Value)| -> (i32, Vec<String>) {
        let problems = said["problems"].as_array().expect("a list").clone();
        let text = |problem: &Value| {
            let word = |name: &str| problem[name].as_str().unwrap_or_default().to_owned();
            format!("{}|{}", word("path"), word("message"))
        };
        (code, problems.iter().map(text).collect())
    };
    let (code, problems) =
        paths(check(&project, ".ai/HANDOFF.md", "---\nstatus: passing\nstep: x\n---\n"));
    let named: Vec<&str> = problems.iter().filter_map(|it| it.split('|').next()).collect();
    assert_eq!((code, named), (1, vec!["status", "step", "story", "attempt"]));
    let (code, problems) =
        paths(check(&project, ".ai/step-rules.yaml", "steps:\n  impl:\n    x: 1\n"));
    assert!(code == 1 && problems[0].contains("step-rules.yaml:3: "), "{problems:?}");
    let odd = state.replace("\"pending\"", "\"passing\"");
    assert_eq!(check(&project, ".ai/STATE.json", &odd).0, 1);
    assert_eq!(check(&project, ".ai/STATE.json", "{").0, 1);
    assert_eq!(check(&project, ".ai/HANDOFF.md", "").0, 1);
}
