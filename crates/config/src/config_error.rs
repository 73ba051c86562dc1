//! A configuration error, with its line and a hint.

use std::fmt;

/// What is wrong with a configuration, and the setting that was probably meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// `None` if the error is in the environment or belongs to no line.
    pub line: Option<usize>,
    pub message: String,
    pub hint: Option<String>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        f.write_str(&self.message)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

impl ConfigError {
    pub(super) fn from_toml(text: &str, error: &toml::de::Error) -> Self {
        let line = error.span().map(|span| line_at(text, span.start));
        Self { line, message: first_line(error), hint: None }
    }
}

/// Returns the error message without the excerpt of the file, in the terms of a configuration
/// instead of those of the parser.
pub(super) fn first_line(error: &toml::de::Error) -> String {
    let message = error.message().lines().next().unwrap_or_default();
    let message = match message.split_once("expected struct ") {
        Some((before, _)) => format!("{before}expected a table"),
        None => message.to_owned(),
    };
    message
        .replace("unknown variant ", "unknown value ")
        .replace("missing field ", "missing setting ")
}

/// Returns the known name that is most similar to `word`.
pub(super) fn nearest<'a>(known: impl Iterator<Item = &'a str>, word: &str) -> Option<&'a str> {
    known.max_by(|a, b| strsim::jaro(word, a).total_cmp(&strsim::jaro(word, b)))
}

pub(super) fn line_at(text: &str, byte: usize) -> usize {
    text.as_bytes().iter().take(byte).filter(|byte| **byte == b'\n').count() + 1
}
