//! A mission: what an agent must accomplish.

use serde_json::{Map, Value};

use super::id::{EpicId, MissionId, PrdId};
use super::{VERSION, check_version};
use crate::answer::Problem;
use crate::constraints::Constraints;
use crate::fields::{Fields, Need};
use crate::path::RelPath;

/// The most characters an instruction may have.
pub const INSTRUCTION_CHARS_MAX: usize = 100_000;

/// A mission in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mission {
    /// Its id.
    pub task_id: MissionId,
    /// The epic it is a part of.
    pub epic_id: EpicId,
    /// The document that asks for it.
    pub prd_id: PrdId,
    /// What is to be done.
    pub instruction: String,
    /// What to read.
    pub context: Context,
    /// What not to do; none if nothing is said.
    pub constraints: Option<Constraints>,
    /// After how many seconds it is stopped; 0 is never.
    pub timeout: Option<u64>,
}

/// What to read for a mission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    /// How this project is worked on.
    pub dev_md: Option<RelPath>,
    /// What the epic is about.
    pub epic_file: RelPath,
    /// What the task is about.
    pub task_file: RelPath,
    /// What earlier missions of the epic have learnt.
    pub memory: Option<RelPath>,
    /// What tools there are.
    pub toolset: Option<RelPath>,
}

impl Mission {
    /// The fields of a mission, in the order they are printed.
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

    /// Checks a mapping whole, and returns what is odd about it beside the mission; or everything
    /// that is wrong.
    pub fn parse(object: &Map<String, Value>) -> Result<(Self, Vec<Problem>), Vec<Problem>> {
        let mut fields = Fields::new(object, "");
        let mut warnings = fields.strangers(&[&Self::FIELDS[..], &["run_token"]].concat());
        check_version(&mut fields, &mut warnings);
        let task_id = fields.parsed("task_id", Need::Required, MissionId::parse);
        let epic_id = fields.parsed("epic_id", Need::Required, EpicId::parse);
        let prd_id = fields.parsed("prd_id", Need::Required, PrdId::parse);
        let instruction = fields.said("instruction", Need::Required, INSTRUCTION_CHARS_MAX);
        let context = fields.nested("context", Need::Required, |fields| {
            warnings.extend(fields.strangers(&Context::FIELDS));
            Context::read(fields)
        });
        let constraints = fields.nested("constraints", Need::Optional, |fields| {
            warnings.extend(fields.strangers(&Constraints::FIELDS));
            Constraints::read(fields)
        });
        let timeout = fields.count("timeout");
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

    /// Returns the document, its fields in the order of the protocol.
    pub fn document(&self) -> Map<String, Value> {
        let mut map = Map::new();
        map.insert("version".into(), VERSION.into());
        map.insert("task_id".into(), self.task_id.as_str().into());
        map.insert("epic_id".into(), self.epic_id.as_str().into());
        map.insert("prd_id".into(), self.prd_id.as_str().into());
        map.insert("instruction".into(), self.instruction.as_str().into());
        map.insert("context".into(), self.context.document().into());
        if let Some(constraints) = &self.constraints {
            map.insert("constraints".into(), constraints.document().into());
        }
        if let Some(timeout) = self.timeout {
            map.insert("timeout".into(), timeout.into());
        }
        map
    }

    /// Returns every path the mission names, each with where it stands.
    pub fn paths(&self) -> Vec<(String, &RelPath)> {
        let named = self.context.listed();
        named
            .into_iter()
            .filter_map(|(name, path)| Some((format!("context.{name}"), path?)))
            .collect()
    }
}

impl Context {
    /// The fields of a context, in the order they are printed.
    pub const FIELDS: [&'static str; 5] = ["dev_md", "epic_file", "task_file", "memory", "toolset"];

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let dev_md = fields.optional_path("dev_md");
        let (epic_file, task_file) = (fields.path("epic_file"), fields.path("task_file"));
        let memory = fields.optional_path("memory");
        let toolset = fields.optional_path("toolset");
        Some(Self { dev_md, epic_file: epic_file?, task_file: task_file?, memory, toolset })
    }

    fn listed(&self) -> [(&'static str, Option<&RelPath>); 5] {
        [
            ("dev_md", self.dev_md.as_ref()),
            ("epic_file", Some(&self.epic_file)),
            ("task_file", Some(&self.task_file)),
            ("memory", self.memory.as_ref()),
            ("toolset", self.toolset.as_ref()),
        ]
    }

    fn document(&self) -> Map<String, Value> {
        let said = self.listed().into_iter();
        said.filter_map(|(name, path)| Some((name.into(), path?.as_str().into()))).collect()
    }
}
