//! The prompt of a step: the project's template or ours, filled with what is known.

use std::path::{Path, PathBuf};

use adjutant_core::pipeline::prompt::{BadTemplate, Value, Values, fill};
use adjutant_core::pipeline::{Rules, State, Status, Step};
use adjutant_store::story::{Folder, Slot};

/// The template where a project has none of its own.
const TEMPLATE: &str = include_str!("prompt.md");

/// The hand-over that the rules name.
const SHARED: &str = ".ai/HANDOFF.md";

/// A template that cannot be filled.
#[derive(Debug, thiserror::Error)]
pub enum BadPrompt {
    /// It cannot be read.
    #[error("cannot read the template {}", .0.display())]
    Unreadable(PathBuf, #[source] std::io::Error),
    /// It makes no sense.
    #[error("{}, {what}", .path.display())]
    Nonsense {
        /// The template.
        path: PathBuf,
        /// What is wrong, and where.
        what: BadTemplate,
    },
}

/// Returns what an executor of the present step is told.
pub fn prompt(
    folder: &Folder,
    rules: &Rules,
    state: &State,
    slot: &Slot,
) -> Result<String, BadPrompt> {
    let (path, template) = template(folder, state.step)?;
    let filled = fill(&template, &values(folder.root(), rules, state, &slot.handoff()));
    filled.map_err(|what| BadPrompt::Nonsense { path, what })
}

/// A project may have a template for a step, or one for all.
fn template(folder: &Folder, step: Step) -> Result<(PathBuf, String), BadPrompt> {
    for path in [folder.path(&format!("prompts/{step}.md")), folder.path("prompt.md")] {
        match std::fs::read_to_string(&path) {
            Ok(text) => return Ok((path, text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(BadPrompt::Unreadable(path, error)),
        }
    }
    Ok((PathBuf::from("the template"), TEMPLATE.to_owned()))
}

fn values(root: &Path, rules: &Rules, state: &State, handoff: &str) -> Values {
    let rule = rules.of(state.step);
    let name = state.story.as_ref().map_or("BOOTSTRAP", |story| story.as_str());
    let fill = |path: &String| state.story.as_ref().map_or(path.clone(), |story| story.fill(path));
    // Whoever comes after reads what this story's executors left, not another's.
    let fill = |path: &String| {
        let path = fill(path);
        if path == SHARED { handoff.to_owned() } else { path }
    };
    let all = |list: Option<&Vec<String>>| list.into_iter().flatten().map(fill).collect::<Vec<_>>();
    let reads = all(rule.map(|rule| &rule.claude_reads));
    let (there, missing) = reads.into_iter().partition(|path| root.join(path).exists());
    let text = |text: Option<String>| Value::Text(text.unwrap_or_default());
    let retry = state.attempt > 1 || state.step == Step::Impl;
    let failing = if retry { state.failing_tests.clone() } else { vec![] };
    let counts = state.tests.filter(|_| state.step == Step::UpdateMemory);
    let counts =
        counts.map(|t| format!("{} passed, {} failed, {} skipped", t.pass, t.fail, t.skip));
    let next = rule.map_or(Step::Done, |rule| rule.next_on_pass);
    let note =
        state.human_note.as_ref().filter(|note| note.told || state.status != Status::Running);
    Values::from([
        ("project", Value::Text(state.project.clone())),
        ("story", Value::Text(name.to_owned())),
        ("step", Value::Text(state.step.to_string())),
        ("step_display_name", text(rule.map(|rule| rule.display_name.clone()))),
        ("step_instruction", text(rule.map(|rule| rule.step_instruction.clone()))),
        ("attempt", Value::Number(state.attempt)),
        ("max_attempts", Value::Number(rule.map_or(1, |rule| rule.max_attempts))),
        ("claude_reads", Value::List(there)),
        ("missing_reads", Value::List(missing)),
        ("claude_writes", Value::List(all(rule.map(|rule| &rule.claude_writes)))),
        ("human_note", text(note.map(|note| note.text.clone()))),
        ("previous_error", text(state.previous.clone())),
        ("failing_tests", Value::List(failing)),
        ("tests", text(counts)),
        ("handoff", Value::Text(handoff.to_owned())),
        ("next_step", Value::Text(next.to_string())),
    ])
}
