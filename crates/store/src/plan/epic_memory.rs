//! The changes that a commit makes to an epic's memory: one line for each thing
//! its missions learnt.

use std::collections::BTreeMap;

use adjutant_model::mission::EpicId;
use adjutant_model::work_log::single_line;
use adjutant_model::{Task, Timestamp};

use super::{DocumentChange, DocumentReader};
use crate::document_paths::epic_memory_file;

/// The memories this plan has written so far; the documents do not show them yet.
#[derive(Default)]
pub(super) struct EpicMemories(BTreeMap<EpicId, String>);

impl EpicMemories {
    /// Adds a line, unless the memory has the same text already. People may edit the rest.
    pub(super) fn add(
        &mut self,
        epic: &EpicId,
        (task, at, text): (&Task, &Timestamp, &str),
        documents: &dyn DocumentReader,
    ) -> Option<DocumentChange> {
        let found = match self.0.get(epic) {
            Some(text) => Ok(Some(text.clone())),
            None => documents.memory(epic),
        };
        // A memory that cannot be read is left alone: the event log has the text.
        let Ok(found) = found else { return None };
        if found.as_ref().is_some_and(|text| text.contains(char::REPLACEMENT_CHARACTER)) {
            return None;
        }
        let before = found.unwrap_or_else(|| format!("# Memory of {epic}\n"));
        let learnt = single_line(text);
        if before.lines().any(|line| learnt_text(line) == Some(&learnt)) {
            return None;
        }
        let name = task.origin.as_deref().and_then(|foreign| foreign.ids().next());
        let name = name.unwrap_or(task.id.as_str());
        let gap =
            if before.trim_end().lines().next_back().is_some_and(|line| line.starts_with("- ")) {
                ""
            } else {
                "\n"
            };
        let after = format!("{}\n{gap}- {at} {name}: {learnt}\n", before.trim_end());
        self.0.insert(epic.clone(), after.clone());
        Some(DocumentChange::Put { path: epic_memory_file(epic), text: after })
    }
}

/// Returns the learnt text of a line, without its time and author.
fn learnt_text(line: &str) -> Option<&str> {
    Some(line.strip_prefix("- ")?.split_once(": ")?.1)
}
