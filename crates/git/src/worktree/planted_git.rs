//! Moves `.git` entries aside that an agent planted in its worktree: git would take such a folder for
//! a repository of its own, and execute what its settings and hooks say.
//!
//! They are kept in the folder of the attempt, under numbers instead of their names. Submodules of the
//! base stay, and so does the worktree's own `.git`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use adjutant_process::atomic_file::create_private_folder;

use super::WorktreeError;
use super::prepare::io_error_text;
use super::project_repository::ProjectRepository;
use super::salvage::nested_repositories;
use crate::workspace::byte_path::BytePath;
use crate::workspace::git::split_nul;

/// The folder of planted entries, in the folder of an attempt.
const FOLDER: &str = "planted-git";

/// The file that lists the paths of the entries, one in a line.
const LIST: &str = "paths.txt";

/// How many paths a problem names.
const NAMED_MAX: usize = 5;

/// Moves the planted `.git` entries of a worktree into the folder of an attempt, and describes all
/// that were moved there; `None` if there are none. A second call finds those of the first.
pub(super) fn move_aside(
    repo: &ProjectRepository,
    tree: &Path,
    base: &str,
    attempt: &Path,
) -> Result<Option<String>, WorktreeError> {
    let kept = attempt.join(FOLDER);
    let submodules = submodules(repo, base)?;
    let mut tried = BTreeSet::new();
    // What was moved may have hidden others.
    loop {
        let found = nested_repositories(tree).map_err(io_error_text("read", tree))?;
        let found = found.into_iter().filter(|path| !submodules.contains(path));
        let fresh: Vec<PathBuf> = found.filter(|path| tried.insert(path.clone())).collect();
        if fresh.is_empty() {
            break;
        }
        for folder in fresh {
            keep(&tree.join(&folder).join(".git"), &folder.join(".git"), &kept)
                .map_err(io_error_text("move aside the git entry in", &tree.join(&folder)))?;
        }
    }
    Ok(describe(&kept))
}

/// Returns the submodules of a commit.
fn submodules(repo: &ProjectRepository, commit: &str) -> Result<BTreeSet<PathBuf>, WorktreeError> {
    let listed = repo.call(&["ls-tree", "-r", "-z", "--full-tree", commit]).output()?;
    let of_submodule = |entry: &[u8]| {
        let path = entry.split(|byte| *byte == b'\t').next_back()?;
        entry.starts_with(b"160000 ").then(|| BytePath::new(path).as_path().to_owned())
    };
    Ok(split_nul(&listed).filter_map(of_submodule).collect())
}

/// Moves an entry into the folder, and notes its path first.
fn keep(entry: &Path, path: &Path, kept: &Path) -> io::Result<()> {
    create_private_folder(kept)?;
    let number = fs::read_dir(kept)?.count();
    let mut list = File::options().append(true).create(true).open(kept.join(LIST))?;
    let name = path.as_os_str().as_bytes().escape_ascii();
    list.write_all(format!("{name}\n").as_bytes())?;
    if entry.symlink_metadata()?.is_dir() {
        // A folder is moved only by who may write to it.
        fs::set_permissions(entry, Permissions::from_mode(0o700))?;
    }
    let folder = entry.parent().unwrap_or(entry);
    fs::set_permissions(folder, Permissions::from_mode(0o755))?;
    fs::rename(entry, kept.join(number.max(1).to_string()))
}

fn describe(kept: &Path) -> Option<String> {
    let list = fs::read_to_string(kept.join(LIST)).ok()?;
    let paths: BTreeSet<&str> = list.lines().collect();
    let mut text = format!(
        "its work tree contained {} of its own, moved to {}:",
        if paths.len() == 1 { "a git entry" } else { "git entries" },
        kept.display()
    );
    for (number, path) in paths.iter().take(NAMED_MAX).enumerate() {
        let _ = write!(text, "{} {path}", if number == 0 { "" } else { "," });
    }
    if let Some(more) = paths.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
        let _ = write!(text, " and {more} more");
    }
    (!paths.is_empty()).then_some(text)
}
