//! What can be wrong with task files, companion folders and the journal.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use adjutant_core::{Status, TaskId};

use super::{Code, Finding};
use crate::document::{FOREIGN_RUNS, run_folder, status_folder, task_file};
use crate::file::disk::{Disk, Look, TEMPORARY};
use crate::file::journal;
use crate::file::look::{Text, read};
use crate::file::marker::Marker;
use crate::file::spare::is_kept;
use crate::plan::in_words;
use crate::store::StoreError;
use crate::taskfile;

/// Where tasks lie: several folders for one task are one too many.
pub(super) type Places = BTreeMap<TaskId, Vec<Status>>;

/// Looks at every file in every status folder.
pub(super) fn examine(disk: &Disk) -> Result<Vec<Finding>, StoreError> {
    let (places, mut findings) = look_around(disk)?;
    for (id, folders) in &places {
        if let [_, _, ..] = folders[..] {
            findings.push(doubled(id, folders));
        }
        for status in folders {
            findings.extend(task(disk, id, *status)?);
        }
    }
    for name in disk.names(TEMPORARY)?.iter().filter(|name| !is_kept(disk, name)) {
        findings.push(temporary(format!("{TEMPORARY}/{name}")));
    }
    findings.extend(foreign_runs(disk)?);
    Ok(findings)
}

/// Finds runs of the original AOF that were not taken over, because there are others in the way.
fn foreign_runs(disk: &Disk) -> Result<Vec<Finding>, StoreError> {
    let mut findings = Vec::new();
    for id in disk.names(FOREIGN_RUNS)?.iter().filter_map(|name| TaskId::parse(name).ok()) {
        let path = run_folder(&id);
        if !matches!(disk.look(&path)?, Look::Nothing) {
            let text = format!("was not taken over: there is {path} as well");
            let foreign = format!("{FOREIGN_RUNS}/{id}");
            findings.push(Finding::new(Code::RunInTwoFolders, foreign, text));
        }
    }
    Ok(findings)
}

/// Finds where every task lies.
pub(super) fn look_around(disk: &Disk) -> Result<(Places, Vec<Finding>), StoreError> {
    let (mut places, mut folders) = (Places::new(), Vec::new());
    let mut findings = Vec::new();
    for status in Status::ALL {
        for name in disk.all_names(&status_folder(status))? {
            let path = format!("{}/{}", status_folder(status), name.display());
            let Ok(name) = name.into_string() else {
                findings.push(Finding::new(Code::StrayFile, path, "has a name that is not UTF-8"));
                continue;
            };
            match kind(disk, &path, &name)? {
                Kind::Task(id) => places.entry(id).or_default().push(status),
                Kind::Companion(id) => folders.push((id, path)),
                Kind::Temporary => findings.push(temporary(path)),
                Kind::Hidden => {}
                Kind::Stray => findings.push(Finding::new(
                    Code::StrayFile,
                    path,
                    "is no task: a task's file is called TASK-YYYY-MM-DD-NNN.md",
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
                None => format!("belongs to {id}, which is not there"),
            };
            findings.push(Finding::new(Code::OrphanCompanion, path, text));
        }
    }
    Ok((places, findings))
}

enum Kind {
    Task(TaskId),
    Companion(TaskId),
    Temporary,
    Hidden,
    Stray,
}

fn kind(disk: &Disk, path: &str, name: &str) -> Result<Kind, StoreError> {
    if let Some(id) = name.strip_suffix(".md").and_then(|stem| TaskId::parse(stem).ok()) {
        return Ok(Kind::Task(id));
    }
    let look = disk.look(path)?;
    if let (Look::Other, Ok(id)) = (&look, TaskId::parse(name)) {
        return Ok(Kind::Companion(id));
    }
    let stem = name.split(".md").next().unwrap_or_default().trim_start_matches('.');
    let ending = Path::new(name).extension().and_then(OsStr::to_str).unwrap_or_default();
    let half_written = name.contains(".md.") || name.ends_with(".md~");
    let in_an_editor = name.starts_with('.') && ending.starts_with("sw");
    Ok(match look {
        Look::File(_) if half_written && !in_an_editor && TaskId::parse(stem).is_ok() => {
            Kind::Temporary
        }
        _ if name.starts_with('.') || name == "README.md" => Kind::Hidden,
        _ => Kind::Stray,
    })
}

fn temporary(path: String) -> Finding {
    Finding::new(Code::LeftoverTemporary, path, "was being written when its process died")
}

fn doubled(id: &TaskId, folders: &[Status]) -> Finding {
    let names: Vec<&str> = folders.iter().map(|status| status.as_str()).collect();
    let text = format!("{id} lies in {}", names.join(" and "));
    Finding::new(Code::TaskInTwoFolders, task_file(folders[0], id), text)
}

fn task(disk: &Disk, id: &TaskId, status: Status) -> Result<Option<Finding>, StoreError> {
    let path = task_file(status, id);
    let unreadable = |text: String| Finding::new(Code::TaskUnreadable, path.clone(), text);
    let bytes = match read(disk, &path)? {
        Text::Bytes(bytes, _) => bytes,
        Text::Unreadable(why) => return Ok(Some(unreadable(why))),
        Text::Nothing => return Ok(None),
    };
    let Ok(text) = String::from_utf8(bytes) else {
        return Ok(Some(unreadable("is not UTF-8 text".to_owned())));
    };
    Ok(match taskfile::parse(&text, Some(id), Some(status)) {
        Err(problems) => Some(unreadable(in_words(&problems))),
        Ok(parsed) => parsed.said.filter(|said| *said != status).map(|said| {
            let text = format!("says {said} and lies in {status}");
            Finding::new(Code::StatusAtOdds, path.clone(), text)
        }),
    })
}

/// Looks at the journal: whether it can be read, and whether the files have all of it.
pub(super) fn journal(disk: &Disk) -> Result<Vec<Finding>, StoreError> {
    let folder = disk.journal();
    if !folder.is_dir() {
        return Ok(vec![]);
    }
    let mut findings = Vec::new();
    let mut last = 0;
    for number in journal::numbers(&folder)? {
        match journal::read(&folder, number, 0) {
            Ok(stretch) => last = stretch.entries.last().map_or(last, |entry| entry.version),
            Err(StoreError::Damaged { what, .. }) => findings.push(Finding::new(
                Code::JournalDamaged,
                format!("journal/{number:08}.wal"),
                what,
            )),
            Err(error) => return Err(error),
        }
    }
    if last > Marker::peek(&folder)?.projected.0 {
        let text = format!("commit {last} is not in the files yet");
        findings.push(Finding::new(Code::JournalPending, "journal", text));
    }
    Ok(findings)
}
