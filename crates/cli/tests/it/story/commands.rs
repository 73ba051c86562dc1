//! The story commands and their answers.

use serde_json::{Value, json};

use crate::story::support::{
    StoryTestProject, adjutant, answer, fields, minutes_ago, story_position_text,
};

const PROMISED: [&str; 8] = [
    "story",
    "step",
    "attempt",
    "max_attempts",
    "status",
    "reason",
    "next_step",
    "caller_instruction",
];

#[test]
fn story_answers_have_the_promised_fields() {
    let project = StoryTestProject::empty();
    let check = |answer: &Value| {
        for name in PROMISED {
            assert!(answer.get(name).is_some(), "{name} in {answer}");
        }
        assert!(answer["caller_instruction"].as_str().is_some_and(|text| text.len() > 10));
    };
    check(&project.json(&["start", "US-005"]));
    let next = project.json(&["next"]);
    check(&next);
    assert_eq!(
        fields(&next, &PROMISED[..7]),
        [
            json!("US-005"),
            json!("bdd"),
            json!(1),
            json!(3),
            json!("running"),
            json!(null),
            json!("sdd-delta")
        ]
    );
    check(&project.json(&["status"]));
    check(&project.json(&["prompt"]));
    check(&project.json(&["report-error", "it crashed"]));
    check(&project.json(&["next"]));
    project.hand_over("needs_human");
    check(&project.json(&["hook"]));
    check(&project.json(&["approve", "--note", "go on"]));
    check(&project.json(&["rollback", "bdd"]));
    for answer in project.json(&["list"]).as_array().expect("a list") {
        check(answer);
    }
    for answer in project.json(&["poll"]).as_array().expect("a list") {
        check(answer);
    }
}

#[test]
fn story_prompt_has_everything_an_executor_needs() {
    let project = StoryTestProject::with_story();
    project.write("PROJECT_CONTEXT.md", "# Why\n");
    let next = project.json(&["next", "--note", "prices are in cents"]);
    let prompt = next["prompt"].as_str().expect("a prompt");
    for part in [
        "You are executing step BDD scenarios for US-005.",
        "order:\n- PROJECT_CONTEXT.md\n",
        "do not exist yet:\n- PROJECT_MEMORY.md\n- .ai/HANDOFF.md\n",
        "=== Human Instruction ===\nprices are in cents\n===",
        "write BDD scenarios for this Story",
        "- docs/bdd/US-005.md\n",
        "do this step only, then stop. The orchestrator continues with sdd-delta",
        "(story: US-005, step: bdd, attempt: 1,",
        "fill reason field with constitution_violation",
    ] {
        assert!(prompt.contains(part), "{part:?} in {prompt}");
    }
    assert!(!prompt.contains("Attempt") && !prompt.contains('{'), "{prompt}");
    assert_eq!(project.json(&["prompt"])["prompt"], next["prompt"], "it can be shown again");
    project.hand_over("failing");
    project.json(&["hook"]);
    let prompt = project.json(&["next"])["prompt"].as_str().expect("a prompt").to_owned();
    assert!(prompt.contains("(Attempt 2 of 3)") && !prompt.contains("cents"), "{prompt}");
}

#[test]
fn story_prompt_templates_of_project_are_used() {
    let project = StoryTestProject::with_story();
    project.write(".ai/prompt.md", "{step} of {story}\n");
    assert_eq!(project.json(&["prompt"])["prompt"], "bdd of US-005\n");
    project.write(".ai/prompts/bdd.md", "Write, {story}!\n");
    assert_eq!(project.json(&["prompt"])["prompt"], "Write, US-005!\n");
    project.write(".ai/prompts/bdd.md", "one\n{stroy}\n");
    assert_eq!(project.run_refused(&["next"]), (2, "invalid_template".to_owned()));
    let (_, document) = project.run(&["next"]);
    let cause = document["error"]["causes"][0].as_str().expect("a cause");
    assert!(cause.contains("bdd.md, line 2: `stroy` is not one of: "), "{cause}");
}

