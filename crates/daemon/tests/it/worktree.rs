//! Worktrees, with real git: saved work is restored, and nothing an agent left is run.

mod hostile;
mod merging;
mod saved;
mod support;
