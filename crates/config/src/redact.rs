//! Redacts secrets in text, before it reaches a log, the event log, a notice, a page or an export.
//!
//! It knows two kinds of secrets. The secrets of Adjutant and of its configuration are known by
//! their value: see [`SecretRedactor`]. Other secrets are recognised by their appearance: the
//! prefixes of well-known keys, the name that a value is given, the position in a URL, or the
//! header of a PEM key. That is best effort: a secret that looks like an ordinary word is not found.

mod escape_codes;
mod known_values;
mod pem_keys;
mod secret_words;
mod stream;

use std::borrow::Cow;

pub use known_values::SecretRedactor;
pub use stream::StreamRedactor;

/// Which secrets are redacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedactionScope {
    /// Known values only. For answers to a caller, who may be given the token of its run.
    KnownValues,
    /// Known values and the tokens of all runs.
    OwnSecrets,
    /// Also what looks like a secret.
    LookAlikes,
}

/// Replaces a redacted value in text for people.
const REPLACEMENT: &str = "****";

/// Replaces a redacted value in files that are parsed again: unlike `****`, it is valid wherever
/// YAML, TOML or JSON can have a value.
const PLAIN_REPLACEMENT: &str = "redacted";

/// Returns the text with everything redacted that looks like a secret. No values are known.
pub fn redact_text(text: &str) -> Cow<'_, str> {
    SecretRedactor::default().redact(text, RedactionScope::LookAlikes)
}

#[cfg(test)]
mod tests;
