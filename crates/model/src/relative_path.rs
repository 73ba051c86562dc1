//! Paths that agents name in messages: relative, and inside the folder they start from.

use std::fmt;

use crate::text_value::text_id;

/// The most characters a path in a message may have.
pub const PATH_CHARS_MAX: usize = 256;

/// A relative path that does not climb out of its base folder. Symbolic links may still lead
/// outside; they are checked when the file is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend(
        "minLength" = 1,
        "maxLength" = PATH_CHARS_MAX,
        "pattern" = crate::schema::NO_CONTROL,
        "not" = {"pattern": crate::schema::ESCAPING_PATH},
        "examples" = ["outputs/summary.md"],
    ))
)]
pub struct RelPath(Box<str>);

/// Why a path in a message is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadPath {
    Empty,
    /// Longer than [`PATH_CHARS_MAX`].
    TooLong,
    /// Starts at a root, a drive or a home folder.
    Absolute,
    /// Leaves its base folder by `..`.
    Escapes,
    /// Contains a control character.
    Control,
}

impl RelPath {
    /// Parses a path from a message. Backslashes count as separators, because they are separators
    /// on other systems.
    pub fn parse(text: &str) -> Result<Self, BadPath> {
        if text.is_empty() {
            return Err(BadPath::Empty);
        }
        if text.chars().nth(PATH_CHARS_MAX).is_some() {
            return Err(BadPath::TooLong);
        }
        if text.chars().any(char::is_control) {
            return Err(BadPath::Control);
        }
        if is_absolute(text) {
            return Err(BadPath::Absolute);
        }
        if text.split(['/', '\\']).any(|part| part == "..") {
            return Err(BadPath::Escapes);
        }
        Ok(Self(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_absolute(text: &str) -> bool {
    let bytes = text.as_bytes();
    let drive = bytes.len() > 1 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':';
    let home = text == "~" || text.starts_with("~/");
    text.starts_with(['/', '\\']) || drive || home
}

text_id!(RelPath);

impl fmt::Display for BadPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("must not be empty"),
            Self::TooLong => write!(f, "must have at most {PATH_CHARS_MAX} characters"),
            Self::Absolute => f.write_str("must be a relative path"),
            Self::Escapes => f.write_str("must stay inside its folder (no `..`)"),
            Self::Control => f.write_str("must not contain control characters"),
        }
    }
}

impl std::error::Error for BadPath {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_inside_base_folder_is_accepted() {
        for good in ["outputs/summary.md", "./a", "a/./b", "src/..foo", "docs/", "a b/ü.md", "..."]
        {
            assert!(RelPath::parse(good).is_ok(), "{good}");
        }
    }

    #[test]
    fn path_outside_base_folder_is_refused() {
        let check = |bad: &str, why| assert_eq!(RelPath::parse(bad), Err(why), "{bad:?}");
        check("", BadPath::Empty);
        check("/etc/passwd", BadPath::Absolute);
        check("~/x", BadPath::Absolute);
        check("C:\\x", BadPath::Absolute);
        check("\\\\host\\x", BadPath::Absolute);
        check("../x", BadPath::Escapes);
        check("a/../../x", BadPath::Escapes);
        check("a\\..\\x", BadPath::Escapes);
        check("a/..", BadPath::Escapes);
        check("a\0b", BadPath::Control);
        check(&"a".repeat(257), BadPath::TooLong);
    }
}
