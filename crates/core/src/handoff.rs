//! Handoff: work given on from one task to another, and how it reads for a person.

use std::fmt::Write;

use crate::id::TaskId;
use crate::name::AgentId;
use crate::path::RelPath;
use crate::time::Stamp;
use crate::worklog::single_line;

/// The payload of a `handoff.request`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handoff {
    /// The task that is given on: the child.
    pub task: TaskId,
    /// The task it comes from.
    pub parent: TaskId,
    /// Who gives.
    pub from: AgentId,
    /// Who is to take.
    pub to: AgentId,
    /// What must hold at the end.
    pub acceptance_criteria: Vec<String>,
    /// The files that must be there at the end.
    pub expected_outputs: Vec<RelPath>,
    /// What to read first.
    pub context_refs: Vec<RelPath>,
    /// What not to do.
    pub constraints: Vec<String>,
    /// Until when.
    pub due_by: Stamp,
}

impl Handoff {
    /// Renders `inputs/handoff.md`.
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "# Handoff Request\n\n**From:** {}\n**To:** {}\n**Due By:** {}\n",
            self.from, self.to, self.due_by
        );
        let paths = |refs: &[RelPath]| refs.iter().map(ToString::to_string).collect::<Vec<_>>();
        section(&mut text, "Acceptance Criteria", &self.acceptance_criteria);
        section(&mut text, "Expected Outputs", &paths(&self.expected_outputs));
        section(&mut text, "Context References", &paths(&self.context_refs));
        section(&mut text, "Constraints", &self.constraints);
        text
    }
}

/// Line breaks inside an item become spaces, so an item cannot forge a section.
fn section(text: &mut String, heading: &str, items: &[String]) {
    let _ = write!(text, "\n## {heading}\n\n");
    if items.is_empty() {
        text.push_str("None\n");
    }
    for item in items {
        let _ = writeln!(text, "- {}", single_line(item));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handoff_reads_as_the_protocol_shows_it() {
        let path = |text| RelPath::parse(text).expect("a good path");
        let handoff = Handoff {
            task: TaskId::parse("TASK-2026-02-09-060").expect("a good id"),
            parent: TaskId::parse("TASK-2026-02-09-057").expect("a good id"),
            from: AgentId::parse("swe-backend").expect("a good name"),
            to: AgentId::parse("swe-qa").expect("a good name"),
            acceptance_criteria: vec!["All tests pass".into(), "Update\n## docs".into()],
            expected_outputs: vec![path("tests/report.md")],
            context_refs: vec![],
            constraints: vec!["No new dependencies".into()],
            due_by: Stamp::parse("2026-02-10T12:00:00.000Z").expect("a good time"),
        };
        let expected = "# Handoff Request\n\n**From:** swe-backend\n**To:** swe-qa\n\
            **Due By:** 2026-02-10T12:00:00.000Z\n\n## Acceptance Criteria\n\n- All tests pass\n\
            - Update ## docs\n\n## Expected Outputs\n\n- tests/report.md\n\n\
            ## Context References\n\nNone\n\n## Constraints\n\n- No new dependencies\n";
        assert_eq!(handoff.markdown(), expected);
    }
}
