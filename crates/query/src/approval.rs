//! The outcome of an approval: what became of the work after a person approved it.

use std::path::Path;

use adjutant_model::{EventId, TaskId};
use adjutant_store::StoreError;
use adjutant_store::file::EventFiles;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::Value;

use crate::text::clean;

/// How many characters of a commit are shown.
const COMMIT_CHARS: usize = 12;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalOutcome {
    /// Approved, and there is nothing to merge.
    Approved,
    Merged {
        commit: String,
    },
    /// Approved, and not merged yet.
    Queued {
        /// What the merge waits for, if a person must act.
        waits: Option<String>,
    },
    /// The work cannot be merged.
    Conflict {
        /// The files in conflict; empty if there is another reason.
        files: Vec<String>,
        reason: String,
        /// Whether the task went back to its agents; otherwise it stays in review.
        is_sent_back: bool,
    },
}

impl ApprovalOutcome {
    /// Reads what a merge that was requested at the event `requested` came to: the first of its
    /// results in the event log, or that it waits. At most `lines_max` lines of the log are read.
    pub fn of_merge(
        root: &Path,
        task: &TaskId,
        requested: EventId,
        lines_max: usize,
    ) -> Result<Self, StoreError> {
        let mut files = EventFiles::after(root, requested)?;
        let mut outcome = Self::Queued { waits: None };
        for _ in 0..lines_max {
            let Some(line) = files.next_line()? else { break };
            let Some(event) = event_of(&line.bytes, task) else { continue };
            if !outcome.follow(&event) {
                break;
            }
        }
        Ok(outcome)
    }

    /// Follows an event of the task. Returns whether a later event can change the outcome.
    fn follow(&mut self, event: &Value) -> bool {
        let payload = &event["payload"];
        let text = |key: &str| payload[key].as_str().unwrap_or_default().to_owned();
        match (event["type"].as_str().unwrap_or_default(), &mut *self) {
            ("work.merged", Self::Queued { .. }) => {
                *self = Self::Merged { commit: text("commit") };
                false
            }
            ("merge.waiting", Self::Queued { waits }) => {
                *waits = Some(text("reason"));
                true
            }
            ("merge.refused", Self::Queued { .. }) => {
                let files = payload["files"].as_array().into_iter().flatten();
                let files = files.filter_map(Value::as_str).map(str::to_owned).collect();
                *self = Self::Conflict { files, reason: text("reason"), is_sent_back: false };
                true
            }
            // It is committed together with the refusal of the merge.
            ("task.transitioned", Self::Conflict { is_sent_back, .. }) => {
                *is_sent_back = payload["to"] == "ready";
                false
            }
            // A person rejected or cancelled the task before it was merged.
            ("task.transitioned", Self::Queued { waits }) => {
                *waits = Some(format!("the task is {} now", text("to")));
                false
            }
            (_, Self::Conflict { .. }) => false,
            _ => true,
        }
    }

    /// Returns the word for programs.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Merged { .. } => "merged",
            Self::Queued { .. } => "queued",
            Self::Conflict { .. } => "conflict",
        }
    }

    pub const fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict { .. })
    }

    /// Returns whether the merge has neither ended nor waits for a person.
    pub const fn is_under_way(&self) -> bool {
        matches!(self, Self::Queued { waits: None })
    }

    /// Describes the outcome as a fragment; `agent` is whom the task goes back to.
    pub fn in_words(&self, agent: Option<&str>) -> String {
        match self {
            Self::Approved => "approved".to_owned(),
            Self::Merged { commit } => {
                format!("merged as {}", commit.get(..COMMIT_CHARS).unwrap_or(commit))
            }
            Self::Queued { waits: None } => "queued: it is being merged".to_owned(),
            Self::Queued { waits: Some(waits) } => {
                format!("queued: the merge waits: {}", clean(waits))
            }
            Self::Conflict { files, reason, is_sent_back } => {
                let problem = match &files[..] {
                    [] => format!("could not be merged: {}", clean(reason.trim_end_matches('.'))),
                    files => format!("conflict in {}", clean(&files.join(", "))),
                };
                let next = match (is_sent_back, agent) {
                    (true, Some(agent)) => format!("sent back to {agent}"),
                    (true, None) => "sent back".to_owned(),
                    (false, _) => "reject it to have it done again".to_owned(),
                };
                format!("{problem}: {next}")
            }
        }
    }
}

/// The fields `outcome`, `commit` and `files`.
impl Serialize for ApprovalOutcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("outcome", self.as_str())?;
        let (commit, files) = match self {
            Self::Merged { commit } => (Some(commit), &[][..]),
            Self::Conflict { files, .. } => (None, &files[..]),
            Self::Approved | Self::Queued { .. } => (None, &[][..]),
        };
        map.serialize_entry("commit", &commit)?;
        map.serialize_entry("files", files)?;
        map.end()
    }
}

/// Returns an event of the log if it is about this task. Most lines are not parsed.
fn event_of(line: &[u8], task: &TaskId) -> Option<Value> {
    let text = str::from_utf8(line).ok().filter(|text| text.contains(task.as_str()))?;
    let event: Value = serde_json::from_str(text).ok()?;
    (event["taskId"] == task.as_str()).then_some(event)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn outcome_of(events: &[(&str, Value)]) -> ApprovalOutcome {
        let mut outcome = ApprovalOutcome::Queued { waits: None };
        for (kind, payload) in events {
            if !outcome.follow(&json!({"type": kind, "payload": payload})) {
                break;
            }
        }
        outcome
    }

    #[test]
    fn approval_outcome_follows_events_of_merge() {
        let refused = json!({"reason": "conflict", "files": ["a.txt", "b.txt"]});
        let cases = [
            (vec![], "queued: it is being merged"),
            (
                vec![("work.merged", json!({"commit": "0123456789abcdef"}))],
                "merged as 0123456789ab",
            ),
            (
                vec![("merge.waiting", json!({"reason": "main is checked out and dirty"}))],
                "queued: the merge waits: main is checked out and dirty",
            ),
            (
                vec![
                    ("merge.waiting", json!({"reason": "dirty"})),
                    ("run.usage", json!({})),
                    ("work.merged", json!({"commit": "45ab"})),
                ],
                "merged as 45ab",
            ),
            (
                vec![
                    ("merge.refused", refused.clone()),
                    ("task.transitioned", json!({"from": "review", "to": "ready"})),
                    ("work.merged", json!({"commit": "the next attempt"})),
                ],
                "conflict in a.txt, b.txt: sent back to fixer",
            ),
            (
                vec![("merge.refused", refused)],
                "conflict in a.txt, b.txt: reject it to have it done again",
            ),
            (
                vec![
                    ("merge.refused", json!({"reason": "a check failed.", "files": []})),
                    ("task.transitioned", json!({"from": "review", "to": "ready"})),
                ],
                "could not be merged: a check failed: sent back to fixer",
            ),
        ];
        for (events, expected) in cases {
            assert_eq!(outcome_of(&events).in_words(Some("fixer")), expected);
        }
    }

    #[test]
    fn approval_outcome_is_serialized_with_commit_and_files() {
        let merged = ApprovalOutcome::Merged { commit: "45ab".to_owned() };
        let expected = json!({"outcome": "merged", "commit": "45ab", "files": []});
        assert_eq!(json!(merged), expected);
        let conflict = ApprovalOutcome::Conflict {
            files: vec!["a.txt".to_owned()],
            reason: String::new(),
            is_sent_back: true,
        };
        let expected = json!({"outcome": "conflict", "commit": null, "files": ["a.txt"]});
        assert_eq!(json!(conflict), expected);
    }
}
