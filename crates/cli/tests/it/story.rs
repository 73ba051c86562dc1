//! Stories as a person or a script drives them: real processes on the files of real projects.

mod daemon;
mod support;

mod whole_story;

mod auto;
mod check;
mod commands;
mod executor_messages;
mod hook;
mod init;
mod several_stories;
mod story_tasks;

mod concurrent_commands;
mod foreign_files;
mod killed;
