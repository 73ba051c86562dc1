//! Workspaces of runs in git: what a run changed, worktrees, and merges.
//!
//! Git never reads the configuration of a repository that an agent can write.

pub mod git_version;
pub mod tracked_files;
pub mod workspace;
pub mod worktree;
