//! The name of a story, which is also the name of its files.

use std::fmt;
use std::sync::Arc;

/// The most characters the name of a story may have.
pub const STORY_CHARS_MAX: usize = 64;

/// The name of a story, such as `US-005`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoryId(Arc<str>);

/// A text that can be no name of a story.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadStory;

impl StoryId {
    /// Parses a name: letters, digits, `-`, `_` and `.`, a letter or digit first, so that a file
    /// can be called after it.
    pub fn parse(text: &str) -> Result<Self, BadStory> {
        let allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        let begins = text.chars().next().is_some_and(char::is_alphanumeric);
        let short = text.chars().nth(STORY_CHARS_MAX).is_none();
        if begins && short && text.chars().all(allowed) {
            Ok(Self(text.into()))
        } else {
            Err(BadStory)
        }
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Puts the name into a path such as `docs/bdd/US-{story}.md`. A prefix that the name has
    /// already is not repeated.
    pub fn fill(&self, path: &str) -> String {
        let prefix: String = self.0.split_inclusive('-').next().unwrap_or_default().to_owned();
        let doubled = format!("{prefix}{{story}}");
        let path =
            if prefix.ends_with('-') { path.replace(&doubled, "{story}") } else { path.to_owned() };
        path.replace("{story}", &self.0)
    }
}

impl fmt::Display for StoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for StoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl fmt::Display for BadStory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "must be 1 to {STORY_CHARS_MAX} letters, digits, `-`, `_` or `.`, beginning with a \
             letter or digit, as US-005"
        )
    }
}

impl std::error::Error for BadStory {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_the_name_once() {
        let fill = |story: &str, path: &str| StoryId::parse(story).expect("a name").fill(path);
        assert_eq!(fill("US-005", "docs/bdd/US-{story}.md"), "docs/bdd/US-005.md");
        assert_eq!(fill("005", "docs/bdd/US-{story}.md"), "docs/bdd/US-005.md");
        assert_eq!(fill("US-005", "docs/{story}/x.md"), "docs/US-005/x.md");
        assert_eq!(fill("CART-7", "docs/bdd/US-{story}.md"), "docs/bdd/US-CART-7.md");
    }

    #[test]
    fn a_name_can_be_the_name_of_a_file() {
        for good in ["US-005", "5", "café_1", "a.b"] {
            assert!(StoryId::parse(good).is_ok(), "{good}");
        }
        let long = "x".repeat(65);
        for bad in ["", ".", "..", "-x", "a/b", "a b", "a\nb", "../x", &long] {
            assert_eq!(StoryId::parse(bad), Err(BadStory), "{bad}");
        }
    }
}
