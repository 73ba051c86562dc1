//! Repairs what can be repaired, and moves what has no place to `lost+found`.

use adjutant_model::{Status, TaskId};

use super::tasks::find_tasks;
use super::{DoctorFinding, FindingCode, examine, examine_format, log_end};
use crate::document_paths::{EVENTS, companion_folder, task_file, task_of_path};
use crate::file::disk::{FolderDisk, PathState, TEMPORARY};
use crate::file::edit_detection::{TaskText, find_task_files, read_task_file};
use crate::file::folder::DataFolder;
use crate::file::open::take_lock;
use crate::file::{FileStore, prewritten_commit};
use crate::frontmatter::{self, FieldEdit, FrontMatterParts};
use crate::store::StoreError;
use crate::taskfile::{self, ParsedTask};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoctorRepair {
    pub finding: DoctorFinding,
    /// One sentence that says what was repaired.
    pub done: String,
}

/// How many rounds of repairs are made, because a repair can expose another problem.
const ROUNDS_MAX: u32 = 10;

/// Repairs what can be repaired, under the write lock, and creates missing folders. Unfinished
/// commits are finished first, by opening the folder.
pub fn repair(folder: &DataFolder) -> Result<Vec<DoctorRepair>, StoreError> {
    if examine_format(folder)?.is_some() {
        return Ok(vec![]);
    }
    finish_commits(folder)?;
    let _turn = take_lock(folder.root())?;
    let mut disk = FolderDisk::open(folder)?;
    let mut mended = Vec::new();
    // A repair can expose another problem: when a copy of a task goes to `lost+found`, its
    // companion folder becomes an orphan.
    for _ in 0..ROUNDS_MAX {
        let before = mended.len();
        let findings = examine(folder)?;
        let pending = findings.iter().any(|finding| finding.code == FindingCode::JournalPending);
        for finding in findings.into_iter().filter(|finding| finding.code.is_fixable()) {
            if pending && finding.code == FindingCode::LeftoverTemporary {
                // The file may be what a person saved; only finishing the commit can tell.
                continue;
            }
            let done = repair_one(&mut disk, &finding)?;
            mended.extend(done.map(|done| DoctorRepair { finding, done }));
        }
        if mended.len() == before {
            break;
        }
    }
    disk.sync()?;
    Ok(mended)
}

/// Finishes pending commits, whose half-written files must not be taken for edits. If the folder
/// cannot be opened, it is repaired as it is.
fn finish_commits(folder: &DataFolder) -> Result<(), StoreError> {
    let is_pending = |finding: &DoctorFinding| finding.code == FindingCode::JournalPending;
    if examine(folder)?.iter().any(is_pending) || prewritten_commit::has_prewritten(folder.root()) {
        drop(FileStore::open(folder));
    }
    Ok(())
}

fn repair_one(
    disk: &mut FolderDisk,
    finding: &DoctorFinding,
) -> Result<Option<String>, StoreError> {
    match finding.code {
        FindingCode::TaskOnHold => mend_rights(disk, &finding.path),
        FindingCode::TaskInTwoFolders => keep_latest_copy(disk, finding),
        FindingCode::StatusAtOdds => fix_status(disk, finding),
        FindingCode::OrphanCompanion => place_companion(disk, &finding.path).map(Some),
        FindingCode::LeftoverTemporary => remove_leftover(disk, &finding.path).map(Some),
        FindingCode::EventLogBehind => log_end::continue_log(disk).map(Some),
        FindingCode::TornEventTail => cut_torn_line(disk, &finding.path).map(Some),
        // Opening the folder finishes pending commits; the rest needs a person's decision.
        FindingCode::JournalPending
        | FindingCode::TaskUnreadable
        | FindingCode::StrayFile
        | FindingCode::RunInTwoFolders
        | FindingCode::EventUnreadable
        | FindingCode::EventGap
        | FindingCode::EventChainBroken
        | FindingCode::GitTracksPrivate
        | FindingCode::JournalDamaged
        | FindingCode::FormatNewer
        | FindingCode::FormatUnreadable
        | FindingCode::NotifyTarget
        | FindingCode::SandboxUnavailable
        | FindingCode::GitUnusable
        | FindingCode::ConfigInvalid
        | FindingCode::ConfigUnaccepted
        | FindingCode::ProgramMissing
        | FindingCode::FleetUnreachable
        | FindingCode::FleetRecordBroken
        | FindingCode::FleetStreamAltered
        | FindingCode::FleetFolderDiffers
        | FindingCode::FleetProtocolDiffers => Ok(None),
    }
}

