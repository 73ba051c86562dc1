//! The `attempt_completion` document: the report on a `new_task`.

use serde::Serialize;
use serde_json::{Map, Value};

use super::artifact::TaskArtifact;
use super::id::ExternalTaskId;
use super::{ITEMS_MAX, TEXT_CHARS_MAX};
use crate::answer::FieldProblem;
use crate::encoding::object_of;
use crate::field_reader::{FieldNeed, FieldReader};
use crate::relative_path::RelPath;
#[cfg(feature = "schema")]
use crate::schema::{NO_NUL, nonblank_patterns};
use crate::text_value::word_enum;

/// An `attempt_completion`: the report on a `new_task`. At most 1 MiB. Unknown fields are ignored,
/// with a warning.
// A list is `None` if its field was absent, not if it was empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AttemptCompletion {
    pub task_id: ExternalTaskId,
    pub result: AttemptResult,
    /// What the agent did, or why it could not.
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = TEXT_CHARS_MAX), extend("allOf" = nonblank_patterns()))
    )]
    pub summary: String,
    /// The files that the agent made.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = ITEMS_MAX)))]
    pub output_artifacts: Option<Vec<TaskArtifact>>,
    /// The issues that the agent met.
    #[serde(rename = "issues_encountered", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = ITEMS_MAX)))]
    pub issues_encountered: Option<Vec<IssueEncountered>>,
}

/// An issue that the agent met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IssueEncountered {
    #[serde(rename = "type")]
    pub kind: IssueEncounteredType,
    /// What the issue is.
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = TEXT_CHARS_MAX), extend("allOf" = nonblank_patterns()))
    )]
    pub description: String,
    /// How the issue could be resolved.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = TEXT_CHARS_MAX), regex(pattern = NO_NUL)))]
    pub suggested_resolution: Option<String>,
}

word_enum! {
    /// The status of the work in an `attempt_completion`.
    #[strum(serialize_all = "snake_case")]
    pub enum AttemptResult {
        Success,
        Failure,
        /// The agent needs more information first.
        ClarificationNeeded,
        /// The order contradicts itself or the project.
        ConflictDetected,
    }
}

word_enum! {
    /// The kind of an issue that the agent met.
    #[strum(serialize_all = "snake_case")]
    pub enum IssueEncounteredType {
        /// The agent needs more information.
        ClarificationNeeded,
        TechnicalIssue,
        Conflict,
        Other,
    }
}

impl AttemptCompletion {
    /// The field names, in the order they are printed.
    pub const FIELDS: [&'static str; 5] =
        ["taskId", "result", "summary", "outputArtifacts", "issues_encountered"];

    /// Parses an object. Returns the report and its warnings, or every problem.
    pub fn parse(
        given: &Map<String, Value>,
    ) -> Result<(Self, Vec<FieldProblem>), Vec<FieldProblem>> {
        let mut fields = FieldReader::new(given, "").with_null_as_absent();
        let warnings = fields.unknown_field_warnings(&[&Self::FIELDS[..], &["runToken"]].concat());
        let task_id = fields.parsed("taskId", FieldNeed::Required, ExternalTaskId::parse);
        let result = fields.one_of("result", FieldNeed::Required);
        let summary = fields.nonblank_text("summary", FieldNeed::Required, TEXT_CHARS_MAX);
        let artifacts =
            fields.objects("outputArtifacts", FieldNeed::Optional, ITEMS_MAX, TaskArtifact::read);
        let issues = fields.objects(
            "issues_encountered",
            FieldNeed::Optional,
            ITEMS_MAX,
            IssueEncountered::read,
        );
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

    /// Returns the document, with its fields in the order of the protocol.
    pub fn to_map(&self) -> Map<String, Value> {
        object_of(self)
    }

    /// Returns every path in the report, each with the name of its field.
    pub fn paths(&self) -> Vec<(String, &RelPath)> {
        let named = self.output_artifacts.iter().flatten().enumerate();
        named.map(|(i, made)| (format!("outputArtifacts[{i}].path"), &made.path)).collect()
    }

    /// Returns the issues; empty if the field is absent.
    pub fn issues(&self) -> &[IssueEncountered] {
        self.issues_encountered.as_deref().unwrap_or(&[])
    }
}

impl IssueEncountered {
    fn read(fields: &mut FieldReader<'_>) -> Option<Self> {
        let kind = fields.one_of("type", FieldNeed::Required);
        let description = fields.nonblank_text("description", FieldNeed::Required, TEXT_CHARS_MAX);
        let suggested = fields
            .text("suggestedResolution", FieldNeed::Optional, TEXT_CHARS_MAX)
            .map(str::to_owned);
        Some(Self { kind: kind?, description: description?, suggested_resolution: suggested })
    }
}
