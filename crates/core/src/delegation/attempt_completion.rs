//! `attempt_completion`: what came of a `new_task`.

use serde_json::{Map, Value};

use super::artifact::Artifact;
use super::id::ForeignId;
use super::{ITEMS_MAX, TEXT_CHARS_MAX, list, object, text};
use crate::answer::Problem;
use crate::fields::{Fields, Need};
use crate::path::RelPath;

/// An `attempt_completion` in order. A list that is none was not there; one that is empty was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptCompletion {
    /// The task it is of.
    pub task_id: ForeignId,
    /// What came of it.
    pub result: AttemptResult,
    /// What was done, or what is the matter.
    pub summary: String,
    /// What was made.
    pub output_artifacts: Option<Vec<Artifact>>,
    /// What was the matter.
    pub issues_encountered: Option<Vec<IssueEncountered>>,
}

/// Something that was the matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueEncountered {
    /// What kind of thing.
    pub kind: IssueEncounteredType,
    /// What it is.
    pub description: String,
    /// How it could be resolved.
    pub suggested_resolution: Option<String>,
}

crate::mission::words! {
    /// What came of a task.
    AttemptResult {
        /// It is done.
        Success = "success",
        /// It could not be done.
        Failure = "failure",
        /// More must be known first.
        ClarificationNeeded = "clarification_needed",
        /// What was asked for contradicts something.
        ConflictDetected = "conflict_detected",
    }
    /// What kind of thing was the matter.
    IssueEncounteredType {
        /// More must be known.
        ClarificationNeeded = "clarification_needed",
        /// Something technical.
        TechnicalIssue = "technical_issue",
        /// A contradiction.
        Conflict = "conflict",
        /// Anything else.
        Other = "other",
    }
}

impl AttemptCompletion {
    /// The fields of an `attempt_completion`, in the order they are printed.
    pub const FIELDS: [&'static str; 5] =
        ["taskId", "result", "summary", "outputArtifacts", "issues_encountered"];

    /// Checks an object whole, and returns what is odd about it beside the report; or everything
    /// that is wrong.
    pub fn parse(given: &Map<String, Value>) -> Result<(Self, Vec<Problem>), Vec<Problem>> {
        let mut fields = Fields::new(given, "");
        let warnings = fields.strangers(&[&Self::FIELDS[..], &["runToken"]].concat());
        let task_id = fields.parsed("taskId", Need::Required, ForeignId::parse);
        let result = fields.word("result", Need::Required, AttemptResult::WORDS);
        let summary = fields.said("summary", Need::Required, TEXT_CHARS_MAX);
        let artifacts =
            fields.objects("outputArtifacts", Need::Optional, ITEMS_MAX, Artifact::read);
        let issues =
            fields.objects("issues_encountered", Need::Optional, ITEMS_MAX, IssueEncountered::read);
        let problems = fields.into_problems();
        let there = |key: &str| given.contains_key(key);
        let completion = || {
            Some(Self {
                task_id: task_id?,
                result: result?,
                summary: summary?,
                output_artifacts: there("outputArtifacts").then_some(artifacts),
                issues_encountered: there("issues_encountered").then_some(issues),
            })
        };
        match completion() {
            Some(completion) if problems.is_empty() => Ok((completion, warnings)),
            _ => Err(problems),
        }
    }

    /// Returns the document, its fields in the order of the protocol.
    pub fn document(&self) -> Map<String, Value> {
        let issues = list(self.issues_encountered.as_deref(), IssueEncountered::document);
        object([
            ("taskId", text(Some(self.task_id.as_str()))),
            ("result", text(Some(self.result.as_str()))),
            ("summary", text(Some(&self.summary))),
            ("outputArtifacts", list(self.output_artifacts.as_deref(), Artifact::document)),
            ("issues_encountered", issues),
        ])
    }

    /// Returns every path the report names, each with where it stands.
    pub fn paths(&self) -> Vec<(String, &RelPath)> {
        let named = self.output_artifacts.iter().flatten().enumerate();
        named.map(|(i, made)| (format!("outputArtifacts[{i}].path"), &made.path)).collect()
    }

    /// Returns what was the matter, be there nothing or be the field not there.
    pub fn issues(&self) -> &[IssueEncountered] {
        self.issues_encountered.as_deref().unwrap_or(&[])
    }
}

impl IssueEncountered {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let kind = fields.word("type", Need::Required, IssueEncounteredType::WORDS);
        let description = fields.said("description", Need::Required, TEXT_CHARS_MAX);
        let suggested =
            fields.text("suggestedResolution", Need::Optional, TEXT_CHARS_MAX).map(str::to_owned);
        Some(Self { kind: kind?, description: description?, suggested_resolution: suggested })
    }

    fn document(&self) -> Value {
        Value::Object(object([
            ("type", text(Some(self.kind.as_str()))),
            ("description", text(Some(&self.description))),
            ("suggestedResolution", text(self.suggested_resolution.as_deref())),
        ]))
    }
}
