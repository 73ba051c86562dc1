//! Golden files of the prompts of story steps, and of the files written into a project.

use std::fs;

use adjutant_core::story::{ExecutorMessage, HumanNote, StoryState, TestTotals};
use adjutant_model::story::{Step, StepStatus, StoryId};
use adjutant_test_support::golden::GoldenFolder;

use super::init::{install_in_claude, install_in_git, skeleton};
use super::prompt::prompt;
use crate::files::rules::defaults;
use crate::files::{StateSlot, StoryFolder};

fn story() -> StoryId {
    StoryId::parse("US-005").expect("a story id")
}

fn first(step: Step) -> StoryState {
    let story = (step != Step::Bootstrap).then(story);
    StoryState { status: StepStatus::Running, ..StoryState::new("cart-app", story, step) }
}

/// A later attempt, with every value that a prompt can have.
fn later(step: Step) -> StoryState {
    StoryState {
        attempt: 2,
        tests: Some(TestTotals { pass: 3, fail: 1, skip: 2 }),
        failing_tests: vec!["cart::adds".into(), "cart::removes".into()],
        human_note: Some(HumanNote {
            text: "Mind the tax.\nAll of it.".into(),
            is_delivered: true,
        }),
        last_error: Some("1 test fails".into()),
        message: ExecutorMessage::new(
            Some("The tax rule contradicts US-003."),
            ["Is tax included?".to_owned()],
            Some("The draft is in docs/bdd/US-005.md."),
        ),
        previous: Some("2 tests fail".into()),
        ..first(step)
    }
}

#[test]
fn story_prompts_match_golden_files() {
    let root = tempfile::tempdir().expect("a temporary folder");
    let folder = StoryFolder::at(root.path());
    fs::create_dir_all(root.path().join(".ai")).expect("a folder");
    fs::write(root.path().join(".ai/HANDOFF.md"), "").expect("a file");
    fs::write(root.path().join("CONSTITUTION.md"), "").expect("a file");
    let mut golden = GoldenFolder::new("work-orders/stories");
    let rules = defaults();
    let filled =
        |state: &StoryState, slot| prompt(&folder, &rules, state, &slot).expect("a prompt");
    for step in Step::ALL {
        golden.add(format!("{step}/first-attempt.md"), filled(&first(step), StateSlot::Main));
        golden.add(
            format!("{step}/later-attempt.md"),
            filled(&later(step), StateSlot::Story(story())),
        );
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
