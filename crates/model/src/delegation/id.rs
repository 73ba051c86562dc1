//! Task ids of other systems: any single line of text.

use std::fmt;
use std::sync::Arc;

use crate::text_value::text_id;

/// The most characters such an id may have.
const CHARS_MAX: usize = 128;

/// The id by which another system knows a task, such as `API-SPEC-001` or `T042`. Never part
/// of a path.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend(
        "maxLength" = CHARS_MAX,
        "pattern" = crate::schema::TRIMMED_LINE,
        "examples" = ["API-SPEC-001"],
    ))
)]
pub struct ExternalTaskId(Arc<str>);

/// Why a text is not a valid id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExternalTaskIdError {
    /// Empty, or with blanks at an end.
    Blank,
    TooLong,
    Control,
}

impl ExternalTaskId {
    /// Parses one line without blanks at its ends.
    pub fn parse(text: &str) -> Result<Self, ExternalTaskIdError> {
        if text.is_empty() || text.trim() != text {
            Err(ExternalTaskIdError::Blank)
        } else if text.chars().nth(CHARS_MAX).is_some() {
            Err(ExternalTaskIdError::TooLong)
        } else if text.chars().any(char::is_control) {
            Err(ExternalTaskIdError::Control)
        } else {
            Ok(Self(text.into()))
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

text_id!(ExternalTaskId);

impl fmt::Debug for ExternalTaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl fmt::Display for ExternalTaskIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blank => f.write_str("must not be empty, or begin or end with a space"),
            Self::TooLong => write!(f, "must have at most {CHARS_MAX} characters"),
            Self::Control => f.write_str("must not contain control characters"),
        }
    }
}

impl std::error::Error for ExternalTaskIdError {}
