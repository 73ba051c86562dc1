//! Mends what can be mended, says what it did, and loses nothing: what has no place is put aside.

use adjutant_core::{Status, TaskId};

use super::tasks::look_around;
use super::{Code, Finding, examine, examine_format};
use crate::document::{EVENTS, companion, task_file};
use crate::file::disk::{Disk, Look, TEMPORARY};
use crate::file::folder::Folder;
use crate::file::look::{Text, read};
use crate::file::open::take_lock;
use crate::file::{FileStore, ahead};
use crate::frontmatter::{self, Edit, Parts};
use crate::store::StoreError;
use crate::taskfile::{self, Parsed};

/// Something that was mended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mended {
    /// What was wrong.
    pub finding: Finding,
    /// What was done about it.
    pub done: String,
}

/// How often what mending brought out is mended in turn.
const ROUNDS_MAX: u32 = 10;

/// Mends what can be mended, with the turn to write in hand, and makes the folders that are
/// missing. What is committed and not in the files is finished by opening the folder.
pub fn mend(folder: &Folder) -> Result<Vec<Mended>, StoreError> {
    if examine_format(folder)?.is_some() {
        return Ok(vec![]);
    }
    finish(folder)?;
    let _turn = take_lock(folder.root())?;
    let mut disk = Disk::open(folder)?;
    let mut mended = Vec::new();
    // To mend one thing may bring out another: a copy of a task that is put aside leaves its
    // companion folder an orphan.
    for _ in 0..ROUNDS_MAX {
        let before = mended.len();
        let findings = examine(folder)?;
        let pending = findings.iter().any(|finding| finding.code == Code::JournalPending);
        for finding in findings.into_iter().filter(|finding| finding.code.is_fixable()) {
            if pending && finding.code == Code::LeftoverTemporary {
                // It may be what a person saved; who finishes the commit can tell.
                continue;
            }
            let done = mend_one(&mut disk, &finding)?;
            mended.extend(done.map(|done| Mended { finding, done }));
        }
        if mended.len() == before {
            break;
        }
    }
    disk.sync()?;
    Ok(mended)
}

/// Finishes what is committed and not in the files: what it left half done must not be taken for
/// what a person did. A folder that cannot be opened is mended as it is.
fn finish(folder: &Folder) -> Result<(), StoreError> {
    let is_pending = |finding: &Finding| finding.code == Code::JournalPending;
    if examine(folder)?.iter().any(is_pending) || ahead::is_there(folder.root()) {
        drop(FileStore::open(folder));
    }
    Ok(())
}

fn mend_one(disk: &mut Disk, finding: &Finding) -> Result<Option<String>, StoreError> {
    match finding.code {
        Code::TaskInTwoFolders => keep_one(disk, finding),
        Code::StatusAtOdds => align(disk, finding),
        Code::OrphanCompanion => house(disk, &finding.path).map(Some),
        Code::LeftoverTemporary => clear(disk, &finding.path).map(Some),
        Code::TornEventTail => cut(disk, &finding.path).map(Some),
        // Opening the folder finishes what is committed; the rest is for a person to judge.
        Code::JournalPending
        | Code::TaskUnreadable
        | Code::StrayFile
        | Code::RunInTwoFolders
        | Code::EventUnreadable
        | Code::EventGap
        | Code::EventChainBroken
        | Code::JournalDamaged
        | Code::FormatNewer
        | Code::FormatUnreadable
        | Code::NotifyTarget
        | Code::SandboxUnavailable
        | Code::FleetUnreachable
        | Code::FleetRecordBroken
        | Code::FleetStreamAltered
        | Code::FleetFolderDiffers
        | Code::FleetProtocolDiffers => Ok(None),
    }
}

/// Keeps the copy that moved last, and puts the others aside.
fn keep_one(disk: &mut Disk, finding: &Finding) -> Result<Option<String>, StoreError> {
    let (places, _) = look_around(disk)?;
    let found = places
        .iter()
        .find(|(id, folders)| folders.len() > 1 && finding.path == task_file(folders[0], id));
    let Some((id, folders)) = found else { return Ok(None) };
    let mut copies = Vec::new();
    for status in folders {
        let moved = parsed(disk, id, *status)?.map(|parsed| parsed.task.last_transition_at);
        copies.push((moved, *status));
    }
    copies.sort_unstable();
    let Some((_, kept)) = copies.pop() else { return Ok(None) };
    let mut aside = Vec::new();
    for (_, status) in copies {
        aside.push(disk.set_aside(&task_file(status, id))?);
    }
    Ok(Some(format!(
        "kept the one in {kept}, which moved last; moved the other to {}",
        aside.join(", ")
    )))
}

fn parsed(disk: &Disk, id: &TaskId, status: Status) -> Result<Option<Parsed>, StoreError> {
    let Text::Bytes(bytes, _) = read(disk, &task_file(status, id))? else { return Ok(None) };
    let text = String::from_utf8(bytes).ok();
    Ok(text.and_then(|text| taskfile::parse(&text, Some(id), Some(status)).ok()))
}

/// The folder decides: the front matter is brought in line.
fn align(disk: &mut Disk, finding: &Finding) -> Result<Option<String>, StoreError> {
    let folder = finding.path.split('/').nth(1).unwrap_or_default();
    let Some(text) = disk.read_text(&finding.path)? else { return Ok(None) };
    let Ok(parts) = Parts::split(&text) else { return Ok(None) };
    let edit = Edit { path: &["status"], value: Some(folder.into()) };
    let Ok(yaml) = frontmatter::edit(parts.yaml(), &[edit], parts.eol()) else { return Ok(None) };
    let staged = disk.stage(parts.join(&yaml, parts.body()))?;
    disk.put(&staged, &finding.path)?;
    Ok(Some(format!("wrote status: {folder}, as the folder says")))
}

/// A companion folder goes to its task; without one it is put aside.
fn house(disk: &mut Disk, path: &str) -> Result<String, StoreError> {
    let (places, _) = look_around(disk)?;
    let id = path.rsplit('/').next().and_then(|name| TaskId::parse(name).ok());
    let home = id.and_then(|id| Some((places.get(&id)?.first().copied()?, id)));
    if let Some((status, id)) = home {
        let to = companion(status, &id);
        if matches!(disk.look(&to)?, Look::Nothing) {
            disk.shift(path, &to)?;
            return Ok(format!("moved it to {to}, next to its task"));
        }
    }
    Ok(format!("moved it to {}", disk.set_aside(path)?))
}

/// Our own temporary files are worth nothing; what others left might be all there is.
fn clear(disk: &mut Disk, path: &str) -> Result<String, StoreError> {
    if path.starts_with(TEMPORARY) && matches!(disk.look(path)?, Look::File(_)) {
        disk.remove(path)?;
        return Ok("removed it".to_owned());
    }
    Ok(format!("moved it to {}", disk.set_aside(path)?))
}

/// The unfinished line is kept aside, and the record ends with its last whole line.
fn cut(disk: &mut Disk, path: &str) -> Result<String, StoreError> {
    let Some((bytes, _)) = disk.read(path)? else { return Ok("it is gone".to_owned()) };
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let piece = disk.stage(&bytes[whole..])?;
    let name = path.trim_start_matches(EVENTS).trim_start_matches('/');
    let aside = disk.put_aside(&piece, &format!("{name}.torn"))?;
    let full = disk.root().join(path);
    let file = std::fs::OpenOptions::new().write(true).open(&full);
    file.and_then(|file| file.set_len(whole as u64)).map_err(StoreError::io("cut", full))?;
    Ok(format!("cut off {} bytes, kept in {aside}", bytes.len() - whole))
}
