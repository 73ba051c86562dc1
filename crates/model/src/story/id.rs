//! The name of a story, which is also used in the names of its files.

use std::fmt;
use std::sync::Arc;

use crate::text_value::text_id;

/// The most characters the name of a story may have.
pub const STORY_CHARS_MAX: usize = 64;

/// The name of a story, such as `US-005`: letters, digits, `-`, `_` and `.`, starting with
/// a letter or digit.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend(
        "maxLength" = STORY_CHARS_MAX,
        "pattern" = r"^[\p{Alphabetic}\p{N}][\p{Alphabetic}\p{N}._-]*$",
        "examples" = ["US-005"],
    ))
)]
pub struct StoryId(Arc<str>);

/// A text that is not a valid story name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadStoryId;

impl StoryId {
    /// Parses a name: letters, digits, `-`, `_` and `.`, starting with a letter or digit, so that
    /// it can be part of a file name.
    pub fn parse(text: &str) -> Result<Self, BadStoryId> {
        let allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        let begins = text.chars().next().is_some_and(char::is_alphanumeric);
        let short = text.chars().nth(STORY_CHARS_MAX).is_none();
        if begins && short && text.chars().all(allowed) {
            Ok(Self(text.into()))
        } else {
            Err(BadStoryId)
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Inserts the name into a path such as `docs/bdd/US-{story}.md`. A prefix that the name
    /// already has is not repeated.
    pub fn fill_path(&self, path: &str) -> String {
        let prefix: String = self.0.split_inclusive('-').next().unwrap_or_default().to_owned();
        let doubled = format!("{prefix}{{story}}");
        let path =
            if prefix.ends_with('-') { path.replace(&doubled, "{story}") } else { path.to_owned() };
        path.replace("{story}", &self.0)
    }
}

text_id!(StoryId);

impl fmt::Debug for StoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl fmt::Display for BadStoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "must be 1 to {STORY_CHARS_MAX} letters, digits, `-`, `_` or `.`, beginning with a \
             letter or digit, such as US-005"
        )
    }
}

impl std::error::Error for BadStoryId {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn story_path_repeats_no_prefix() {
        let fill = |story: &str, path: &str| StoryId::parse(story).expect("a name").fill_path(path);
        assert_eq!(fill("US-005", "docs/bdd/US-{story}.md"), "docs/bdd/US-005.md");
        assert_eq!(fill("005", "docs/bdd/US-{story}.md"), "docs/bdd/US-005.md");
        assert_eq!(fill("US-005", "docs/{story}/x.md"), "docs/US-005/x.md");
        assert_eq!(fill("CART-7", "docs/bdd/US-{story}.md"), "docs/bdd/US-CART-7.md");
    }

    #[test]
    fn story_name_must_be_valid_in_a_file_name() {
        for good in ["US-005", "5", "café_1", "a.b"] {
            assert!(StoryId::parse(good).is_ok(), "{good}");
        }
        let long = "x".repeat(65);
        for bad in ["", ".", "..", "-x", "a/b", "a b", "a\nb", "../x", &long] {
            assert_eq!(StoryId::parse(bad), Err(BadStoryId), "{bad}");
        }
    }
}
