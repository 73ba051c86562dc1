//! A change of a task file that touches only what it names, on whatever text is there.

use adjutant_core::Task;
use adjutant_core::worklog::Entry;
use serde_json::{Map, Value};

use super::fields::{self, Path};
use super::parse::Parsed;
use crate::frontmatter::{self, Edit, Parts};

/// What is to change in a task file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Patch {
    fields: Vec<(Path, Option<Value>)>,
    body: Vec<BodyChange>,
}

/// A change of the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyChange {
    /// Another body.
    Replace(String),
    /// One more line in the work log.
    Append(Entry),
}

impl Patch {
    /// Makes the patch that turns what a file says into `after`.
    pub fn new(before: &Parsed, after: &Task, body: Vec<BodyChange>) -> Self {
        let [was, will] = fields::side_by_side(&before.task, after);
        let differs = |((path, was), (_, will)): (fields::Field, fields::Field)| {
            let said = needs_saying(before, path, will.as_ref());
            (was != will || said).then_some((path, will))
        };
        Self { fields: was.into_iter().zip(will).filter_map(differs).collect(), body }
    }

    /// Makes a patch of the body alone.
    pub fn body(body: Vec<BodyChange>) -> Self {
        Self { fields: vec![], body }
    }

    /// Says whether there is nothing to change.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.body.is_empty()
    }

    /// Makes the change. Everything it does not name stays byte for byte.
    pub fn apply(&self, text: &str) -> Result<String, Unpatchable> {
        let parts = Parts::split(text).map_err(|_| Unpatchable)?;
        let fields = frontmatter::read(parts.yaml()).map_err(|_| Unpatchable)?;
        self.change(&parts, &fields)
    }

    /// Makes the change to a text that reads as `before`.
    pub fn apply_to(&self, text: &str, before: &Parsed) -> Result<String, Unpatchable> {
        let parts = Parts::split(text).map_err(|_| Unpatchable)?;
        self.change(&parts, &before.fields)
    }

    fn change(
        &self,
        parts: &Parts<'_>,
        fields: &Map<String, Value>,
    ) -> Result<String, Unpatchable> {
        let edits: Vec<Edit<'_>> =
            self.fields.iter().map(|(path, value)| Edit { path, value: value.clone() }).collect();
        let yaml = frontmatter::edit_known(parts.yaml(), fields, &edits, parts.eol())
            .map_err(|_| Unpatchable)?;
        let mut body = parts.body().to_owned();
        for change in &self.body {
            body = match change {
                BodyChange::Replace(text) => format!("{}{text}", parts.eol()),
                BodyChange::Append(entry) => append(entry, &body, parts.eol()),
            };
        }
        Ok(parts.join(&yaml, &body))
    }
}

/// A text that is no task file any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unpatchable;

/// A status at odds with the folder, and a lease that is over, do not show in the task itself.
fn needs_saying(before: &Parsed, path: Path, will: Option<&Value>) -> bool {
    match path {
        ["status"] => before.fields.get("status") != will,
        ["lease"] => will.is_none() && before.fields.get("lease").is_some_and(|was| !was.is_null()),
        _ => false,
    }
}

/// The first thing in a body is set apart from the front matter by a blank line.
fn append(entry: &Entry, body: &str, eol: &str) -> String {
    if body.is_empty() { format!("{eol}{}", entry.append_to("")) } else { entry.append_to(body) }
}
