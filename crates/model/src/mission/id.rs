//! The ids of Agent Protocol v1: `T042`, `E005`, `PRD-001`.

use std::fmt;
use std::sync::Arc;

use crate::text_value::text_id;

/// The most characters an id may have.
const CHARS_MAX: usize = 64;

/// A text that is not a valid id; holds the required prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProtocolIdError(&'static str);

macro_rules! ids {
    ($($(#[doc = $doc:literal])+ $name:ident = $prefix:literal,)+) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[cfg_attr(
            feature = "schema",
            schemars(extend(
                "maxLength" = CHARS_MAX,
                "pattern" = concat!("^", $prefix, "[0-9]+$"),
                "examples" = [concat!($prefix, "042")],
            ))
        )]
        pub struct $name(Arc<str>);

        impl $name {
            pub const PREFIX: &'static str = $prefix;

            pub fn parse(text: &str) -> Result<Self, ProtocolIdError> {
                if is_numbered(text, $prefix) { Ok(Self(text.into())) } else { Err(ProtocolIdError($prefix)) }
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        text_id!($name);

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

impl fmt::Display for ProtocolIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = self.0;
        write!(
            f,
            "must be {prefix} and digits, such as {prefix}001, with at most {CHARS_MAX} characters"
        )
    }
}

impl std::error::Error for ProtocolIdError {}
