//! What a commit does to the memory of an epic: one line for everything its missions learnt.

use std::collections::BTreeMap;

use adjutant_core::mission::EpicId;
use adjutant_core::worklog::single_line;
use adjutant_core::{Stamp, Task};

use super::{Documents, Op};
use crate::document::epic_memory;

/// The memories this plan writes, as far as it has come: the documents do not show them yet.
#[derive(Default)]
pub(super) struct Memories(BTreeMap<EpicId, String>);

impl Memories {
    /// Adds a line, unless the memory says the same already. People may edit the rest.
    pub(super) fn add(
        &mut self,
        epic: &EpicId,
        (task, at, text): (&Task, &Stamp, &str),
        documents: &dyn Documents,
    ) -> Option<Op> {
        let found = match self.0.get(epic) {
            Some(text) => Ok(Some(text.clone())),
            None => documents.memory(epic),
        };
        // What somebody put there and cannot be read is left alone: the record has what was learnt.
        let Ok(found) = found else { return None };
        if found.as_ref().is_some_and(|text| text.contains(char::REPLACEMENT_CHARACTER)) {
            return None;
        }
        let before = found.unwrap_or_else(|| format!("# Memory of {epic}\n"));
        let learnt = single_line(text);
        if before.lines().any(|line| said(line) == Some(&learnt)) {
            return None;
        }
        let name = task.foreign.as_deref().and_then(|foreign| foreign.ids().next());
        let name = name.unwrap_or(task.id.as_str());
        let gap =
            if before.trim_end().lines().next_back().is_some_and(|line| line.starts_with("- ")) {
                ""
            } else {
                "\n"
            };
        let after = format!("{}\n{gap}- {at} {name}: {learnt}\n", before.trim_end());
        self.0.insert(epic.clone(), after.clone());
        Some(Op::Put { path: epic_memory(epic), text: after })
    }
}

/// Returns what a line says that was learnt, without when and by whom.
fn said(line: &str) -> Option<&str> {
    Some(line.strip_prefix("- ")?.split_once(": ")?.1)
}
