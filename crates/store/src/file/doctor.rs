//! Finds problems in a data folder, and repairs those that can be repaired without losing anything.

mod events;
mod fix;
mod log_end;
mod tasks;

pub use fix::{DoctorRepair, repair};

use super::disk::FolderDisk;
use super::folder::DataFolder;
use super::format_check::check_format;
use super::open::INDEX;
use crate::document_paths::{FORMAT_FILE, JOURNAL};
use crate::format::FormatPart;
use crate::store::StoreError;

/// A problem in a data folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoctorFinding {
    pub code: FindingCode,
    /// Relative to the data folder.
    pub path: String,
    /// One sentence for the operator.
    pub text: String,
}

/// The kinds of problems. Scripts rely on the names that `as_str` returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingCode {
    TaskUnreadable,
    /// The files of a task cannot be changed, so it is on hold.
    TaskOnHold,
    TaskInTwoFolders,
    /// The status folder and the front matter name different statuses.
    StatusAtOdds,
    OrphanCompanion,
    /// A temporary file that a process left when it died.
    LeftoverTemporary,
    StrayFile,
    /// A run of the original AOF was not taken over because a run of ours has its place.
    RunInTwoFolders,
    /// The last line of an event file is incomplete.
    TornEventTail,
    EventUnreadable,
    /// Event numbers are missing, or appear twice.
    EventGap,
    /// A line of the event log was altered after the next line was written.
    EventChainBroken,
    /// The event log ends before the last event that the store knows.
    EventLogBehind,
    /// Git tracks files that belong to this machine alone.
    GitTracksPrivate,
    JournalDamaged,
    /// A commit is in the journal and not in the files.
    JournalPending,
    FormatNewer,
    FormatUnreadable,
    NotifyTarget,
    /// The configuration asks for a sandbox that this machine cannot provide.
    SandboxUnavailable,
    /// The configuration asks for worktrees, and git is missing or too old.
    GitUnusable,
    /// The file of the configuration cannot be used.
    ConfigInvalid,
    /// The operator has not accepted the file of the configuration.
    ConfigUnaccepted,
    /// The program of a configured agent is missing or not executable.
    ProgramMissing,
    /// The NATS servers cannot be reached, or lack a guarantee that the fleet needs.
    FleetUnreachable,
    /// A commit on the NATS servers does not follow the one before.
    FleetRecordBroken,
    /// The configuration of a stream was altered.
    FleetStreamAltered,
    /// The folder differs from what the NATS servers hold.
    FleetFolderDiffers,
    FleetProtocolDiffers,
}

impl FindingCode {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TaskUnreadable => "task_unreadable",
            Self::TaskOnHold => "task_on_hold",
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
            Self::EventLogBehind => "event_log_behind",
            Self::GitTracksPrivate => "git_tracks_private",
            Self::JournalDamaged => "journal_damaged",
            Self::JournalPending => "journal_pending",
            Self::FormatNewer => "format_newer",
            Self::FormatUnreadable => "format_unreadable",
            Self::NotifyTarget => "notify_target",
            Self::SandboxUnavailable => "sandbox_unavailable",
            Self::GitUnusable => "git_unusable",
            Self::ConfigInvalid => "config_invalid",
            Self::ConfigUnaccepted => "config_unaccepted",
            Self::ProgramMissing => "program_missing",
            Self::FleetUnreachable => "fleet_unreachable",
            Self::FleetRecordBroken => "fleet_record_broken",
            Self::FleetStreamAltered => "fleet_stream_altered",
            Self::FleetFolderDiffers => "fleet_folder_differs",
            Self::FleetProtocolDiffers => "fleet_protocol_differs",
        }
    }

    pub const fn is_fixable(self) -> bool {
        match self {
            Self::TaskOnHold
            | Self::TaskInTwoFolders
            | Self::StatusAtOdds
            | Self::OrphanCompanion
            | Self::LeftoverTemporary
            | Self::TornEventTail
            | Self::EventLogBehind
            | Self::JournalPending => true,
            Self::TaskUnreadable
            | Self::StrayFile
            | Self::RunInTwoFolders
            | Self::EventUnreadable
            | Self::EventGap
            | Self::EventChainBroken
            | Self::GitTracksPrivate
            | Self::JournalDamaged
            | Self::FormatNewer
            | Self::FormatUnreadable
            | Self::NotifyTarget
            | Self::SandboxUnavailable
            | Self::GitUnusable
            | Self::ConfigInvalid
            | Self::ConfigUnaccepted
            | Self::ProgramMissing
            | Self::FleetUnreachable
            | Self::FleetRecordBroken
            | Self::FleetStreamAltered
            | Self::FleetFolderDiffers
            | Self::FleetProtocolDiffers => false,
        }
    }
}

impl DoctorFinding {
    pub fn new(code: FindingCode, path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { code, path: path.into(), text: text.into() }
    }
}

/// Returns what is wrong with the format of a folder. This version must not judge or repair a
/// format that it cannot read, so such a finding is the only one.
pub fn examine_format(folder: &DataFolder) -> Result<Option<DoctorFinding>, StoreError> {
    match check_format(folder) {
        Ok(()) => Ok(None),
        Err(StoreError::Newer(format)) => {
            let text = format!("{format}; install a newer version");
            Ok(Some(DoctorFinding::new(FindingCode::FormatNewer, format_file(format.part), text)))
        }
        Err(StoreError::Damaged { what, .. }) => {
            let text = format!("{what}; {UNREADABLE_ADVICE}");
            Ok(Some(DoctorFinding::new(FindingCode::FormatUnreadable, FORMAT_FILE, text)))
        }
        Err(error) => Err(error),
    }
}

const UNREADABLE_ADVICE: &str = "restore it from git or a backup; if only this version of \
                                 Adjutant was used on this folder, copy the one that `adjutant \
                                 init` creates in another folder";

/// Returns the file that states the format of a part.
fn format_file(part: FormatPart) -> &'static str {
    match part {
        FormatPart::Folder | FormatPart::EventLog | FormatPart::Archive => FORMAT_FILE,
        FormatPart::Journal => JOURNAL,
        FormatPart::Index => INDEX,
    }
}

/// Checks everything in a folder. Changes nothing and takes no lock.
pub fn examine(folder: &DataFolder) -> Result<Vec<DoctorFinding>, StoreError> {
    if let Some(finding) = examine_format(folder)? {
        return Ok(vec![finding]);
    }
    let mut disk = FolderDisk::open(folder)?;
    disk.refresh_held()?;
    let mut findings = tasks::check_journal(&disk)?;
    findings.extend(tasks::examine(&disk)?);
    findings.extend(events::examine(&disk)?);
    findings.extend(log_end::examine(&disk)?);
    Ok(findings)
}
