//! Finds the agent programs installed on this machine, configured or not.

use std::path::PathBuf;

use adjutant_config::Kind;
use adjutant_runs::agent::{self, program::find_program};

/// The kinds whose program has the name of the kind.
const KINDS: [Kind; 5] = [Kind::Claude, Kind::Codex, Kind::Gemini, Kind::Opencode, Kind::Goose];

/// Returns the known agents on `PATH`, each with the path of its program.
pub fn find_agents() -> Vec<(Kind, PathBuf)> {
    KINDS.into_iter().filter_map(|kind| Some((kind, find_program(kind.as_str())?))).collect()
}

/// Says whether an agent of a kind is signed in, as far as can be told without running it: a
/// variable holds a key, or a file exists that the agent writes at sign-in.
pub fn is_signed_in(kind: Kind) -> bool {
    let Some(signs) = agent::sign_in_detection(kind) else { return false };
    let set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let there = |file: &&str| home.join(file).is_file();
    signs.variables.iter().any(set) || signs.files.iter().any(there)
}
