//! Checks task files, companion folders and the journal.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use adjutant_core::world::file_fault::FileFault;
use adjutant_model::{Status, TaskId};

use super::{DoctorFinding, FindingCode};
use crate::document_paths::{AOF_RUNS, run_folder, status_folder, task_file};
use crate::file::disk::{FolderDisk, PathState, TEMPORARY};
use crate::file::edit_detection::{TaskText, read_task_file};
use crate::file::file_pool::is_pooled;
use crate::file::held_tasks::PathFault;
use crate::file::journal;
use crate::file::progress_marker::ProgressMarker;
use crate::plan::join_problems;
use crate::store::StoreError;
use crate::taskfile;

/// The folders in which each task has a file; there should be one.
pub(super) type TaskFolders = BTreeMap<TaskId, Vec<Status>>;

/// Checks every file in every status folder.
pub(super) fn examine(disk: &FolderDisk) -> Result<Vec<DoctorFinding>, StoreError> {
    let (places, mut findings) = find_tasks(disk)?;
    for (id, folders) in &places {
        if let [_, _, ..] = folders[..] {
            findings.push(duplicate_finding(id, folders));
        }
        for status in folders {
            findings.extend(check_task(disk, id, *status)?);
        }
        findings.extend(check_rights(disk, id, folders.first().copied()));
    }
    let gone = disk.held.tasks().filter(|(id, _)| !places.contains_key(id));
    findings.extend(gone.map(|(id, held)| hold_finding(id, held.path.clone(), &held.fault())));
    for name in disk.names(TEMPORARY)?.iter().filter(|name| !is_pooled(disk, name)) {
        findings.push(leftover_finding(format!("{TEMPORARY}/{name}")));
    }
    findings.extend(check_aof_runs(disk)?);
    Ok(findings)
}

/// Finds runs of the original AOF that were not taken over because another run has their place.
fn check_aof_runs(disk: &FolderDisk) -> Result<Vec<DoctorFinding>, StoreError> {
    let mut findings = Vec::new();
    for id in disk.names(AOF_RUNS)?.iter().filter_map(|name| TaskId::parse(name).ok()) {
        let path = run_folder(&id);
        if !matches!(disk.path_state(&path)?, PathState::Missing) {
            let text = format!("was not imported, because {path} exists as well");
            let foreign = format!("{AOF_RUNS}/{id}");
            findings.push(DoctorFinding::new(FindingCode::RunInTwoFolders, foreign, text));
        }
    }
    Ok(findings)
}

/// Finds the folders of every task, and everything in a status folder that is out of place.
pub(super) fn find_tasks(
    disk: &FolderDisk,
) -> Result<(TaskFolders, Vec<DoctorFinding>), StoreError> {
    let (mut places, mut folders) = (TaskFolders::new(), Vec::new());
    let mut findings = Vec::new();
    for status in Status::ALL {
        for name in disk.all_names(&status_folder(status))? {
            let path = format!("{}/{}", status_folder(status), name.display());
            let Ok(name) = name.into_string() else {
                findings.push(DoctorFinding::new(
                    FindingCode::StrayFile,
                    path,
                    "has a name that is not UTF-8",
                ));
                continue;
            };
            match entry_kind(disk, &path, &name)? {
                FolderEntryKind::Task(id) => places.entry(id).or_default().push(status),
                FolderEntryKind::Companion(id) => folders.push((id, path)),
                FolderEntryKind::Temporary => findings.push(leftover_finding(path)),
                FolderEntryKind::Hidden => {}
                FolderEntryKind::Stray => findings.push(DoctorFinding::new(
                    FindingCode::StrayFile,
                    path,
                    "is not a task file: those are named TASK-YYYY-MM-DD-NNN.md",
                )),
            }
        }
    }
    for (id, path) in folders {
        let here = places.get(&id).into_iter().flatten();
        if !here.into_iter().any(|status| path.starts_with(&format!("{}/", status_folder(*status))))
        {
            let text = match places.get(&id).and_then(|folders| folders.first()) {
                Some(status) => format!("belongs to {id}, which is in {status}"),
                None => format!("belongs to {id}, which does not exist"),
            };
            findings.push(DoctorFinding::new(FindingCode::OrphanCompanion, path, text));
        }
    }
    Ok((places, findings))
}

enum FolderEntryKind {
    Task(TaskId),
    Companion(TaskId),
    Temporary,
    Hidden,
    Stray,
}

