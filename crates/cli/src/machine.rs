//! The agents there are on this machine, whether or not anybody has configured them.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use adjutant_runtime::agent;
use adjutant_runtime::config::Kind;

/// The kinds whose program is called like the kind.
const KINDS: [Kind; 5] = [Kind::Claude, Kind::Codex, Kind::Gemini, Kind::Opencode, Kind::Goose];

/// Returns the known agents that are on the path, and where.
pub(crate) fn agents() -> Vec<(Kind, PathBuf)> {
    KINDS.into_iter().filter_map(|kind| Some((kind, find(kind.as_str())?))).collect()
}

/// Says whether somebody is signed in with an agent of a kind, as far as can be told without using
/// it: a variable that holds a key, or a file that the agent leaves when somebody signs in.
pub(crate) fn is_signed_in(kind: Kind) -> bool {
    let Some(signs) = agent::signed_in(kind) else { return false };
    let set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let there = |file: &&str| home.join(file).is_file();
    signs.variables.iter().any(set) || signs.files.iter().any(there)
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
