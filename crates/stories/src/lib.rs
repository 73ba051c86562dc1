//! Stories of a project, in three layers that know only those before them.
//!
//! - [`files`] owns the formats of the `.ai` folder.
//! - [`driver`] performs commands on stories with these files alone: no daemon or data folder is
//!   needed. Every command locks, reads once, asks the core, writes once and answers.
//! - [`reconcile`] keeps the tasks of a data folder in line with the files.
//!
//! The core decides where a story moves.

pub mod files;

pub mod driver;

pub mod reconcile;

pub use driver::{
    HookTrigger, StepChecks, StoryAutomation, StoryCommandAnswer, StoryCommandResult, StoryError,
    StoryProject, changes, init,
};
pub use reconcile::LocalProjectFiles;
