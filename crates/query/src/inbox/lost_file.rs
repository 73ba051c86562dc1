//! The inbox items of files that were moved to `lost+found`, so that none is lost without a word.

use std::fs;
use std::path::Path;

use adjutant_model::command_text::shell_word;

use super::{InboxItem, InboxKind};

/// The folder in the data folder where files go that must not be lost.
const LOST_FOUND: &str = "lost+found";

/// Returns an item for each file or folder in `lost+found`, sorted by name. A person who has dealt
/// with it moves it away or removes it.
pub(super) fn lost_file_items(root: &Path) -> Vec<InboxItem> {
    let Ok(entries) = fs::read_dir(root.join(LOST_FOUND)) else { return vec![] };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names.iter().map(|name| lost_file_item(root, name)).collect()
}

fn lost_file_item(root: &Path, name: &str) -> InboxItem {
    let path = root.join(LOST_FOUND).join(name).display().to_string();
    let text = format!(
        "{LOST_FOUND}/{name} could not stay where it was: read it with `less {0}`, take back what \
         you need, then remove it with `rm -r {0}`",
        shell_word(&path)
    );
    let (kind, task_id, since) = (InboxKind::LostFile, None, None);
    InboxItem { kind, task_id, since, text, actions: vec![], story: None }
}
