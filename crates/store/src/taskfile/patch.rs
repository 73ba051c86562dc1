//! A change of a task file that touches only the fields it names, on any valid text of the file.

use adjutant_model::Task;
use adjutant_model::time_limits::DurationLimit;
use adjutant_model::work_log::WorkLogEntry;
use serde_json::{Map, Value};

use super::fields::{self, FieldChange};
use super::parse::ParsedTask;
use crate::frontmatter::{self, FieldEdit, FrontMatterParts};

/// The changes to make in a task file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskFilePatch {
    fields: Vec<FieldChange>,
    body: Vec<BodyChange>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyChange {
    Replace(String),
    /// Adds a line to the work log.
    Append(WorkLogEntry),
}

impl TaskFilePatch {
    /// Makes the patch that turns the file `before` into the task `after`.
    pub fn new(before: &ParsedTask, after: &Task, body: Vec<BodyChange>) -> Self {
        let mut fields = fields::changes(&before.task, after);
        let is_changed =
            |fields: &[FieldChange], key: &str| fields.iter().any(|(path, _)| *path == [key]);
        // A status at odds with the folder, and a lease that is over, do not show in the task.
        let status = Value::from(after.status().as_str());
        if before.fields.get("status") != Some(&status) && !is_changed(&fields, "status") {
            let heads = fields.iter().take_while(|(path, _)| *path == ["id"] || *path == ["title"]);
            let place = heads.count();
            fields.insert(place, (vec!["status".to_owned()], Some(status)));
        }
        let was_leased = before.fields.get("lease").is_some_and(|was| !was.is_null());
        if after.lease().is_none() && was_leased && !is_changed(&fields, "lease") {
            fields.push((vec!["lease".to_owned()], None));
        }
        Self { fields, body }
    }

    /// Makes a patch of the body alone.
    pub fn from_body(body: Vec<BodyChange>) -> Self {
        Self { fields: vec![], body }
    }

    /// Adds changes of time limits, by the names of their fields. They are not part of the task.
    #[must_use]
    pub fn with_time_limits(mut self, limits: &[(&'static str, Option<DurationLimit>)]) -> Self {
        self.fields.extend(limits.iter().map(|(name, limit)| {
            let path = vec!["metadata".to_owned(), (*name).to_owned()];
            (path, limit.map(|limit| limit.to_string().into()))
        }));
        self
    }

    pub fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.body.is_empty()
    }

    /// Applies the patch. Everything that it does not name stays byte for byte.
    pub fn apply(&self, text: &str) -> Result<String, PatchError> {
        let parts = FrontMatterParts::split(text).map_err(|_| PatchError)?;
        let fields = frontmatter::read(parts.yaml()).map_err(|_| PatchError)?;
        self.change(&parts, &fields)
    }

    /// Applies the patch to a text that is known to parse as `before`.
    pub fn apply_to(&self, text: &str, before: &ParsedTask) -> Result<String, PatchError> {
        let parts = FrontMatterParts::split(text).map_err(|_| PatchError)?;
        self.change(&parts, &before.fields)
    }

    fn change(
        &self,
        parts: &FrontMatterParts<'_>,
        fields: &Map<String, Value>,
    ) -> Result<String, PatchError> {
        let paths: Vec<Vec<&str>> =
            self.fields.iter().map(|(path, _)| path.iter().map(String::as_str).collect()).collect();
        let values = self.fields.iter().map(|(_, value)| value.clone());
        let edits: Vec<FieldEdit<'_>> =
            paths.iter().zip(values).map(|(path, value)| FieldEdit { path, value }).collect();
        let yaml = frontmatter::edit_parsed(parts.yaml(), fields, &edits, parts.eol())
            .map_err(|_| PatchError)?;
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

/// The text is not a valid task file any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PatchError;

/// Separates the first entry of an empty body from the front matter by a blank line.
fn append(entry: &WorkLogEntry, body: &str, eol: &str) -> String {
    if body.is_empty() { format!("{eol}{}", entry.append_to("")) } else { entry.append_to(body) }
}
