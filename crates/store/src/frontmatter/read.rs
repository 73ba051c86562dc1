//! Reads front matter YAML into JSON values, within limits; it knows no fences and no field names.

use std::borrow::Cow;

use serde_json::{Map, Value};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{DefaultMessageFormatter, Error, MessageFormatter, Options};

use super::json::Fields;
use super::simple;

/// The most bytes of front matter that are looked at.
const BYTES_MAX: usize = 1024 * 1024;

/// The most characters an error says about what is wrong.
const WHAT_CHARS_MAX: usize = 120;

/// Why front matter could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The text is too long to be looked at.
    #[error("front matter of {bytes} bytes is longer than {BYTES_MAX}")]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// The text is not YAML, is not a mapping, or is over a limit.
    #[error("line {line}, column {column}: {what}")]
    Invalid {
        /// The line in the task file, whose opening fence is line 1.
        line: u64,
        /// The column in characters, from 1.
        column: u64,
        /// What is wrong there, in one short line.
        what: String,
    },
}

/// Reads YAML into JSON: a mapping at the top, or an error that says line and column.
///
/// Empty text, comments alone and `null` are an empty mapping.
/// Lines in errors count the opening fence, so they are the lines an editor shows.
pub fn read(yaml: &str) -> Result<Map<String, Value>, ReadError> {
    if yaml.len() > BYTES_MAX {
        return Err(ReadError::TooLong { bytes: yaml.len() });
    }
    match simple::read(yaml) {
        Some(map) => Ok(map),
        None => read_any(yaml),
    }
}

/// Reads YAML of whatever kind.
pub(super) fn read_any(yaml: &str) -> Result<Map<String, Value>, ReadError> {
    match serde_saphyr::from_str_with_options(yaml, options()) {
        Ok(Fields(map)) => Ok(map),
        Err(error) => Err(invalid(&error)),
    }
}

/// Returns the parser's settings: strict types, and limits far above any honest task file.
fn options() -> Options {
    serde_saphyr::options! {
        strict_booleans: true,
        with_snippet: false,
        duplicate_keys: DuplicateKeyPolicy::Error,
        budget: serde_saphyr::budget! {
            max_depth: 64,
            flow_nesting_limit: 64,
            max_nodes: 50_000,
            max_events: 150_000,
            max_documents: 1,
            max_aliases: 64,
            max_anchors: 64,
            max_merge_keys: 64,
            max_recorded_anchor_events: 50_000,
            max_recorded_anchor_bytes: BYTES_MAX,
            max_total_scalar_bytes: BYTES_MAX,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 10_000,
            max_replay_stack_depth: 8,
            max_alias_expansions_per_anchor: 64,
        },
    }
}

/// Puts the parser's error into one short line of ours.
fn invalid(error: &Error) -> ReadError {
    let (line, column) = error.location().map_or((1, 1), |at| (at.line(), at.column()));
    let what = what(error);
    let printable = what.chars().map(|c| if c.is_control() { ' ' } else { c });
    ReadError::Invalid { line: line + 1, column, what: printable.take(WHAT_CHARS_MAX).collect() }
}

/// Says what is wrong; the parser's own words name its options where people need theirs.
fn what(error: &Error) -> Cow<'_, str> {
    match error {
        Error::AliasError { error, .. } => what(error),
        Error::Budget { breach: BudgetBreach::Documents { .. }, .. }
        | Error::MultipleDocuments { .. } => "a second YAML document starts here".into(),
        Error::Budget { .. } => "over a limit of length, depth or number of values".into(),
        Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => "aliases expand to too much".into(),
        Error::RecursiveReferencesRequireWeakTypes { .. } => "an alias holds itself".into(),
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            format!("the key `{key}` is there twice").into()
        }
        Error::NonFiniteFloat { value, .. } => format!("`{value}` is not a finite number").into(),
        Error::NullIntoString { .. } => "a key is empty or null".into(),
        other => DefaultMessageFormatter.format_message(other),
    }
}
