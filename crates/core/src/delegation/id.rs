//! Ids that others give: any one line of text.

use std::fmt;
use std::sync::Arc;

/// The most characters such an id may have.
const CHARS_MAX: usize = 128;

/// The id somebody else knows a task by, as `API-SPEC-001` or `T042`. Never part of a path.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ForeignId(Arc<str>);

/// Why a text is no such id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadForeignId {
    /// There is nothing in it, or blanks around it.
    Blank,
    /// It is longer than it may be.
    TooLong,
    /// It has a control character in it.
    Control,
}

impl ForeignId {
    /// Parses an id: one line, no blanks around it.
    pub fn parse(text: &str) -> Result<Self, BadForeignId> {
        if text.is_empty() || text.trim() != text {
            Err(BadForeignId::Blank)
        } else if text.chars().nth(CHARS_MAX).is_some() {
            Err(BadForeignId::TooLong)
        } else if text.chars().any(char::is_control) {
            Err(BadForeignId::Control)
        } else {
            Ok(Self(text.into()))
        }
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ForeignId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for ForeignId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl fmt::Display for BadForeignId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blank => f.write_str("must not be empty or have blanks around it"),
            Self::TooLong => write!(f, "must have at most {CHARS_MAX} characters"),
            Self::Control => f.write_str("must not contain control characters"),
        }
    }
}

impl std::error::Error for BadForeignId {}
