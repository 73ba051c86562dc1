//! Makes the work order of a run from the task's files.

use std::fs;
use std::io;

use adjutant_core::Task;
use adjutant_store::document::task_file;
use adjutant_store::file::Folder;
use adjutant_store::taskfile::{Limits, parse};

use crate::papers::Papers;
use crate::supervisor::Run;

/// Writes the work order of a run, and says how long the task lets it take.
pub fn order(folder: &Folder, task: &Task, run: &Run) -> io::Result<(String, Limits)> {
    let file = fs::read_to_string(folder.root().join(task_file(task.status(), &task.id)))?;
    let limits = limits(&file, task)?;
    let order = Papers::read(folder, task)?.prompt(task, &run.agent, run.attempt);
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
