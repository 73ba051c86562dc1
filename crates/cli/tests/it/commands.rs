//! The command as a person or a script meets it: real processes on real folders.

pub(crate) mod support;

mod documents;
mod examples;

mod config;
mod finding;
mod init;
mod usage;

mod agents;
mod daemon;
mod demo;
mod events;
mod export;
mod logs;
mod mcp;
mod processes;
mod refusals;
mod report;
mod send;
mod service;
mod session_end;
mod task;

mod check;
mod doctor;
mod manual;

mod by_hand;
mod inside_run;
mod terminal;
mod tick;

mod bad_files;
mod bad_messages;
mod escapes;
mod in_the_way;
