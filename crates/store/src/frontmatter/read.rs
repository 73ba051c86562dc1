//! Reads front matter YAML into JSON values, within limits. It does not know fences or field names.

use std::borrow::Cow;

use adjutant_model::task::{FRONT_MATTER_BYTES_MAX as BYTES_MAX, FRONT_MATTER_VALUES_MAX};
use serde_json::{Map, Value};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{DefaultMessageFormatter, Error, MessageFormatter, Options};

use super::fast_reader;
use super::json::MappingFields;

/// The longest text of an error, in characters.
const WHAT_CHARS_MAX: usize = 120;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    #[error("front matter of {bytes} bytes is longer than {BYTES_MAX}")]
    TooLong { bytes: usize },
    /// The text is not YAML, is not a mapping, or is over a limit.
    #[error("line {line}, column {column}: {what}")]
    Invalid {
        /// The line in the task file, whose opening fence is line 1.
        line: u64,
        /// In characters, from 1.
        column: u64,
        /// One short line.
        what: String,
    },
}

/// Reads YAML into JSON: a mapping at the top, or an error with line and column.
///
/// Empty text, comments alone and `null` are an empty mapping. Line numbers count the opening
/// fence, so they are the lines that an editor shows.
pub fn read(yaml: &str) -> Result<Map<String, Value>, ReadError> {
    if yaml.len() > BYTES_MAX {
        return Err(ReadError::TooLong { bytes: yaml.len() });
    }
    match fast_reader::read(yaml) {
        Some(map) => Ok(map),
        None => read_with_parser(yaml),
    }
}

/// Reads any YAML, with the full parser.
pub(super) fn read_with_parser(yaml: &str) -> Result<Map<String, Value>, ReadError> {
    match serde_saphyr::from_str_with_options(yaml, options()) {
        Ok(MappingFields(map)) => Ok(map),
        Err(error) => Err(to_read_error(&error)),
    }
}

/// Returns the parser's settings: strict types, and limits far above any real task file.
fn options() -> Options {
    serde_saphyr::options! {
        strict_booleans: true,
        with_snippet: false,
        duplicate_keys: DuplicateKeyPolicy::Error,
        budget: serde_saphyr::budget! {
            max_depth: 64,
            flow_nesting_limit: 64,
            max_nodes: FRONT_MATTER_VALUES_MAX,
            max_events: 3 * FRONT_MATTER_VALUES_MAX,
            max_documents: 1,
            max_aliases: 64,
            max_anchors: 64,
            max_merge_keys: 64,
            max_recorded_anchor_events: FRONT_MATTER_VALUES_MAX,
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

/// Turns the parser's error into one short line.
fn to_read_error(error: &Error) -> ReadError {
    let (line, column) = error.location().map_or((1, 1), |at| (at.line(), at.column()));
    let what = describe_error(error);
    let printable = what.chars().map(|c| if c.is_control() { ' ' } else { c });
    ReadError::Invalid { line: line + 1, column, what: printable.take(WHAT_CHARS_MAX).collect() }
}

/// Describes the problem; the parser's own messages name its options, which people cannot set.
fn describe_error(error: &Error) -> Cow<'_, str> {
    match error {
        Error::AliasError { error, .. } => describe_error(error),
        Error::Budget { breach: BudgetBreach::Documents { .. }, .. }
        | Error::MultipleDocuments { .. } => "a second YAML document starts here".into(),
        Error::Budget { .. } => "too long, nested too deep, or too many values".into(),
        Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => "aliases expand to too much".into(),
        Error::RecursiveReferencesRequireWeakTypes { .. } => "an alias contains itself".into(),
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            format!("the key `{key}` appears twice").into()
        }
        Error::NonFiniteFloat { value, .. } => format!("`{value}` is not a finite number").into(),
        Error::NullIntoString { .. } => "a key is empty or null".into(),
        other => DefaultMessageFormatter.format_message(other),
    }
}
