//! The agents there are on this machine, whether or not anybody has configured them.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use adjutant_runtime::config::Kind;

/// The kinds whose program is called like the kind.
const KINDS: [Kind; 5] = [Kind::Claude, Kind::Codex, Kind::Gemini, Kind::Opencode, Kind::Goose];

/// Returns the known agents that are on the path, and where.
pub(crate) fn agents() -> Vec<(Kind, PathBuf)> {
    KINDS.into_iter().filter_map(|kind| Some((kind, find(kind.as_str())?))).collect()
}

/// Finds a program as a shell does.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    find_on(&path, program)
}

/// Says whether there is a file that can be run.
pub(crate) fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

fn find_on(path: &OsStr, program: &str) -> Option<PathBuf> {
    std::env::split_paths(path).map(|folder| folder.join(program)).find(|file| is_program(file))
}
