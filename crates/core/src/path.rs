//! Paths that agents name in messages: relative, and staying where they start.

use std::fmt;

/// The most characters a path in a message may have.
pub const PATH_CHARS_MAX: usize = 256;

/// A relative path that does not climb out of the folder it starts from.
///
/// Whether a link on the way leads outside is for whoever opens it to check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelPath(Box<str>);

/// Why a text is no path we follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadPath {
    /// There is nothing in it.
    Empty,
    /// It is longer than [`PATH_CHARS_MAX`].
    TooLong,
    /// It starts at a root, a drive or a home.
    Absolute,
    /// It climbs out by `..`.
    Escapes,
    /// It has a control character in it.
    Control,
}

impl RelPath {
    /// Parses a path as a message gives it. Backslashes count as separators here, because on
    /// another system they are.
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

    /// Returns the path as it was given.
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

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

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
    fn a_path_inside_is_taken() {
        for good in ["outputs/summary.md", "./a", "a/./b", "src/..foo", "docs/", "a b/ü.md", "..."]
        {
            assert!(RelPath::parse(good).is_ok(), "{good}");
        }
    }

    #[test]
    fn a_path_that_leaves_is_refused() {
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
