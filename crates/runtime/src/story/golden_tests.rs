//! Golden files of the prompts of story steps, and of what is written into a project.

use std::fs;

use adjutant_core::pipeline::{Note, State, Status, Step, StoryId, Tests};
use adjutant_store::story::rules::defaults;
use adjutant_store::story::{Folder, Slot};
use adjutant_test_support::golden::GoldenFolder;

use super::init::{install_in_claude, install_in_git, skeleton};
use super::prompt::prompt;

fn story() -> StoryId {
    StoryId::parse("US-005").expect("a story id")
}

fn first(step: Step) -> State {
    let story = (step != Step::Bootstrap).then(story);
    State { status: Status::Running, ..State::begin("cart-app", story, step) }
}

/// A later attempt, with everything an executor can be told.
fn later(step: Step) -> State {
    State {
        attempt: 2,
        tests: Some(Tests { pass: 3, fail: 1, skip: 2 }),
        failing_tests: vec!["cart::adds".into(), "cart::removes".into()],
        human_note: Some(Note { text: "Mind the tax.\nAll of it.".into(), told: true }),
        last_error: Some("1 test fails".into()),
        previous: Some("2 tests fail".into()),
        ..first(step)
    }
}

#[test]
fn story_prompts_match_golden_files() {
    let root = tempfile::tempdir().expect("a temporary folder");
    let folder = Folder::at(root.path());
    fs::create_dir_all(root.path().join(".ai")).expect("a folder");
    fs::write(root.path().join(".ai/HANDOFF.md"), "").expect("a file");
    fs::write(root.path().join("CONSTITUTION.md"), "").expect("a file");
    let mut golden = GoldenFolder::new("work-orders/stories");
    let rules = defaults();
    let told = |state: &State, slot| prompt(&folder, &rules, state, &slot).expect("a prompt");
    for step in Step::ALL {
        golden.add(format!("{step}/first-attempt.md"), told(&first(step), Slot::Main));
        golden.add(format!("{step}/later-attempt.md"), told(&later(step), Slot::Story(story())));
    }
    golden.check();
}

#[test]
fn story_project_matches_golden_files() {
    let parent = tempfile::tempdir().expect("a temporary folder");
    let root = parent.path().join("cart-app");
    fs::create_dir_all(root.join(".claude")).expect("a folder");
    let settings = r#"{"model": "large", "hooks": {"Stop": [{"hooks": []}]}}"#;
    fs::write(root.join(".claude/settings.json"), settings).expect("a file");
    let git = std::process::Command::new("git").arg("init").arg("-q").arg(&root).status();
    assert!(git.expect("git starts").success());
    let mut made = skeleton(&root).expect("a skeleton");
    install_in_claude(&root, &mut made).expect("a hook");
    install_in_git(&root, &mut made).expect("a hook");
    let again = skeleton(&root).expect("a skeleton");
    let read = |name: &str| fs::read_to_string(root.join(name)).expect("the file is there");
    let mut golden = GoldenFolder::new("story-project");
    let listed = format!("{}\n\n{}\n", made.made.join("\n"), again.kept.join("\n"));
    golden.add("made-and-kept.txt", listed);
    golden.add("STATE.json", read(".ai/STATE.json"));
    golden.add("claude-settings.json", read(".claude/settings.json"));
    golden.add("git-post-commit.sh", read(".git/hooks/post-commit"));
    golden.check();
}
