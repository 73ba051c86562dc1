//! Writes the summary of a run's work to the file that its report refers to.

use std::io::Write as _;
use std::path::Path;

use adjutant_model::TaskId;
use adjutant_query::ProjectQueries;
use adjutant_query::failure::CommandFailure;
use adjutant_store::document_paths::companion_folder;
use rustix::fs::{Mode, OFlags, mkdirat, openat, renameat};

/// Writes the summary. Tries again if the task's folder was moved meanwhile.
pub(super) fn keep_summary(
    queries: &ProjectQueries,
    id: &TaskId,
    text: &str,
) -> Result<(), CommandFailure> {
    let write = || {
        let folder = companion_folder(queries.task(id).ok()?.status, id);
        write_summary(&queries.root().join(folder), text).ok()
    };
    let written = (0..3).find_map(|_| write());
    written.ok_or_else(|| CommandFailure::gone(format!("cannot store the summary of {id}")))
}

/// Writes `outputs/summary.md` in the folder of a task. Follows no symbolic link, because an agent
/// could have placed one there.
fn write_summary(task: &Path, text: &str) -> std::io::Result<()> {
    std::fs::create_dir_all(task)?;
    let folder = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let task = rustix::fs::open(task, folder, Mode::empty())?;
    match mkdirat(&task, "outputs", Mode::RWXU) {
        Err(error) if error != rustix::io::Errno::EXIST => return Err(error.into()),
        _ => {}
    }
    let outputs = openat(&task, "outputs", folder, Mode::empty())?;
    let staged = format!(".summary.{}", std::process::id());
    let new = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(&outputs, &staged, new, Mode::RUSR | Mode::WUSR)?;
    let mut file = std::fs::File::from(file);
    file.write_all(text.trim_end().as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    Ok(renameat(&outputs, &staged, &outputs, "summary.md")?)
}
