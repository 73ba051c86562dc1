//! What is obeyed only after a person's yes: data folders, configurations, checks in task files, and
//! branches that change what Adjutant runs.

mod config_acceptance;
mod folder_owner;
mod project;
mod protected_paths;
mod story_acceptance;
mod task_checks;
