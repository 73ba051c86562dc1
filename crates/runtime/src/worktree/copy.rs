//! Copies files of the project into a work tree. Nothing is read from outside the project, and
//! nothing is written outside the work tree, whatever links there are.

use std::fs;
use std::path::Path;

use super::Refused;
use super::prepare::cannot;

/// Copies a file or a folder. What is there already is left as it is: it is on the branch.
pub(super) fn copy(from: &Path, to: &Path, path: &Path) -> Result<(), Refused> {
    let real = from.join(path).canonicalize().map_err(cannot("copy", path))?;
    if !real.starts_with(from) {
        return Err(Refused(format!(
            "cannot copy {}: it leads out of the project",
            path.display()
        )));
    }
    let mut folder = to.to_owned();
    for part in path.parent().into_iter().flat_map(Path::components) {
        folder.push(part);
        match folder.symlink_metadata() {
            Ok(there) if there.is_dir() => {}
            Ok(_) => {
                let what = format!("cannot copy {}: {part:?} is no folder", path.display());
                return Err(Refused(what));
            }
            Err(_) => fs::create_dir(&folder).map_err(cannot("make", &folder))?,
        }
    }
    let Some(name) = path.file_name() else { return Ok(()) };
    put(&real, &folder.join(name))
}

fn put(from: &Path, to: &Path) -> Result<(), Refused> {
    let kind = from.symlink_metadata().map_err(cannot("copy", from))?.file_type();
    if kind.is_dir() {
        if to.symlink_metadata().is_err() {
            fs::create_dir(to).map_err(cannot("make", to))?;
        }
        // What is there by another kind is the branch's.
        if !to.symlink_metadata().is_ok_and(|there| there.is_dir()) {
            return Ok(());
        }
        for entry in fs::read_dir(from).map_err(cannot("read", from))? {
            let entry = entry.map_err(cannot("read", from))?;
            put(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    if to.symlink_metadata().is_ok() {
        return Ok(());
    }
    if kind.is_symlink() {
        let target = fs::read_link(from).map_err(cannot("read", from))?;
        return std::os::unix::fs::symlink(target, to).map_err(cannot("make", to));
    }
    if kind.is_file() {
        fs::copy(from, to).map_err(cannot("copy", from))?;
    }
    Ok(())
}
