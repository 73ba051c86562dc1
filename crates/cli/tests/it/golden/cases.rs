//! The scenarios whose commands are recorded: each makes a project of its own.

mod daemon;
mod documents;
mod folder;
mod inbox;
pub(super) mod messages;
mod reports;
mod runs;
mod stories;
mod tasks;
mod usage;

use super::transcript::Transcript;

/// Makes projects and records commands on them.
pub(super) type Scenario = fn(&mut Transcript<'_>);

pub(super) const SCENARIOS: [Scenario; 14] = [
    usage::record,
    folder::record_init,
    folder::record_doctor,
    folder::record_archive,
    tasks::record,
    inbox::record,
    messages::record,
    reports::record,
    documents::record,
    runs::record,
    runs::record_worktree,
    daemon::record,
    stories::record,
    stories::record_refusals,
];
