//! A file that a document names, to be read or as an output.

use serde::Serialize;

use super::{TEXT_CHARS_MAX, WORD_CHARS_MAX};
use crate::field_reader::{FieldNeed, FieldReader};
use crate::relative_path::RelPath;
#[cfg(feature = "schema")]
use crate::schema::NO_NUL;

/// A file that a document names, to be read or as an output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskArtifact {
    /// What kind of file it is.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = WORD_CHARS_MAX), regex(pattern = NO_NUL)))]
    pub kind: Option<String>,
    pub path: RelPath,
    /// The version of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = WORD_CHARS_MAX), regex(pattern = NO_NUL)))]
    pub version: Option<String>,
    /// What the file contains.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = TEXT_CHARS_MAX), regex(pattern = NO_NUL)))]
    pub description: Option<String>,
}

impl TaskArtifact {
    pub(super) fn read(fields: &mut FieldReader<'_>) -> Option<Self> {
        let kind = fields.text("type", FieldNeed::Optional, WORD_CHARS_MAX).map(str::to_owned);
        let path = fields.path("path");
        let version =
            fields.text("version", FieldNeed::Optional, WORD_CHARS_MAX).map(str::to_owned);
        let description =
            fields.text("description", FieldNeed::Optional, TEXT_CHARS_MAX).map(str::to_owned);
        Some(Self { kind, path: path?, version, description })
    }
}
