//! The runtime's tests, on real folders, real processes and real git.

mod aof_folder;
mod doctor;
mod hand_edits;
mod ipc;
mod processes;
mod session_end;
mod smoke;
mod streams;
mod testrun;
mod ticks;
mod workspace;
mod worktree;
