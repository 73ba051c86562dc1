//! Looks for what is wrong in a folder, and mends what can be mended without losing anything.

mod events;
mod fix;
mod tasks;

pub use fix::{Mended, mend};

use super::disk::Disk;
use super::folder::Folder;
use super::format_check::check_format;
use super::open::INDEX;
use crate::document::{FORMAT_FILE, JOURNAL};
use crate::format::FormatPart;
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
    /// The folder was written by a newer version.
    FormatNewer,
    /// The file that says which format the folder has cannot be read.
    FormatUnreadable,
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
    /// The fleet speaks another wire protocol than this version.
    FleetProtocolDiffers,
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
            Self::FormatNewer => "format_newer",
            Self::FormatUnreadable => "format_unreadable",
            Self::NotifyTarget => "notify_target",
            Self::SandboxUnavailable => "sandbox_unavailable",
            Self::FleetUnreachable => "fleet_unreachable",
            Self::FleetRecordBroken => "fleet_record_broken",
            Self::FleetStreamAltered => "fleet_stream_altered",
            Self::FleetFolderDiffers => "fleet_folder_differs",
            Self::FleetProtocolDiffers => "fleet_protocol_differs",
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
            | Self::FormatNewer
            | Self::FormatUnreadable
            | Self::NotifyTarget
            | Self::SandboxUnavailable
            | Self::FleetUnreachable
            | Self::FleetRecordBroken
            | Self::FleetStreamAltered
            | Self::FleetFolderDiffers
            | Self::FleetProtocolDiffers => false,
        }
    }
}

impl Finding {
    /// Makes a finding.
    pub fn new(code: Code, path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { code, path: path.into(), text: text.into() }
    }
}

/// Returns what is wrong with the format of a folder. What this version cannot read it must not judge
/// or mend, so that this is the only finding then.
pub fn examine_format(folder: &Folder) -> Result<Option<Finding>, StoreError> {
    match check_format(folder) {
        Ok(()) => Ok(None),
        Err(StoreError::Newer(format)) => {
            let text = format!("{format}; install a newer version");
            Ok(Some(Finding::new(Code::FormatNewer, place(format.part), text)))
        }
        Err(StoreError::Damaged { what, .. }) => {
            let text = format!("{what}; {UNREADABLE_ADVICE}");
            Ok(Some(Finding::new(Code::FormatUnreadable, FORMAT_FILE, text)))
        }
        Err(error) => Err(error),
    }
}

/// What to do about a `format.json` that holds no numbers.
const UNREADABLE_ADVICE: &str = "put it back from git or a backup; if no other version of Adjutant \
                                 was used on this folder, `adjutant init` elsewhere makes one to copy";

/// Returns the file that says the format of a part.
fn place(part: FormatPart) -> &'static str {
    match part {
        FormatPart::Folder | FormatPart::EventLog | FormatPart::Archive => FORMAT_FILE,
        FormatPart::Journal => JOURNAL,
        FormatPart::Index => INDEX,
    }
}

/// Looks at everything in a folder. Changes nothing and takes no lock.
pub fn examine(folder: &Folder) -> Result<Vec<Finding>, StoreError> {
    if let Some(finding) = examine_format(folder)? {
        return Ok(vec![finding]);
    }
    let disk = Disk::open(folder)?;
    let mut findings = tasks::journal(&disk)?;
    findings.extend(tasks::examine(&disk)?);
    findings.extend(events::examine(&disk)?);
    Ok(findings)
}
