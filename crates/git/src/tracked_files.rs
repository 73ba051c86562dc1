//! Which files of a folder git tracks.

use std::path::Path;

use crate::workspace::git::{GitCommand, GitConfigScope};

/// Returns the files below `folder` that git tracks, relative to it. Returns none if the folder is
/// in no repository, or git cannot tell.
pub fn tracked_files(folder: &Path) -> Vec<String> {
    let list = GitCommand::new(folder, GitConfigScope::Isolated, &["ls-files", "-z"]).output();
    let output = list.unwrap_or_default();
    let names = output.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}