#[test]
fn story_review_is_approved_or_rejected_by_person() {
    let project = StoryTestProject::with_story();
    project.update_state(&json!({"step": "contract", "status": "pass"}));
    let review = project.json(&["next"]);
    assert_eq!(
        (story_position_text(&review).as_str(), &review["waiting_for"]),
        ("review 1 needs_human", &json!("review"))
    );
    assert_eq!(project.json(&["next"])["result"], "needs_human", "and again");
    let rejected = project.json(&["reject", "scope_warning", "--note", "no coupons"]);
    assert_eq!(
        (story_position_text(&rejected).as_str(), &rejected["reason"]),
        ("sdd-delta 1 pending", &json!("scope_warning"))
    );
    let next = project.json(&["next"]);
    assert_eq!(story_position_text(&next), "sdd-delta 1 running");
    let prompt = next["prompt"].as_str().expect("a prompt");
    assert!(prompt.contains("no coupons") && prompt.contains("scope_warning"), "{prompt}");
    assert_eq!(project.run_refused(&["approve"]), (1, "still_running".to_owned()));
    let (code, _) =
        answer(&project.command(&["reject", "bad_mood", "--json"]).output().expect("it starts"));
    assert_eq!(code, 2);
}

#[test]
fn story_that_runs_or_is_done_is_not_started_again() {
    let project = StoryTestProject::with_story();
    assert_eq!(project.run_refused(&["start", "US-005"]), (1, "already_started".to_owned()));
    project.json(&["next"]);
    assert_eq!(project.run_refused(&["start", "US-005"]), (1, "already_started".to_owned()));
    project.update_state(&json!({"step": "done", "status": "pass"}));
    assert_eq!(project.run_refused(&["start", "US-005"]), (1, "already_done".to_owned()));
    assert_eq!(project.run_refused(&["rollback", "impl"]), (1, "already_done".to_owned()));
    let reopened = project.json(&["reopen", "US-005"]);
    assert_eq!(story_position_text(&reopened), "impl 1 pending");
    assert_eq!(project.state()["reopened_from"], "impl");
    assert_eq!(project.run_refused(&["reopen", "US-005"]), (1, "not_done".to_owned()));
    let anew = project.json(&["start", "US-005", "--force"]);
    assert_eq!(
        (story_position_text(&anew).as_str(), &project.state()["dispatches"]),
        ("bdd 1 pending", &Value::Null)
    );
    assert_eq!(project.run_refused(&["approve"]), (1, "nothing_waits".to_owned()));
}

#[test]
fn story_executor_timeout_needs_approval_to_retry() {
    for command in ["next", "poll"] {
        let project = StoryTestProject::with_story();
        project.json(&["next"]);
        assert_eq!(project.json(&["next"])["result"], "running");
        project.update_state(&json!({"dispatched_at": minutes_ago(6)}));
        project.json(&[command]);
        assert_eq!(story_position_text(&project.state()), "bdd 1 timeout");
        assert_eq!(project.json(&["next"])["result"], "timeout");
        project.hand_over("pass");
        assert_eq!(project.run_refused(&["hook"]), (1, "too_late".to_owned()));
        assert_eq!(story_position_text(&project.json(&["approve"])), "bdd 2 pending");
        assert_eq!(story_position_text(&project.json(&["next"])), "bdd 2 running");
    }
}

#[test]
fn story_executor_error_counts_as_attempt() {
    let project = StoryTestProject::with_story();
    for attempt in 1..=3 {
        assert_eq!(project.json(&["next"])["attempt"], attempt);
        let broke = project.json(&["report-error", "no such model"]);
        assert_eq!(
            (&broke["status"], &broke["last_error"]),
            (&json!("failing"), &json!("no such model"))
        );
    }
    let stuck = project.json(&["next"]);
    assert_eq!((&stuck["result"], &stuck["waiting_for"]), (&json!("needs_human"), &json!("stuck")));
    assert_eq!(project.run_refused(&["report-error", "again"]), (1, "not_running".to_owned()));
}

