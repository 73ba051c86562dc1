//! The ids of Agent Protocol v1: `T042`, `E005`, `PRD-001`.

use std::fmt;
use std::sync::Arc;

/// The most characters an id may have.
const CHARS_MAX: usize = 64;

/// A text that is no such id: what it must begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadId(&'static str);

macro_rules! ids {
    ($($(#[doc = $doc:literal])+ $name:ident = $prefix:literal,)+) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// What every such id begins with, before its digits.
            pub const PREFIX: &'static str = $prefix;

            /// Parses an id.
            pub fn parse(text: &str) -> Result<Self, BadId> {
                if is_numbered(text, $prefix) { Ok(Self(text.into())) } else { Err(BadId($prefix)) }
            }

            /// Returns the id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )+};
}

ids! {
    /// The id of a mission: `T` and digits.
    MissionId = "T",
    /// The id of an epic: `E` and digits. Safe as a file name.
    EpicId = "E",
    /// The id of a product requirements document: `PRD-` and digits.
    PrdId = "PRD-",
}

fn is_numbered(text: &str, prefix: &str) -> bool {
    let digits = text.strip_prefix(prefix).unwrap_or("");
    let numbered = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    numbered && text.len() <= CHARS_MAX
}

impl fmt::Display for BadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = self.0;
        write!(f, "must be {prefix} and digits, as {prefix}001, of at most {CHARS_MAX} characters")
    }
}

impl std::error::Error for BadId {}
