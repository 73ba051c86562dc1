//! Looks for what is wrong in a folder, and mends what can be mended without losing anything.

mod events;
mod fix;
mod tasks;

pub use fix::{Mended, mend};

use super::disk::Disk;
use super::folder::Folder;
use crate::store::StoreError;

/// Something wrong in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What kind of wrong.
    pub code: Code,
    /// Where, relative to the data folder.
    pub path: String,
    /// What is wrong, in a sentence.
    pub text: String,
}

/// The kinds of wrong. Scripts rely on these words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// A task file cannot be read as a task.
    TaskUnreadable,
    /// A task lies in more than one folder.
    TaskInTwoFolders,
    /// The folder says one status, the front matter another.
    StatusAtOdds,
    /// A companion folder has no task next to it.
    OrphanCompanion,
    /// A file that was being written when its process died.
    LeftoverTemporary,
    /// A file in a status folder that is no task.
    StrayFile,
    /// A run of the original program lies where a run of ours is in its way.
    RunInTwoFolders,
    /// The last line of the record was never finished.
    TornEventTail,
    /// A line of the record cannot be read.
    EventUnreadable,
    /// Numbers are missing in the record, or come twice.
    EventGap,
    /// A line of the record is not the one that was written.
    EventChainBroken,
    /// The journal cannot be read.
    JournalDamaged,
    /// A commit is in the journal and not in the files.
    JournalPending,
    /// A rule of `[[notify]]` has a target that cannot be used.
    NotifyTarget,
    /// An agent is to be kept in a sandbox, which this machine cannot do.
    SandboxUnavailable,
    /// The servers of the fleet cannot be reached, or do not promise what is needed.
    FleetUnreachable,
    /// A commit on the servers of the fleet does not follow the one before.
    FleetRecordBroken,
    /// A stream of the fleet is not as it was made.
    FleetStreamAltered,
    /// The folder is not what the servers of the fleet have.
    FleetFolderDiffers,
}

impl Code {
    /// Returns the code as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TaskUnreadable => "task_unreadable",
            Self::TaskInTwoFolders => "task_in_two_folders",
            Self::StatusAtOdds => "status_at_odds",
            Self::OrphanCompanion => "orphan_companion",
            Self::LeftoverTemporary => "leftover_temporary",
            Self::StrayFile => "stray_file",
            Self::RunInTwoFolders => "run_in_two_folders",
            Self::TornEventTail => "torn_event_tail",
            Self::EventUnreadable => "event_unreadable",
            Self::EventGap => "event_gap",
            Self::EventChainBroken => "event_chain_broken",
            Self::JournalDamaged => "journal_damaged",
            Self::JournalPending => "journal_pending",
            Self::NotifyTarget => "notify_target",
            Self::SandboxUnavailable => "sandbox_unavailable",
            Self::FleetUnreachable => "fleet_unreachable",
            Self::FleetRecordBroken => "fleet_record_broken",
            Self::FleetStreamAltered => "fleet_stream_altered",
            Self::FleetFolderDiffers => "fleet_folder_differs",
        }
    }

    /// Says whether `doctor --fix` mends it.
    pub const fn is_fixable(self) -> bool {
        match self {
            Self::TaskInTwoFolders
            | Self::StatusAtOdds
            | Self::OrphanCompanion
            | Self::LeftoverTemporary
            | Self::TornEventTail
            | Self::JournalPending => true,
            Self::TaskUnreadable
            | Self::StrayFile
            | Self::RunInTwoFolders
            | Self::EventUnreadable
            | Self::EventGap
            | Self::EventChainBroken
            | Self::JournalDamaged
            | Self::NotifyTarget
            | Self::SandboxUnavailable
            | Self::FleetUnreachable
            | Self::FleetRecordBroken
            | Self::FleetStreamAltered
            | Self::FleetFolderDiffers => false,
        }
    }
}

impl Finding {
    /// Makes a finding.
    pub fn new(code: Code, path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { code, path: path.into(), text: text.into() }
    }
}

/// Looks at everything in a folder. Changes nothing and takes no lock.
pub fn examine(folder: &Folder) -> Result<Vec<Finding>, StoreError> {
    let disk = Disk::open(folder)?;
    let mut findings = tasks::journal(&disk)?;
    findings.extend(tasks::examine(&disk)?);
    findings.extend(events::examine(&disk)?);
    Ok(findings)
}
