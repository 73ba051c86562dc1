//! A file that is named: to be read, or made.

use serde_json::Value;

use super::{TEXT_CHARS_MAX, WORD_CHARS_MAX, object, text};
use crate::fields::{Fields, Need};
use crate::path::RelPath;

/// A file to be read, or that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// What it is.
    pub kind: Option<String>,
    /// Where it lies.
    pub path: RelPath,
    /// Which version of it.
    pub version: Option<String>,
    /// What is in it.
    pub description: Option<String>,
}

impl Artifact {
    pub(super) fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let kind = fields.text("type", Need::Optional, WORD_CHARS_MAX).map(str::to_owned);
        let path = fields.path("path");
        let version = fields.text("version", Need::Optional, WORD_CHARS_MAX).map(str::to_owned);
        let description =
            fields.text("description", Need::Optional, TEXT_CHARS_MAX).map(str::to_owned);
        Some(Self { kind, path: path?, version, description })
    }

    pub(super) fn document(&self) -> Value {
        Value::Object(object([
            ("type", text(self.kind.as_deref())),
            ("path", text(Some(self.path.as_str()))),
            ("version", text(self.version.as_deref())),
            ("description", text(self.description.as_deref())),
        ]))
    }
}
