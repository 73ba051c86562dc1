//! The command line as people and scripts use it: real processes on real folders.

pub(crate) mod support;

mod aof_examples;
mod dialect_documents;

mod command_line_errors;
mod config;
mod data_folder_lookup;
mod init;

mod agents;
mod copy_and_reopen;
mod daemon;
mod demo;
mod events;
mod export;
mod file_faults;
mod logs;
mod mcp;
mod refusals;
mod report;
mod send;
mod session_end;
mod several_tasks;
mod shim_and_script_agent;
mod systemd_unit;
mod task;
mod task_ids;
mod task_import;

mod check;
mod completions_and_man;
mod doctor;
mod help_and_version;

mod git_branches;
mod hand_edits;
mod run_permissions;
mod terminal;
mod tick;

mod bad_files;
mod bad_messages;
mod obstructed_paths;
mod path_traversal;
