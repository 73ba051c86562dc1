//! Missions, results, `new_task` and `attempt_completion`, sent by real processes to real folders.

use serde_json::{Value, json};

use crate::commands::support::{CliProject, run_with};

/// Returns an example from a protocol's guide, unchanged.
fn example(name: &str) -> String {
    let path = format!("{}/tests/examples/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("the example is there")
}

fn sent(project: &CliProject, document: &str) -> Value {
    let (code, answer) = project.send(document.as_bytes());
    assert_eq!(code, 0, "{answer}");
    answer
}

/// Sends a document that makes a task, and returns the id of the task.
fn made(project: &CliProject, document: &str) -> String {
    let answer = sent(project, document);
    assert_eq!((&answer["result"], &answer["status"]), (&json!("applied"), &json!("ready")));
    answer["taskId"].as_str().expect("an id").to_owned()
}

/// Makes the task of the guide's `new_task`, after its parent.
fn delegated(project: &CliProject) -> String {
    let parent = json!({
        "taskId": "FEATURE-AUTH-001", "delegatedToMode": "lead", "objective": "Authentication",
    });
    made(project, &parent.to_string());
    made(project, &example("new_task.json"))
}

fn checked(name: &str) -> (i32, Value) {
    let project = CliProject::new();
    let path = format!("{}/tests/examples/{name}", env!("CARGO_MANIFEST_DIR"));
    let ran = project.adjutant(["check", &path, "--json"]);
    (ran.code, serde_json::from_str(&ran.out).expect("JSON"))
}

#[test]
fn check_recognizes_and_accepts_every_example() {
    for (name, kind) in [
        ("mission.yaml", "mission"),
        ("result.yaml", "result"),
        ("new_task.json", "new_task"),
        ("success.json", "attempt_completion"),
        ("clarification_needed.json", "attempt_completion"),
    ] {
        let expected = json!({"kind": kind, "valid": true, "problems": [], "warnings": []});
        assert_eq!(checked(name), (0, expected), "{name}");
    }
}

#[test]
fn mission_becomes_task_and_prints_unchanged() {
    let project = CliProject::new();
    let id = made(&project, &example("mission.yaml"));
    let shown = project.json(["task", "show", "T042"]);
    assert_eq!(shown["id"], json!(id));
    assert_eq!(shown["title"], "Implement the user authentication module.");
    assert_eq!(shown["body"], "Implement the user authentication module.\n");
    assert_eq!(shown["metadata"]["mission"]["epic_id"], "E005");
    let printed = project.does(["mission", "T042", "--dialect", "mission"]);
    let again = sent(&project, &printed);
    assert_eq!((&again["result"], &again["taskId"]), (&json!("noop"), &json!(id)));
    assert_eq!(project.json(["mission", "T042"]), shown["metadata"]["mission"]);
}

#[test]
fn new_task_becomes_task_and_prints_unchanged() {
    let project = CliProject::new();
    let id = delegated(&project);
    let shown = project.json(["task", "show", "API-SPEC-001"]);
    assert_eq!(shown["id"], json!(id));
    assert_eq!(
        (&shown["priority"], &shown["routing"]),
        (&json!("high"), &json!({"mode": "spec-pseudocode"}))
    );
    assert_eq!(shown["metadata"]["delegationDepth"], 1);
    let parent = project.json(["task", "show", "FEATURE-AUTH-001"]);
    assert_eq!(shown["parentId"], parent["id"]);
    let given: Value = serde_json::from_str(&example("new_task.json")).expect("JSON");
    assert_eq!(project.json(["mission", &id]), given);
    let why = project.json(["why", "API-SPEC-001"]);
    assert_eq!(
        why["reasons"][0],
        json!({
            "code": "no_agent",
            "text": "No configured agent has the mode \"spec-pseudocode\"; set it for an agent in adjutant.toml; an \
                agent that runs elsewhere can fetch it with `adjutant mcp --agent spec-pseudocode`.",
        })
    );
}

#[test]
fn result_finds_its_task_and_adds_tips_to_epic() {
    let project = CliProject::new();
    let id = made(&project, &example("mission.yaml"));
    project.does(["task", "move", "T042", "in-progress"]);
    let answer = sent(&project, &example("result.yaml"));
    assert_eq!((&answer["taskId"], &answer["status"]), (&json!(id), &json!("review")));
    let memory =
        "# Memory of E005\n\n- 2025-01-15T10:35:00Z T042: Use bcrypt for password hashing\n";
    assert_eq!(project.read("epics/E005/memory.md"), memory);
    let listed = project.does(["task", "list", "--epic", "E005"]);
    assert!(listed.starts_with("E005: 0 of 1 done; 1 review\n"), "{listed}");
    assert!(listed.contains("T042"), "{listed}");
    project.does(["approve", "T042"]);
    assert!(project.does(["task", "list", "--epic", "E005"]).starts_with("E005: 1 of 1 done\n"));
    assert_eq!(project.json(["task", "list", "--epic", "E006"]), json!([]));
    let next = example("mission.yaml").replace("T042", "T043");
    made(&project, &next);
    let order = project.json(["mission", "T043", "--dialect", "mission"]);
    assert_eq!(order["context"]["memory"], "path/to/memory.md", "it is the mission's own");
    assert_eq!(order["context"]["epic_memory"], ".adjutant/epics/E005/memory.md");
}

#[test]
fn tip_is_added_once_and_epic_memory_can_be_edited() {
    let project = CliProject::new();
    for number in 1..=3 {
        let id = format!("T{number}");
        made(&project, &example("mission.yaml").replace("T042", &id));
        project.does(["task", "move", &id, "in-progress"]);
        sent(&project, &example("result.yaml").replace("T042", &id));
        if number == 1 {
            let memory = project.read("epics/E005/memory.md");
            let edited = memory.replace("Use bcrypt", "Mind: Use bcrypt") + "\nSee the wiki.\n";
            project.write("epics/E005/memory.md", edited);
        }
    }
    let line = |id| format!("- 2025-01-15T10:35:00Z {id}: ");
    let expected = format!(
        "# Memory of E005\n\n{}Mind: Use bcrypt for password hashing\n\nSee the wiki.\n\n{}Use \
         bcrypt for password hashing\n",
        line("T1"),
        line("T2")
    );
    assert_eq!(project.read("epics/E005/memory.md"), expected);
}

#[test]
fn success_without_expected_output_needs_review() {
    let project = CliProject::new();
    let id = delegated(&project);
    project.does(["task", "edit", &id, "--review", "none"]);
    project.does(["task", "move", &id, "in-progress"]);
    let answer = sent(&project, &example("success.json"));
    assert_eq!(answer["status"], "review");
    let moved = project.events().into_iter().rfind(|event| event["type"] == "task.transitioned");
    assert_eq!(
        moved.expect("it moved")["payload"]["reason"],
        "expected output is missing: .project-memory/lld/api_specifications/auth_api_spec.md"
    );
    project.does(["task", "move", &id, "in-progress"]);
    let output = project.home().join(".project-memory/lld/api_specifications");
    std::fs::create_dir_all(&output).expect("made");
    std::fs::write(output.join("auth_api_spec.md"), "It.").expect("written");
    assert_eq!(sent(&project, &example("success.json"))["status"], "done");
}

#[test]
fn clarification_answer_is_in_next_work_order() {
    let project = CliProject::new();
    let id = delegated(&project);
    project.does(["task", "move", &id, "in-progress"]);
    let answer = sent(&project, &example("clarification_needed.json"));
    assert_eq!(answer["status"], "blocked");
    let inbox = project.json(["inbox"]);
    assert_eq!((&inbox[0]["kind"], &inbox[0]["taskId"]), (&json!("question"), &json!(id)));
    let text = inbox[0]["text"].as_str().expect("text");
    assert!(text.contains("email verification or security questions"), "{text}");
    assert!(text.contains("(suggested: Consult with Business Owner"), "{text}");
    project.does(["answer", "API-SPEC-001", "By email."]);
    assert_eq!(project.status_of(&id), "ready");
    let left = project.json(["inbox"]);
    let mut left = left.as_array().expect("a list").iter();
    assert!(left.all(|item| item["kind"] == "held_back"), "no configured agent has their modes");
    for dialect in ["mission", "new_task", "prompt"] {
        let order = project.does(["mission", &id, "--dialect", dialect]);
        assert!(order.contains("By email."), "{dialect}: {order}");
    }
    let order = project.json(["mission", &id, "--dialect", "new_task"]);
    assert!(order["context"].as_str().expect("text").ends_with("- By email.\n"), "{order}");
}

#[test]
fn work_order_in_every_dialect_is_valid_document() {
    let project = CliProject::new();
    let plain =
        project.add(["Mend \"the\" gate", "--body", "It squeaks.", "--priority", "critical"]);
    made(&project, &example("mission.yaml"));
    delegated(&project);
    for id in [plain.as_str(), "T042", "API-SPEC-001"] {
        for (dialect, kind) in
            [("mission", "mission"), ("new_task", "new_task"), ("aof", "envelope")]
        {
            let order = project.does(["mission", id, "--dialect", dialect]);
            let file = project.home().join("order");
            std::fs::write(&file, &order).expect("written");
            let path = file.to_str().expect("text");
            let checked = project.json(["check", path, "--as", kind]);
            assert_eq!(checked["valid"], true, "{id} {dialect}: {checked}\n{order}");
        }
    }
    let order = project.json(["mission", &plain, "--dialect", "new_task"]);
    assert_eq!((&order["priority"], &order["taskId"]), (&json!("high"), &json!(plain)));
    let order = project.json(["mission", &plain, "--dialect", "mission"]);
    assert_eq!(order["instruction"], "Mend \"the\" gate\n\nIt squeaks.");
    let result = example("result.yaml").replace("T042", order["task_id"].as_str().expect("an id"));
    project.does(["task", "move", &plain, "ready"]);
    project.does(["task", "move", &plain, "in-progress"]);
    assert_eq!(sent(&project, &result)["taskId"], json!(plain), "the id that was made leads back");
}

#[test]
fn check_names_missing_identifying_key() {
    let project = CliProject::new();
    for (name, keys) in [
        ("mission.yaml", &["version", "task_id", "instruction"][..]),
        ("result.yaml", &["version", "task_id", "status"]),
        ("new_task.json", &["taskId", "delegatedToMode"]),
        ("success.json", &["taskId", "result"]),
    ] {
        for key in keys {
            // Each key is on its own line, in JSON and YAML; an instruction is a line and a block.
            let named = |line: &&str| line.trim_start().trim_start_matches('"').starts_with(key);
            let whole = example(name);
            let left: Vec<&str> = whole
                .lines()
                .filter(|line| !named(line) && !line.contains("Implement the user"))
                .collect();
            let file = project.home().join("incomplete");
            std::fs::write(&file, left.join("\n")).expect("written");
            let ran = project.adjutant(["check", file.to_str().expect("text")]);
            let kind =
                name.split('.').next().unwrap_or_default().replace("success", "attempt_completion");
            assert_eq!(ran.code, 1, "{name} without {key}: {}", ran.out);
            assert!(ran.out.contains(&format!("{key}: is required\n")), "{name}: {}", ran.out);
            assert!(ran.out.ends_with(&format!("not a valid {kind}\n")), "{name}: {}", ran.out);
        }
    }
}

#[test]
fn prompt_lists_mission_rules_and_files() {
    let project = CliProject::new();
    made(&project, &example("mission.yaml"));
    let order = || project.does(["mission", "T042", "--dialect", "prompt"]);
    let list =
        |heading: &str, items: &[&str]| format!("## {heading}\n\n- {}\n\n", items.join("\n- "));
    let rules =
        list("Rules (Adjutant checks them)", &["Change at most 10 files.", "Do not commit."]);
    let mut files = ["DEV.md", "epic.md", "task.md", "memory.md", "TOOLSET.md"]
        .map(|name| format!("path/to/{name}"))
        .to_vec();
    let named = |files: &[String]| {
        list("Read first", &files.iter().map(String::as_str).collect::<Vec<_>>())
    };
    assert!(order().contains(&(named(&files) + &rules)), "{}", order());
    sent(&project, &example("result.yaml"));
    files.remove(3);
    files.push(".adjutant/epics/E005/memory.md".to_owned());
    assert!(order().contains(&named(&files)), "what the epic has learnt: {}", order());
}

#[test]
fn answer_is_in_next_work_order_of_every_dialect() {
    let project = CliProject::new();
    let id = made(&project, &example("mission.yaml"));
    project.does(["task", "move", &id, "blocked", "--reason", "Which?"]);
    project.does(["answer", &id, "The\nsecond."]);
    for dialect in ["aof", "mission", "new_task", "prompt"] {
        let order = project.does(["mission", &id, "--dialect", dialect]);
        assert!(order.contains("The second."), "{dialect}: {order}");
    }
    let handoff = project.json(["mission", &id, "--dialect", "aof"]);
    let rules =
        json!(["Answer from a person: The second.", "Change at most 10 files.", "Do not commit.",]);
    assert_eq!(handoff["payload"]["constraints"], rules);
}

#[test]
fn document_sent_twice_is_noop_and_conflict_is_refused() {
    let project = CliProject::new();
    delegated(&project);
    let again = sent(&project, &example("new_task.json"));
    assert_eq!(again["result"], "noop");
    let before = project.digest();
    let other = example("new_task.json").replace("\"high\"", "\"low\"");
    let (code, answer) = project.send(other.as_bytes());
    assert_eq!((code, &answer["reason"]), (1, &json!("task_conflict")));
    let orphan =
        example("new_task.json").replace("API-SPEC-001", "X").replace("FEATURE-AUTH-001", "NOBODY");
    let (code, answer) = project.send(orphan.as_bytes());
    assert_eq!((code, &answer["reason"]), (1, &json!("parent_not_found")));
    assert_eq!(answer["errors"], json!(["parentTaskId: there is no task NOBODY"]));
    assert_eq!(project.digest(), before);
}

#[test]
fn invalid_document_is_refused_and_changes_nothing() {
    let project = CliProject::new();
    made(&project, &example("mission.yaml"));
    let mission = example("mission.yaml");
    let before = project.digest();
    let refused = |text: &str, reason: &str, errors: &[&str]| {
        let (code, answer) = project.send(text.as_bytes());
        assert_eq!((code, &answer["result"]), (1, &json!("rejected")), "{text}: {answer}");
        assert_eq!((&answer["reason"], &answer["errors"]), (&json!(reason), &json!(errors)));
    };
    refused(
        &mission.replace("task_id: \"T042\"", "task_id: &id T042").replace("600", "*id"),
        "invalid_yaml",
        &[
            "task_id: line 2, column 14: anchors are not allowed: write the value out",
            "timeout: line 21, column 10: aliases are not allowed: write the value out",
        ],
    );
    refused(
        &mission.replace("\"E005\"", "!!str E005").replace("no_new_deps", "max_files"),
        "invalid_yaml",
        &[
            "epic_id: line 3, column 16: tags are not allowed: remove it",
            "constraints.max_files: line 19, column 3: the key appears twice",
        ],
    );
    refused(
        &mission.replace("  max_files", "\tmax_files"),
        "invalid_yaml",
        &["line 17: a tab in the indentation: YAML allows only spaces"],
    );
    refused(
        &format!("{mission}---\n{mission}"),
        "invalid_yaml",
        &["line 22, column 1: a second document starts here"],
    );
    refused(
        &mission.replace("path/to/epic.md", "/etc/passwd").replace("10 ", "-1 "),
        "invalid_envelope",
        &[
            "context.epic_file: must be a relative path",
            "constraints.max_files: must be non-negative",
        ],
    );
    refused(
        &example("result.yaml").replace("issues: []", "issues: [{type: blocker, description: x}]"),
        "invalid_envelope",
        &["issues[0].type: a blocker contradicts the status completed"],
    );
    refused(
        &example("result.yaml").replace("version: \"1\"", "version: \"7\""),
        "invalid_envelope",
        &["version: unsupported version \"7\": must be \"1\""],
    );
    refused(
        "{\"taskId\": \"A\", \"result\": }",
        "invalid_json",
        &["is not JSON: expected value at line 1 column 27"],
    );
    assert_eq!(project.digest(), before, "nothing has changed");
}

#[test]
fn check_refuses_documents_that_send_refuses() {
    let project = CliProject::new();
    for (kind, document) in
        [("mission", "a: [1\n"), ("result", "- a\n"), ("new_task", "taskId: A\n"), ("mission", "")]
    {
        let ran = run_with(
            &mut project.command(["check", "-", "--as", kind, "--json"]),
            document.as_bytes(),
        );
        let checked: Value = serde_json::from_str(&ran.out).expect("JSON");
        assert_eq!(
            (ran.code, &checked["kind"], &checked["valid"]),
            (1, &json!(kind), &json!(false))
        );
    }
    let odd = example("mission.yaml").replace("timeout: 600", "time_out: 600");
    let ran = run_with(&mut project.command(["check", "-"]), odd.as_bytes());
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "warning: time_out: is unknown and was ignored\na valid mission\n")
    );
}

