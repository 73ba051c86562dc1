//! What a run did to its workspace, with real git.

mod commits;
mod evil;
mod files;
mod plain;
mod support;