/// Gives this process the right to change the files of a task on hold, then makes the changes that
/// wait. What belongs to another user stays as it is.
fn mend_rights(disk: &mut FolderDisk, path: &str) -> Result<Option<String>, StoreError> {
    let Some(id) = task_of_path(path) else { return Ok(None) };
    disk.mend_rights(path);
    disk.retry_held()?;
    let status = find_task_files(disk, &id)?.first().map(|(status, _)| *status);
    let is_mended =
        disk.held.tasks().all(|(held, _)| *held != id) && disk.probe(&id, status).is_none();
    Ok(is_mended.then(|| format!("its files can be changed again, so {id} continues")))
}

/// Keeps the copy with the latest transition, and moves the others to `lost+found`.
fn keep_latest_copy(
    disk: &mut FolderDisk,
    finding: &DoctorFinding,
) -> Result<Option<String>, StoreError> {
    let (places, _) = find_tasks(disk)?;
    let found = places
        .iter()
        .find(|(id, folders)| folders.len() > 1 && finding.path == task_file(folders[0], id));
    let Some((id, folders)) = found else { return Ok(None) };
    let mut copies = Vec::new();
    for status in folders {
        let moved = parse_copy(disk, id, *status)?.map(|parsed| parsed.task.last_transition_at);
        copies.push((moved, *status));
    }
    copies.sort_unstable();
    let Some((_, kept)) = copies.pop() else { return Ok(None) };
    let mut aside = Vec::new();
    for (_, status) in copies {
        aside.push(disk.move_to_lost_found(&task_file(status, id))?);
    }
    Ok(Some(format!(
        "kept the copy in {kept}, which moved last; moved the other to {}",
        aside.join(", ")
    )))
}

fn parse_copy(
    disk: &FolderDisk,
    id: &TaskId,
    status: Status,
) -> Result<Option<ParsedTask>, StoreError> {
    let TaskText::Bytes(bytes, _) = read_task_file(disk, &task_file(status, id))? else {
        return Ok(None);
    };
    let text = String::from_utf8(bytes).ok();
    Ok(text.and_then(|text| taskfile::parse(&text, Some(id), Some(status)).ok()))
}

/// Sets the status in the front matter to that of the folder.
fn fix_status(
    disk: &mut FolderDisk,
    finding: &DoctorFinding,
) -> Result<Option<String>, StoreError> {
    let folder = finding.path.split('/').nth(1).unwrap_or_default();
    let Some(text) = disk.read_text(&finding.path)? else { return Ok(None) };
    let Ok(parts) = FrontMatterParts::split(&text) else { return Ok(None) };
    let edit = FieldEdit { path: &["status"], value: Some(folder.into()) };
    let Ok(yaml) = frontmatter::edit(parts.yaml(), &[edit], parts.eol()) else { return Ok(None) };
    let staged = disk.stage(parts.join(&yaml, parts.body()))?;
    disk.install(&staged, &finding.path)?;
    Ok(Some(format!("set status to {folder}, the name of its folder")))
}

/// Moves a companion folder to its task, or to `lost+found` if it has none.
fn place_companion(disk: &mut FolderDisk, path: &str) -> Result<String, StoreError> {
    let (places, _) = find_tasks(disk)?;
    let id = path.rsplit('/').next().and_then(|name| TaskId::parse(name).ok());
    let home = id.and_then(|id| Some((places.get(&id)?.first().copied()?, id)));
    if let Some((status, id)) = home {
        let to = companion_folder(status, &id);
        if matches!(disk.path_state(&to)?, PathState::Missing) {
            disk.move_path(path, &to)?;
            return Ok(format!("moved it to {to}, next to its task"));
        }
    }
    Ok(format!("moved it to {}", disk.move_to_lost_found(path)?))
}

/// Removes our own temporary files. Files of other programs may be the only copy, so they
/// go to `lost+found`.
fn remove_leftover(disk: &mut FolderDisk, path: &str) -> Result<String, StoreError> {
    if path.starts_with(TEMPORARY) && matches!(disk.path_state(path)?, PathState::File(_)) {
        disk.remove(path)?;
        return Ok("removed it".to_owned());
    }
    Ok(format!("moved it to {}", disk.move_to_lost_found(path)?))
}

/// Cuts off the incomplete line, and keeps a copy of it in `lost+found`.
fn cut_torn_line(disk: &mut FolderDisk, path: &str) -> Result<String, StoreError> {
    let Some((bytes, _)) = disk.read(path)? else {
        return Ok("the file no longer exists".to_owned());
    };
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let piece = disk.stage(&bytes[whole..])?;
    let name = path.trim_start_matches(EVENTS).trim_start_matches('/');
    let aside = disk.keep_in_lost_found(&piece, &format!("{name}.torn"))?;
    let full = disk.root().join(path);
    let file = std::fs::OpenOptions::new().write(true).open(&full);
    file.and_then(|file| file.set_len(whole as u64)).map_err(StoreError::io("cut", full))?;
    Ok(format!("cut off {} bytes and kept them in {aside}", bytes.len() - whole))
}
