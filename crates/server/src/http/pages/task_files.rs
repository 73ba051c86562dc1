//! Serves the files in a task's folder, always as plain text.

use std::fs::File as OpenFile;
use std::io::Read;
use std::path::Path as FilePath;

use adjutant_model::relative_path::RelPath;
use adjutant_model::{Status, Task, TaskId};
use adjutant_store::document_paths::companion_folder;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use rustix::fs::{Mode, OFlags, openat};

use super::BoardUser;
use crate::board::task::TaskFile;
use crate::http::SharedState;
use crate::http::problem::ApiProblem;

const FILES_MAX: usize = 200;
/// How deep subfolders are listed.
const DEPTH_MAX: usize = 4;
const SHOWN_BYTES_MAX: u64 = 1 << 20;

/// Lists the files in a task's folder. Symbolic links are not followed: an agent may
/// have made them.
pub(super) fn list(root: &FilePath, id: &TaskId, status: Status) -> Vec<TaskFile> {
    let folder = root.join(companion_folder(status, id));
    let mut files = Vec::new();
    collect_files(&folder, "", DEPTH_MAX, &mut files);
    files.sort_by(|one: &TaskFile, other| one.path.cmp(&other.path));
    files
}

fn collect_files(folder: &FilePath, below: &str, depth: usize, files: &mut Vec<TaskFile>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let (Some(name), Ok(kind)) =
            (entry.file_name().to_str().map(str::to_owned), entry.file_type())
        else {
            continue;
        };
        let path = if below.is_empty() { name } else { format!("{below}/{name}") };
        if kind.is_dir() && depth > 0 {
            collect_files(&entry.path(), &path, depth - 1, files);
        } else if kind.is_file() && files.len() < FILES_MAX {
            let size = entry.metadata().map_or(0, |stat| stat.len());
            files.push(TaskFile { path, size });
        }
    }
}

/// Serves a file as plain text, so that a browser never interprets it.
pub(super) async fn show(
    State(app): State<SharedState>,
    _: BoardUser,
    Path((id, path)): Path<(String, String)>,
) -> Result<Response, ApiProblem> {
    let nothing = || ApiProblem::not_found("the task has no such file");
    let path = RelPath::parse(&path).map_err(|_| nothing())?;
    let text = app
        .with_project(move |project| {
            let queries = &project.queries;
            let id = queries.resolve_task(&id)?;
            let status = queries.with_world(|world| world.task(&id).map(Task::status))?;
            let folder = status.map(|status| queries.root().join(companion_folder(status, &id)));
            Ok(folder.and_then(|folder| read(&folder, path.as_str())))
        })
        .await?;
    let mut response = text.ok_or_else(nothing)?.into_response();
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    Ok(response)
}

/// Reads a file below a folder without following symbolic links.
fn read(folder: &FilePath, path: &str) -> Option<String> {
    let way = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = rustix::fs::open(folder, way, Mode::empty()).ok()?;
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    for part in folders.split('/').filter(|part| !part.is_empty()) {
        at = openat(&at, part, way, Mode::empty()).ok()?;
    }
    let last = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = OpenFile::from(openat(&at, name, last, Mode::empty()).ok()?);
    file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mut bytes = Vec::new();
    file.take(SHOWN_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
