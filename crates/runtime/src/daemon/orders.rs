//! Makes the work order of a run from the task's files.

use std::fs;
use std::io;
use std::path::Path;

use adjutant_core::Task;
use adjutant_store::document::{companion, task_file};
use adjutant_store::file::Folder;
use adjutant_store::frontmatter::Parts;
use adjutant_store::taskfile::{Limits, body_text, parse};

use crate::order::{Order, text};
use crate::supervisor::Run;

/// Writes the work order of a run, and says how long the task lets it take.
pub fn order(folder: &Folder, task: &Task, run: &Run) -> io::Result<(String, Limits)> {
    let root = folder.root();
    let file = fs::read_to_string(root.join(task_file(task.status(), &task.id)))?;
    let limits = limits(&file, task)?;
    let own = root.join(companion(task.status(), &task.id));
    let handoff = read_if_there(&own.join("inputs/handoff.md"))?;
    let answers = answers(&own.join("inputs"))?;
    let failures: Vec<&str> = task.trials.failures.iter().map(|failure| &*failure.reason).collect();
    let due = task.due_by.map(|due| due.to_string());
    let own = std::path::absolute(&own)?;
    let order = text(&Order {
        task: task.id.as_str(),
        title: &task.title,
        body: Parts::split(&file).map_or("", |parts| body_text(parts.body())),
        agent: run.agent.as_str(),
        attempt: run.attempt,
        due: due.as_deref(),
        folder: &own.to_string_lossy(),
        handoff: handoff.as_deref(),
        feedback: task.feedback.as_deref(),
        answers: &answers.iter().map(String::as_str).collect::<Vec<_>>(),
        failures: &failures,
        lines: true,
    });
    Ok((order, limits))
}

/// Returns how long the task lets a run take. A file that somebody has spoilt by now is no order.
fn limits(file: &str, task: &Task) -> io::Result<Limits> {
    let parsed = parse(file, Some(&task.id), Some(task.status()));
    parsed.map(|parsed| parsed.limits).map_err(|problems| {
        let each: Vec<String> = problems.iter().map(ToString::to_string).collect();
        io::Error::new(io::ErrorKind::InvalidData, each.join("; "))
    })
}

/// Returns what a person answered, the first answer first.
fn answers(inputs: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(inputs) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        entries => entries?,
    };
    let mut numbered: Vec<(u64, String)> = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name().into_string().unwrap_or_default();
        let number = name.strip_prefix("answer-").and_then(|rest| rest.strip_suffix(".md"));
        if let Some(number) = number.and_then(|number| number.parse().ok()) {
            numbered.extend(read_if_there(&entry.path())?.map(|text| (number, text)));
        }
    }
    numbered.sort_unstable();
    Ok(numbered.into_iter().map(|(_, text)| text).collect())
}

fn read_if_there(path: &Path) -> io::Result<Option<String>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