#[test]
fn invalid_story_files_are_refused_and_left_unchanged() {
    let project = StoryTestProject::with_story();
    let good = project.read(".ai/STATE.json");
    for bad in ["", "{", "[]", "{\"step\":\"ship\",\"status\":\"pass\"}", &good[..good.len() / 2]] {
        project.write(".ai/STATE.json", bad);
        for command in [&["next"][..], &["hook"], &["approve"], &["status"], &["start", "US-9"]] {
            assert_eq!(project.run_refused(command), (2, "invalid_state".to_owned()), "{bad:?}");
        }
    }
    project.write(".ai/STATE.json", &good);
    project.write(".ai/step-rules.yaml", "steps:\n  impl:\n    max_atempts: 3\n");
    assert_eq!(project.run_refused(&["next"]), (2, "invalid_rules".to_owned()));
    let (_, document) = project.run(&["next"]);
    let cause = document["error"]["causes"][0].as_str().expect("a cause");
    assert!(cause.contains("step-rules.yaml:3: ") && cause.contains("max_atempts"), "{cause}");
}

#[test]
fn story_commands_need_a_project_and_a_story() {
    let project = StoryTestProject::empty();
    let mut command = adjutant();
    let here = command.args(["story", "status", "--json"]).current_dir(project.root());
    let (code, document) = answer(&here.output().expect("it starts"));
    assert_eq!((code, &document["error"]["code"]), (1, &json!("no_project")));
    project.write(".ai/.keep", "");
    assert_eq!(project.run_refused(&["status"]), (1, "no_story".to_owned()));
    project.json(&["start", "US-005"]);
    assert_eq!(
        project.run_refused(&["status", "--story", "US-6"]),
        (1, "story_not_found".to_owned())
    );
    // The project is found from every folder inside it.
    project.write("src/deep/x", "");
    let mut command = adjutant();
    let inside = command.args(["story", "status", "--json"]).current_dir(project.path("src/deep"));
    assert_eq!(answer(&inside.output().expect("it starts")).1["story"], "US-005");
}

#[test]
fn story_commands_of_operator_are_refused_inside_run() {
    let project = StoryTestProject::with_story();
    project.json(&["next"]);
    project.hand_over("pass");
    for command in [
        &["next"][..],
        &["approve"],
        &["reject", "default"],
        &["rollback", "bdd"],
        &["start", "US-9"],
        &["reopen", "US-005"],
        &["init"],
        // A person started the step, so no run is its executor.
        &["hook"],
        &["report-error", "it crashed"],
    ] {
        let mut inside = project.command(command);
        let output = inside.arg("--json").env("ADJUTANT_RUN_TOKEN", "x").output();
        let (code, document) = answer(&output.expect("it starts"));
        assert_eq!((code, &document["error"]["code"]), (1, &json!("operator_only")), "{command:?}");
    }
    assert_eq!(story_position_text(&project.json(&["hook"])), "bdd 1 pass");
}

/// The template of the protocol, as it is printed there.
const TEMPLATE_OF_THE_PROTOCOL: &str = "\
You are executing step {step_display_name} for {story}.
{if attempt > 1}(Attempt {attempt} of {max_attempts}){endif}

Please read the following files in order:
{for file in claude_reads}
- {file}
{endfor}

{if human_note}
=== Human Instruction ===
{human_note}
==========================
{endif}

{step_instruction}
";

#[test]
fn story_prompt_template_of_the_protocol_is_accepted() {
    let project = StoryTestProject::with_story();
    project.write(".ai/prompt.md", TEMPLATE_OF_THE_PROTOCOL);
    let prompt = project.json(&["prompt"])["prompt"].as_str().expect("a prompt").to_owned();
    assert!(prompt.starts_with("You are executing step BDD scenarios for US-005.\n\n"), "{prompt}");
    project.step("failing");
    let prompt = project.json(&["next"])["prompt"].as_str().expect("a prompt").to_owned();
    assert!(prompt.contains("US-005.\n(Attempt 2 of 3)\n\nPlease"), "{prompt}");
}

#[test]
fn story_prompt_names_files_of_the_language_of_the_project() {
    for (file, tests, code) in [
        ("go.mod", "- *_test.go\n", "- *.go\n"),
        ("pyproject.toml", "- test_*.py\n", "- *.py\n"),
        ("Cargo.toml", "- tests/*.rs\n", "- *.rs\n"),
    ] {
        let project = StoryTestProject::with_story();
        project.write(file, "");
        for (step, expected) in [("scaffold", tests), ("impl", code)] {
            project.update_state(&json!({"step": step, "status": "pending"}));
            let prompt = project.json(&["prompt"])["prompt"].as_str().expect("text").to_owned();
            assert!(prompt.contains(&format!("Expected output:\n{expected}\n")), "{prompt}");
        }
    }
    // A project's own patterns stay.
    let project = StoryTestProject::with_story();
    project.write("pyproject.toml", "");
    project.write(".ai/step-rules.yaml", "steps:\n  impl:\n    claude_writes: ['*.pyx']\n");
    project.update_state(&json!({"step": "impl", "status": "pending"}));
    let prompt = project.json(&["prompt"])["prompt"].as_str().expect("text").to_owned();
    assert!(prompt.contains("Expected output:\n- *.pyx\n"), "{prompt}");
}

