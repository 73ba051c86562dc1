//! What is wrong with a configuration, and what was perhaps meant.

/// What is wrong with a configuration, and what was perhaps meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// The line it is in; none if it is in the environment.
    pub line: Option<usize>,
    /// What is wrong.
    pub what: String,
    /// What was perhaps meant.
    pub hint: Option<String>,
}

impl Wrong {
    pub(super) fn toml(text: &str, error: &toml::de::Error) -> Self {
        let line = error.span().map(|span| line_at(text, span.start));
        Self { line, what: first_line(error), hint: None }
    }
}

/// Returns what an error says, without the picture of the place.
pub(super) fn first_line(error: &toml::de::Error) -> String {
    error.message().lines().next().unwrap_or_default().to_owned()
}

/// Returns the known word that is nearest to another.
pub(super) fn nearest<'a>(known: impl Iterator<Item = &'a str>, word: &str) -> Option<&'a str> {
    known.max_by(|a, b| strsim::jaro(word, a).total_cmp(&strsim::jaro(word, b)))
}

pub(super) fn line_at(text: &str, byte: usize) -> usize {
    text.as_bytes().iter().take(byte).filter(|byte| **byte == b'\n').count() + 1
}
