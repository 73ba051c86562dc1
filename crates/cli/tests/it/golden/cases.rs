//! The scenarios whose commands are recorded. Each scenario creates its own projects.

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

use super::transcript::CommandTranscript;

/// Creates projects and records commands on them.
pub(super) type GoldenScenario = fn(&mut CommandTranscript<'_>);

pub(super) const SCENARIOS: [GoldenScenario; 15] = [
    usage::record,
    folder::record_init,
    folder::record_doctor,
    folder::record_archive,
    folder::record_trust,
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