#[test]
fn story_history_names_the_step_that_was_handed_over() {
    let project = StoryTestProject::with_story();
    project.update_state(&json!({"step": "contract", "status": "pending"}));
    project.step("pass");
    project.json(&["next"]);
    project.json(&["approve"]);
    project.json(&["next"]);
    let history = project.read(".ai/history.md");
    assert!(history.starts_with("## HANDOFF.md: US-005 contract attempt:1"), "{history}");
}

#[test]
fn story_review_lists_documents_first_and_no_files_of_adjutant() {
    let project = StoryTestProject::empty();
    project.init_git();
    project.git(&["commit", "-q", "--allow-empty", "-m", "begin"]);
    let made = adjutant().arg("init").arg(project.root()).output().expect("it starts");
    assert!(made.status.success(), "{made:?}");
    project.json(&["start", "US-005"]);
    project.step("pass");
    project.write("a.txt", "a\n");
    let changed = project.json(&["status"])["changed"]["files"].clone();
    let files: Vec<&str> =
        changed.as_array().expect("a list").iter().filter_map(|file| file.as_str()).collect();
    assert_eq!(files[0], "docs/bdd/US-005.md", "{files:?}");
    assert!(files.contains(&"a.txt"), "{files:?}");
    let is_adjutants = |file: &&&str| file.starts_with(".adjutant/") || file.starts_with(".ai/");
    assert_eq!(files.iter().find(is_adjutants), None, "{files:?}");
}

#[test]
fn story_prompt_of_a_step_needs_no_state() {
    let project = StoryTestProject::empty();
    project.write(".ai/.keep", "");
    let shown = project.json(&["prompt", "contract", "--story", "US-009"]);
    let prompt = shown["prompt"].as_str().expect("a prompt");
    assert!(prompt.starts_with("You are executing step API contract for US-009."), "{prompt}");
    assert!(!project.path(".ai/STATE.json").exists());
    // Another step of a story with a state.
    let project = StoryTestProject::with_story();
    let before = project.read(".ai/STATE.json");
    let shown = project.json(&["prompt", "verify"]);
    assert!(shown["prompt"].as_str().expect("text").contains("step Verification for US-005"));
    assert_eq!(project.read(".ai/STATE.json"), before);
}

#[test]
fn story_why_names_what_holds_a_story_back() {
    let project = StoryTestProject::with_story();
    project.json(&["start", "US-006", "--blocked-by", "US-005", "--blocked-by", "US-007"]);
    let why = project.json(&["why", "--story", "US-006"]);
    let texts: Vec<&str> = why["reasons"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|reason| reason["text"].as_str())
        .collect();
    assert_eq!(
        texts,
        [
            "It depends on the story US-005, which is at bdd, pending.",
            "It depends on the story US-007, which was not started.",
            "Its steps are started by hand: call `adjutant story next`.",
        ]
    );
    assert!(why["caller_instruction"].is_string() && why["next_step"].is_string(), "{why}");
}

#[test]
fn story_diff_shows_the_change_of_a_story() {
    let project = StoryTestProject::empty();
    project.init_git();
    project.write("cart.rs", "one\n");
    project.git(&["add", "-A"]);
    project.git(&["commit", "-q", "-m", "begin"]);
    project.json(&["start", "US-005"]);
    project.write("cart.rs", "two\n");
    let diff = project.json(&["diff"]);
    assert_eq!(diff["changed"]["files"], json!(["cart.rs"]));
    let patch = diff["diff"].as_str().expect("a patch");
    assert!(patch.contains("-one\n+two\n"), "{patch}");
    assert_eq!(StoryTestProject::with_story().run_refused(&["diff"]).1, "no_base_commit");
}
