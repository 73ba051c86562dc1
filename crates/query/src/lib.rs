//! Typed views of a project, for every reader: the command line, HTTP, MCP, the board and `top`.
//!
//! A view is computed from the world and from files. Its serialized form is what `--json` and HTTP
//! show. Nothing here changes a project, and nothing here renders text for a terminal or a page.

pub mod agents;
pub mod answer;
pub mod approval;
pub mod changes;
pub mod event_text;
pub mod failure;
mod fleet_log;
pub mod inbox;
pub mod installed_agents;
mod late_reports;
mod project;
pub mod run;
mod run_credentials;
pub mod run_log;
pub mod status;
pub mod story;
pub mod task;
mod task_cache;
pub mod task_list;
pub mod task_reference;
pub mod text;
pub mod unaccepted_stories;
pub mod why;

pub use project::{LoadWorld, ProjectQueries, TaskRow, open_secret};
pub use run_credentials::RunCredentials;
