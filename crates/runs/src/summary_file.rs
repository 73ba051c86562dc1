//! Writes the summary of a run's work to the file that its report refers to.

use std::io::{self, Write as _};
use std::path::Path;

use adjutant_model::{Status, TaskId};
use adjutant_store::document_paths::{companion_folder, task_file};
use rustix::fs::{Mode, OFlags, mkdirat, openat, renameat};

/// Writes the summary. Tries again if the task's folder was moved meanwhile.
pub fn store_summary(root: &Path, id: &TaskId, text: &str) -> io::Result<()> {
    let write = || {
        let status = find_status(root, id).ok_or(io::ErrorKind::NotFound)?;
        write_summary(&root.join(companion_folder(status, id)), text)
    };
    write().or_else(|_| write()).or_else(|_| write())
}

/// Returns the status of a task, which is the folder that its file is in.
pub(crate) fn find_status(root: &Path, id: &TaskId) -> Option<Status> {
    let has_file = |status: &Status| root.join(task_file(*status, id)).symlink_metadata().is_ok();
    Status::ALL.into_iter().find(has_file)
}

/// Writes `outputs/summary.md` in the folder of a task. Follows no symbolic link, because an agent
/// could have placed one there.
fn write_summary(task: &Path, text: &str) -> io::Result<()> {
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
