//! Missions: what an agent must accomplish.

use serde::Serialize;
use serde_json::{Map, Value};

use super::id::{EpicId, MissionId, PrdId};
use super::{check_version, versioned_object};
use crate::answer::FieldProblem;
use crate::constraints::RunConstraints;
use crate::field_reader::{FieldNeed, FieldReader};
use crate::relative_path::RelPath;
#[cfg(feature = "schema")]
use crate::schema::nonblank_patterns;

pub const INSTRUCTION_CHARS_MAX: usize = 100_000;

/// A mission: what an agent must accomplish. At most 128 KiB of JSON or plain YAML. Unknown fields
/// are ignored, with a warning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = super::add_version))]
pub struct MissionOrder {
    pub task_id: MissionId,
    pub epic_id: EpicId,
    /// The product requirements document that asks for the mission.
    pub prd_id: PrdId,
    /// What is to be done.
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = INSTRUCTION_CHARS_MAX), extend("allOf" = nonblank_patterns()))
    )]
    pub instruction: String,
    pub context: MissionContext,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraints: Option<RunConstraints>,
    /// The time limit in seconds; 0 means no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(max = u64::MAX)))]
    pub timeout: Option<u64>,
}

/// The files to read for a mission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MissionContext {
    /// How to work on this project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dev_md: Option<RelPath>,
    /// What the epic is about.
    pub epic_file: RelPath,
    /// What the task is about.
    pub task_file: RelPath,
    /// What the sender knows from earlier work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<RelPath>,
    /// What earlier missions of the epic have learnt, as Adjutant collected it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epic_memory: Option<RelPath>,
    /// The available tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toolset: Option<RelPath>,
}

impl MissionOrder {
    /// The field names, in the order they are printed.
    pub const FIELDS: [&'static str; 8] = [
        "version",
        "task_id",
        "epic_id",
        "prd_id",
        "instruction",
        "context",
        "constraints",
        "timeout",
    ];

    /// Parses a mapping. Returns the mission and its warnings, or every problem.
    pub fn parse(
        object: &Map<String, Value>,
    ) -> Result<(Self, Vec<FieldProblem>), Vec<FieldProblem>> {
        let mut fields = FieldReader::new(object, "").with_null_as_absent();
        let mut warnings =
            fields.unknown_field_warnings(&[&Self::FIELDS[..], &["run_token"]].concat());
        check_version(&mut fields, &mut warnings);
        let task_id = fields.parsed("task_id", FieldNeed::Required, MissionId::parse);
        let epic_id = fields.parsed("epic_id", FieldNeed::Required, EpicId::parse);
        let prd_id = fields.parsed("prd_id", FieldNeed::Required, PrdId::parse);
        let instruction =
            fields.nonblank_text("instruction", FieldNeed::Required, INSTRUCTION_CHARS_MAX);
        let context = fields.nested("context", FieldNeed::Required, |fields| {
            warnings.extend(fields.unknown_field_warnings(&MissionContext::FIELDS));
            MissionContext::read(fields)
        });
        let constraints = fields.nested("constraints", FieldNeed::Optional, |fields| {
            warnings.extend(fields.unknown_field_warnings(&RunConstraints::FIELDS));
            RunConstraints::read(fields)
        });
        let timeout = fields.parse_count("timeout");
        let problems = fields.into_problems();
        let mission = || {
            Some(Self {
                task_id: task_id?,
                epic_id: epic_id?,
                prd_id: prd_id?,
                instruction: instruction?,
                context: context??,
                constraints,
                timeout,
            })
        };
        match mission() {
            Some(mission) if problems.is_empty() => Ok((mission, warnings)),
            _ => Err(problems),
        }
    }

    /// Returns the document, with its fields in the order of the protocol.
    pub fn to_map(&self) -> Map<String, Value> {
        versioned_object(self)
    }

    /// Returns every path in the mission, each with the name of its field.
    pub fn paths(&self) -> Vec<(String, &RelPath)> {
        let named = self.context.named_paths();
        named
            .into_iter()
            .filter_map(|(name, path)| Some((format!("context.{name}"), path?)))
            .collect()
    }
}

impl MissionContext {
    /// The field names, in the order they are printed.
    pub const FIELDS: [&'static str; 6] =
        ["dev_md", "epic_file", "task_file", "memory", "epic_memory", "toolset"];

    fn read(fields: &mut FieldReader<'_>) -> Option<Self> {
        let dev_md = fields.optional_path("dev_md");
        let (epic_file, task_file) = (fields.path("epic_file"), fields.path("task_file"));
        let memory = fields.optional_path("memory");
        let epic_memory = fields.optional_path("epic_memory");
        let toolset = fields.optional_path("toolset");
        let (epic_file, task_file) = (epic_file?, task_file?);
        Some(Self { dev_md, epic_file, task_file, memory, epic_memory, toolset })
    }

    fn named_paths(&self) -> [(&'static str, Option<&RelPath>); 6] {
        [
            ("dev_md", self.dev_md.as_ref()),
            ("epic_file", Some(&self.epic_file)),
            ("task_file", Some(&self.task_file)),
            ("memory", self.memory.as_ref()),
            ("epic_memory", self.epic_memory.as_ref()),
            ("toolset", self.toolset.as_ref()),
        ]
    }
}
