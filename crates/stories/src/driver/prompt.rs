//! The prompt of a step: the project's template or the built-in one, filled with
//! the story's values.

use std::path::{Path, PathBuf};

use adjutant_core::story::prompt::{BadTemplate, TemplateValue, TemplateValues, fill_template};
use adjutant_core::story::{ExecutorMessage, StepRuleTable, StoryState};
use adjutant_model::story::{Step, StepStatus};

use crate::files::folder::{PROMPT, PROMPTS};
use crate::files::rules::defaults;
use crate::files::{StateSlot, StoryFolder};

/// The built-in template.
const TEMPLATE: &str = include_str!("prompt.md");

/// The hand-over file that the rules name.
const SHARED: &str = ".ai/HANDOFF.md";

/// A template that cannot be read or filled.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    #[error("cannot read the template {}", .0.display())]
    Unreadable(PathBuf, #[source] std::io::Error),
    #[error("{}, {what}", .path.display())]
    Invalid { path: PathBuf, what: BadTemplate },
}

/// Returns the prompt for an executor of the current step.
pub(super) fn prompt(
    folder: &StoryFolder,
    rules: &StepRuleTable,
    state: &StoryState,
    slot: &StateSlot,
) -> Result<String, PromptError> {
    let (path, template) = template(folder, state.step)?;
    let filled = fill_template(&template, &values(folder.root(), rules, state, &slot.handoff()));
    filled.map_err(|what| PromptError::Invalid { path, what })
}

/// Returns the project's template for the step, or its template for all steps, or the built-in one.
fn template(folder: &StoryFolder, step: Step) -> Result<(PathBuf, String), PromptError> {
    for path in [folder.path(&format!("{PROMPTS}/{step}.md")), folder.path(PROMPT)] {
        match std::fs::read_to_string(&path) {
            Ok(text) => return Ok((path, text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(PromptError::Unreadable(path, error)),
        }
    }
    Ok((PathBuf::from("the template"), TEMPLATE.to_owned()))
}

/// The files that show the language of a project, and the patterns of its tests and its code.
const LANGUAGES: [(&str, &str, &str); 9] = [
    ("go.mod", "*_test.go", "*.go"),
    ("package.json", "*.spec.ts", "*.ts"),
    ("tsconfig.json", "*.spec.ts", "*.ts"),
    ("Cargo.toml", "tests/*.rs", "*.rs"),
    ("pyproject.toml", "test_*.py", "*.py"),
    ("setup.py", "test_*.py", "*.py"),
    ("setup.cfg", "test_*.py", "*.py"),
    ("requirements.txt", "test_*.py", "*.py"),
    ("pytest.ini", "test_*.py", "*.py"),
];

/// Returns the patterns of the languages that a project uses, in place of the protocol's own ones;
/// `None` if the project has its own patterns, or if its language is not known.
fn code_patterns(root: &Path, step: Step, writes: &[String]) -> Option<Vec<String>> {
    let is_default = defaults().get(step).is_some_and(|rule| rule.claude_writes == writes);
    if !is_default || !matches!(step, Step::Scaffold | Step::Impl) {
        return None;
    }
    let used = LANGUAGES.iter().filter(|(file, ..)| root.join(file).is_file());
    let pattern = |(_, tests, code): &(&str, &str, &str)| match step {
        Step::Scaffold => (*tests).to_owned(),
        _ => (*code).to_owned(),
    };
    let mut patterns: Vec<String> = used.map(pattern).collect();
    patterns.dedup();
    (!patterns.is_empty()).then_some(patterns)
}

fn values(root: &Path, rules: &StepRuleTable, state: &StoryState, handoff: &str) -> TemplateValues {
    let rule = rules.get(state.step);
    let name = state.story.as_ref().map_or("BOOTSTRAP", |story| story.as_str());
    let fill =
        |path: &String| state.story.as_ref().map_or(path.clone(), |story| story.fill_path(path));
    // An executor reads the hand-over of its own story, not another's.
    let fill = |path: &String| {
        let path = fill(path);
        if path == SHARED { handoff.to_owned() } else { path }
    };
    let all = |list: Option<&Vec<String>>| list.into_iter().flatten().map(fill).collect::<Vec<_>>();
    let reads = all(rule.map(|rule| &rule.claude_reads));
    let (there, missing) = reads.into_iter().partition(|path| root.join(path).exists());
    let writes = rule.map_or(&[][..], |rule| &rule.claude_writes);
    let writes = code_patterns(root, state.step, writes).unwrap_or_else(|| writes.to_vec());
    let writes = all(Some(&writes));
    let text = |text: Option<String>| TemplateValue::Text(text.unwrap_or_default());
    let retry = state.attempt > 1 || state.step == Step::Impl;
    let failing = if retry { state.failing_tests.clone() } else { vec![] };
    let counts = state.tests.filter(|_| state.step == Step::UpdateMemory);
    let counts =
        counts.map(|t| format!("{} passed, {} failed, {} skipped", t.pass, t.fail, t.skip));
    let next = rule.map_or(Step::Done, |rule| rule.next_on_pass);
    let note = state
        .human_note
        .as_ref()
        .filter(|note| note.is_delivered || state.status != StepStatus::Running);
    let message = state.message.as_ref();
    let questions = message.map(|message| message.questions().to_vec()).unwrap_or_default();
    TemplateValues::from([
        ("project", TemplateValue::Text(state.project.clone())),
        ("story", TemplateValue::Text(name.to_owned())),
        ("step", TemplateValue::Text(state.step.to_string())),
        ("step_display_name", text(rule.map(|rule| rule.display_name.clone()))),
        ("step_instruction", text(rule.map(|rule| rule.step_instruction.clone()))),
        ("attempt", TemplateValue::Number(state.attempt)),
        ("max_attempts", TemplateValue::Number(rule.map_or(1, |rule| rule.max_attempts))),
        ("claude_reads", TemplateValue::List(there)),
        ("missing_reads", TemplateValue::List(missing)),
        ("claude_writes", TemplateValue::List(writes)),
        ("human_note", text(note.map(|note| note.text.clone()))),
        ("previous_error", text(state.previous.clone())),
        ("previous_summary", text(message.and_then(ExecutorMessage::summary).map(str::to_owned))),
        ("questions", TemplateValue::List(questions)),
        ("failing_tests", TemplateValue::List(failing)),
        ("tests", text(counts)),
        ("handoff", TemplateValue::Text(handoff.to_owned())),
        ("next_step", TemplateValue::Text(next.to_string())),
    ])
}