fn entry_kind(disk: &FolderDisk, path: &str, name: &str) -> Result<FolderEntryKind, StoreError> {
    if let Some(id) = name.strip_suffix(".md").and_then(|stem| TaskId::parse(stem).ok()) {
        return Ok(FolderEntryKind::Task(id));
    }
    let state = disk.path_state(path)?;
    if let (PathState::Other, Ok(id)) = (&state, TaskId::parse(name)) {
        return Ok(FolderEntryKind::Companion(id));
    }
    let stem = name.split(".md").next().unwrap_or_default().trim_start_matches('.');
    let ending = Path::new(name).extension().and_then(OsStr::to_str).unwrap_or_default();
    let half_written = name.contains(".md.") || name.ends_with(".md~");
    let in_an_editor = name.starts_with('.') && ending.starts_with("sw");
    Ok(match state {
        PathState::File(_) if half_written && !in_an_editor && TaskId::parse(stem).is_ok() => {
            FolderEntryKind::Temporary
        }
        _ if name.starts_with('.') || name == "README.md" => FolderEntryKind::Hidden,
        _ => FolderEntryKind::Stray,
    })
}

/// Finds a task that is on hold, or will be: its files cannot be changed.
fn check_rights(disk: &FolderDisk, id: &TaskId, status: Option<Status>) -> Option<DoctorFinding> {
    let known = disk.held.tasks().find(|(held, _)| *held == id);
    if let Some((_, held)) = known {
        return Some(hold_finding(id, held.path.clone(), &held.fault()));
    }
    let found = disk.probe(id, status);
    found.map(|PathFault { path, fault }| hold_finding(id, path, &fault))
}

fn hold_finding(id: &TaskId, path: String, fault: &FileFault) -> DoctorFinding {
    let text = format!("{id} is on hold: {fault}; {}", fault.fix);
    DoctorFinding::new(FindingCode::TaskOnHold, path, text)
}

fn leftover_finding(path: String) -> DoctorFinding {
    DoctorFinding::new(
        FindingCode::LeftoverTemporary,
        path,
        "is a temporary file that a killed process left",
    )
}

fn duplicate_finding(id: &TaskId, folders: &[Status]) -> DoctorFinding {
    let names: Vec<&str> = folders.iter().map(|status| status.as_str()).collect();
    let text = format!("{id} is in {}", names.join(" and "));
    DoctorFinding::new(FindingCode::TaskInTwoFolders, task_file(folders[0], id), text)
}

fn check_task(
    disk: &FolderDisk,
    id: &TaskId,
    status: Status,
) -> Result<Option<DoctorFinding>, StoreError> {
    let path = task_file(status, id);
    let unreadable =
        |text: String| DoctorFinding::new(FindingCode::TaskUnreadable, path.clone(), text);
    let bytes = match read_task_file(disk, &path)? {
        TaskText::Bytes(bytes, _) => bytes,
        TaskText::Unreadable(why) => return Ok(Some(unreadable(why))),
        TaskText::Missing => return Ok(None),
    };
    let Ok(text) = String::from_utf8(bytes) else {
        return Ok(Some(unreadable("is not UTF-8 text".to_owned())));
    };
    Ok(match taskfile::parse(&text, Some(id), Some(status)) {
        Err(problems) => Some(unreadable(join_problems(&problems))),
        Ok(parsed) => parsed.stated_status.filter(|stated| *stated != status).map(|stated| {
            let text = format!("says status {stated} but is in the folder {status}");
            DoctorFinding::new(FindingCode::StatusAtOdds, path.clone(), text)
        }),
    })
}

/// Checks whether the journal can be read, and whether the files have all of it.
pub(super) fn check_journal(disk: &FolderDisk) -> Result<Vec<DoctorFinding>, StoreError> {
    let folder = disk.journal();
    if !folder.is_dir() {
        return Ok(vec![]);
    }
    let mut findings = Vec::new();
    let mut last = 0;
    for number in journal::numbers(&folder)? {
        match journal::read(&folder, number, 0) {
            Ok(stretch) => last = stretch.entries.last().map_or(last, |entry| entry.version),
            Err(StoreError::Damaged { what, .. }) => findings.push(DoctorFinding::new(
                FindingCode::JournalDamaged,
                format!("journal/{number:08}.wal"),
                what,
            )),
            // The files had all of it, and it was removed while the folder is examined.
            Err(error) if journal::is_not_found(&error) => {}
            Err(error) => return Err(error),
        }
    }
    if last > ProgressMarker::peek(&folder)?.projected.0 {
        let text = format!("commit {last} is not in the files yet");
        findings.push(DoctorFinding::new(FindingCode::JournalPending, "journal", text));
    }
    Ok(findings)
}
