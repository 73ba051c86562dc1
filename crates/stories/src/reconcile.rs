//! Keeps the tasks of a data folder in line with the project's stories: reads their positions for
//! the engine, advances automatic stories, and applies decisions made on the board to the files.

mod board_decision;
mod project_files;
mod reconciler;
mod run_result;
mod story_board;

pub use project_files::LocalProjectFiles;
pub use reconciler::{
    ReconcilerWaker, StoryReconciler, WakeReceiver, reconcile_once, wake_channel,
};
pub use story_board::ReconcilerConfig;

#[cfg(test)]
mod tests;
