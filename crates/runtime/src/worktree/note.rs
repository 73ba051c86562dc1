//! What is noted about a task's work tree: what it is for, and whether it is ready.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Refused;
use crate::whole_file::put;

/// What is noted about a work tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Note {
    /// The branch it started from, and is to be merged into.
    pub(super) base: String,
    /// Whether everything that belongs into it is there.
    pub(super) ready: bool,
    /// Whether somebody had work brought back into it, and wants it to stay.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) kept: bool,
}

impl Note {
    /// Reads one; none if there is none that makes sense.
    pub(super) fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    /// Writes it, whole or not at all.
    pub(super) fn write(&self, path: &Path) -> Result<(), Refused> {
        let text = serde_json::to_vec(self).expect("text always makes JSON");
        put(path, &text)
            .map_err(|error| Refused(format!("cannot write {}: {error}", path.display())))
    }
}
