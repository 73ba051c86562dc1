//! What holds of every task file, every event and every course of events.

mod generate;
mod record;
mod replay;
mod taskfile;