#[test]
fn send_lines_answers_documents_of_every_dialect() {
    let project = CliProject::new();
    let one_line = |text: &str| {
        let value: Value = serde_json::from_str(text).expect("JSON");
        value.to_string()
    };
    let parent = json!({"taskId": "FEATURE-AUTH-001", "delegatedToMode": "a", "objective": "b"});
    let lines = [
        parent.to_string(),
        one_line(&example("new_task.json")),
        "hello".to_owned(),
        one_line(&example("success.json")),
    ];
    let (code, answers) = project.send_lines(lines.join("\n").as_bytes());
    let results: Vec<&Value> = answers.iter().map(|answer| &answer["result"]).collect();
    assert_eq!(
        (code, results),
        (0, vec![&json!("applied"), &json!("applied"), &json!("ignored"), &json!("applied")])
    );
}

#[test]
fn epic_or_dialect_that_is_invalid_is_usage_error() {
    let project = CliProject::new();
    assert_eq!(project.adjutant(["task", "list", "--epic", "five"]).code, 2);
    assert_eq!(project.adjutant(["mission", "T1", "--dialect", "latin"]).code, 2);
    assert_eq!(project.error(["mission", "T1"]).0, 1);
}

/// The task file must stay readable with any accepted document.
#[test]
fn document_of_maximal_size_makes_readable_task() {
    let project = CliProject::new();
    // This character takes one byte in JSON and six in front matter.
    let odd = "\u{7f}".repeat(60_000);
    let task = json!({
        "taskId": "A", "delegatedToMode": "b", "objective": format!("x{odd}"), "context": odd,
        "expectedOutputs": [{"path": "a"}],
    });
    made(&project, &task.to_string());
    project.does(["task", "move", "A", "in-progress"]);
    let issue = json!({
        "type": "clarification_needed", "description": "\u{7f}".repeat(9_000),
        "suggestedResolution": "\u{7f}".repeat(9_000),
    });
    let asks = json!({
        "taskId": "A", "result": "clarification_needed", "summary": "y",
        "issues_encountered": vec![issue; 50],
    });
    assert_eq!(sent(&project, &asks.to_string())["status"], "blocked");
    assert_eq!(project.json(["mission", "A"])["objective"], format!("x{odd}"));
    assert_eq!(project.json(["doctor"])["ok"], true);
}
