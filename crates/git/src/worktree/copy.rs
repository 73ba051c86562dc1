//! Copies project files into a worktree. Links cannot make it read outside the project or write
//! outside the worktree.

use std::fs;
use std::path::Path;

use super::WorktreeError;
use super::prepare::io_error_text;

/// Copies a file or a folder. Existing files are kept, because they are on the branch.
pub(super) fn copy(from: &Path, to: &Path, path: &Path) -> Result<(), WorktreeError> {
    let real = from.join(path).canonicalize().map_err(io_error_text("copy", path))?;
    if !real.starts_with(from) {
        return Err(WorktreeError(format!(
            "cannot copy {}: it leads outside the project",
            path.display()
        )));
    }
    let mut folder = to.to_owned();
    for part in path.parent().into_iter().flat_map(Path::components) {
        folder.push(part);
        match folder.symlink_metadata() {
            Ok(there) if there.is_dir() => {}
            Ok(_) => {
                let what = format!("cannot copy {}: {part:?} is not a folder", path.display());
                return Err(WorktreeError(what));
            }
            Err(_) => fs::create_dir(&folder).map_err(io_error_text("create", &folder))?,
        }
    }
    let Some(name) = path.file_name() else { return Ok(()) };
    copy_entry(&real, &folder.join(name))
}

fn copy_entry(from: &Path, to: &Path) -> Result<(), WorktreeError> {
    let kind = from.symlink_metadata().map_err(io_error_text("copy", from))?.file_type();
    if kind.is_dir() {
        if to.symlink_metadata().is_err() {
            fs::create_dir(to).map_err(io_error_text("create", to))?;
        }
        // An existing entry of another kind is on the branch and is kept.
        if !to.symlink_metadata().is_ok_and(|there| there.is_dir()) {
            return Ok(());
        }
        for entry in fs::read_dir(from).map_err(io_error_text("read", from))? {
            let entry = entry.map_err(io_error_text("read", from))?;
            copy_entry(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    if to.symlink_metadata().is_ok() {
        return Ok(());
    }
    if kind.is_symlink() {
        let target = fs::read_link(from).map_err(io_error_text("read", from))?;
        return std::os::unix::fs::symlink(target, to).map_err(io_error_text("create", to));
    }
    if kind.is_file() {
        fs::copy(from, to).map_err(io_error_text("copy", from))?;
    }
    Ok(())
}
