//! Inspection of a run's workspace, with real git.

mod commits;
mod files;
mod hostile;
mod plain;
mod support;
