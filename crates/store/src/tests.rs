//! Golden files of everything a store writes: event lines, task files, run files and commits.

pub(crate) mod events;
pub(crate) mod samples;
pub(crate) mod task;

mod errors;
mod event_lines;
mod problems;
mod task_files;
