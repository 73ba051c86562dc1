//! What an executor says: it reaches the person who is asked and the next executor.

use serde_json::{Value, json};

use crate::story::support::{StoryTestProject, adjutant, answer, story_position_text};

/// Returns a project with a data folder and a started story.
fn project_on_board() -> StoryTestProject {
    let project = StoryTestProject::with_folder_name("cart");
    let made = adjutant().arg("init").arg(project.root()).output().expect("it starts");
    assert!(made.status.success(), "{made:?}");
    project.json(&["start", "US-005"]);
    project
}

/// Dispatches the current step, and hands it over with a question for a person.
fn ask_person(project: &StoryTestProject) -> Value {
    project.json(&["next"]);
    project.write(
        ".ai/HANDOFF.md",
        "---\nstory: US-005\nstep: bdd\nattempt: 1\nstatus: needs_human\n\
         reason: needs_clarification\nquestions:\n  - Is tax included?\n---\n\n\
         # HANDOFF\n\nThe draft is in docs/bdd/US-005.md.\n",
    );
    project.write(
        ".ai/executor-result",
        "status: needs_human\nreason: needs_clarification\nsummary: Which currency is meant?\n",
    );
    project.json(&["hook"])
}

fn run(project: &StoryTestProject, args: &[&str]) -> Value {
    let mut command = adjutant();
    command.args(args).arg("--json").current_dir(project.root());
    answer(&command.output().expect("it starts")).1
}

fn text_of(project: &StoryTestProject, args: &[&str]) -> String {
    let output = adjutant().args(args).current_dir(project.root()).output().expect("it starts");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn executor_question_reaches_the_person() {
    let project = project_on_board();
    let hooked = ask_person(&project);
    assert_eq!(story_position_text(&hooked), "bdd 1 needs_human");
    assert_eq!(hooked["summary"], "Which currency is meant?");
    assert_eq!(hooked["questions"], json!(["Is tax included?"]));
    let notes = hooked["notes"].as_str().expect("notes");
    assert!(notes.contains("The draft is in docs/bdd/US-005.md."), "{notes}");
    let all =
        ["Which currency is meant?", "needs_clarification", "Is tax included?", "The draft is in"];
    let instruction = hooked["caller_instruction"].as_str().expect("an instruction");
    let item = run(&project, &["inbox"])[0].clone();
    assert_eq!(item["summary"], "Which currency is meant?", "{item}");
    let shown = text_of(&project, &["inbox"]);
    let status = text_of(&project, &["story", "status"]);
    for said in all {
        assert!(instruction.contains(said), "{said}: {instruction}");
        assert!(shown.contains(said), "{said}: {shown}");
        assert!(status.contains(said), "{said}: {status}");
    }
    let text = item["text"].as_str().expect("a text");
    assert!(text.contains("(needs_clarification): Which currency is meant?"), "{text}");
}

#[test]
fn executor_question_and_its_answer_are_in_the_next_prompt() {
    let project = project_on_board();
    ask_person(&project);
    project.json(&["approve", "--note", "Euro, with tax."]);
    let prompt = project.json(&["next"])["prompt"].as_str().expect("a prompt").to_owned();
    for said in ["Which currency is meant?", "- Is tax included?", "Euro, with tax."] {
        assert!(prompt.contains(said), "{said}: {prompt}");
    }
}

#[test]
fn executor_summary_of_a_failure_is_in_the_next_prompt() {
    let project = StoryTestProject::with_story();
    project.json(&["next"]);
    project.write(
        ".ai/executor-result",
        "status: failing\nreason: null\nsummary: The scenarios contradict rule 4\n",
    );
    project.json(&["hook"]);
    let prompt = project.json(&["next"])["prompt"].as_str().expect("a prompt").to_owned();
    assert!(prompt.contains("The scenarios contradict rule 4"), "{prompt}");
    // A later report replaces it.
    project.hand_over("pass");
    assert_eq!(project.json(&["hook"])["summary"], json!(null));
}

#[test]
fn executor_message_is_shortened() {
    let project = StoryTestProject::with_story();
    project.json(&["next"]);
    let long = "x".repeat(100_000);
    project.write(
        ".ai/HANDOFF.md",
        &format!("---\nstory: US-005\nstatus: needs_human\nsummary: {long}\n---\n{long}\n"),
    );
    let hooked = project.json(&["hook"]);
    assert!(hooked["summary"].as_str().expect("a summary").chars().count() <= 1_000);
    assert!(hooked["notes"].as_str().expect("notes").chars().count() <= 8_000);
}
