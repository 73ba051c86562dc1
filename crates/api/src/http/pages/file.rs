//! Files that lie with a task, as text and nothing else.

use std::fs::File as OpenFile;
use std::io::Read;
use std::path::Path as FilePath;

use adjutant_core::path::RelPath;
use adjutant_core::{Status, TaskId};
use adjutant_store::document::companion;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use rustix::fs::{Mode, OFlags, openat};

use super::Person;
use crate::board::task::File;
use crate::http::App;
use crate::http::problem::Problem;
use crate::office::Office;

/// The most files that are listed.
const FILES_MAX: usize = 200;
/// How deep folders are looked into.
const DEPTH_MAX: usize = 4;
/// How much of a file is shown.
const SHOWN_BYTES_MAX: u64 = 1 << 20;

/// Lists the files that lie with a task. A link is not followed: an agent could have put it there.
pub(super) fn list(office: &dyn Office, id: &TaskId, status: Status) -> Vec<File> {
    let folder = office.root().join(companion(status, id));
    let mut files = Vec::new();
    look(&folder, "", DEPTH_MAX, &mut files);
    files.sort_by(|one: &File, other| one.path.cmp(&other.path));
    files
}

fn look(folder: &FilePath, below: &str, depth: usize, files: &mut Vec<File>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let (Some(name), Ok(kind)) =
            (entry.file_name().to_str().map(str::to_owned), entry.file_type())
        else {
            continue;
        };
        let path = if below.is_empty() { name } else { format!("{below}/{name}") };
        if kind.is_dir() && depth > 0 {
            look(&entry.path(), &path, depth - 1, files);
        } else if kind.is_file() && files.len() < FILES_MAX {
            let size = entry.metadata().map_or(0, |stat| stat.len());
            files.push(File { path, size });
        }
    }
}

/// Shows a file as plain text, whatever it is.
pub(super) async fn show(
    State(app): State<App>,
    _: Person,
    Path((id, path)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let nothing = || Problem::not_found("there is no such file with this task");
    let path = RelPath::parse(&path).map_err(|_| nothing())?;
    let text = app
        .office(move |office| {
            let id = office.known(&id)?;
            let mut status = None;
            office.look(&mut |world| status = world.task(&id).map(adjutant_core::Task::status))?;
            let folder = status.map(|status| office.root().join(companion(status, &id)));
            Ok(folder.and_then(|folder| read(&folder, path.as_str())))
        })
        .await?;
    let mut response = text.ok_or_else(nothing)?.into_response();
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    Ok(response)
}

/// Reads a file below a folder. No link is followed on the way.
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
