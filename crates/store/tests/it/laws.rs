//! Property tests of task files, events and event histories.

mod event_log;
mod generate;
mod replay;
mod taskfile;
