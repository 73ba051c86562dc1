//! What the documents of the other dialects have in common: ids, words, texts that say something.

use std::borrow::Cow;

use adjutant_core::delegation::{AttemptResult, IssueEncounteredType, TaskPriority};
use adjutant_core::mission::{Action, IssueType, Level, ResultStatus, VERSION};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::described;
use super::text::{NO_NUL, NOT_BLANK};

/// One line without control characters and without blanks around it.
const ONE_LINE: &str = concat!(
    r"^[^\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]",
    r"(?:[^\u0000-\u001f\u007f-\u009f]*",
    r"[^\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000])?$",
);

/// A text of at most so many characters that is not blank.
pub(super) struct Said<const CHARS_MAX: usize>;

impl<const CHARS_MAX: usize> JsonSchema for Said<CHARS_MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Said{CHARS_MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "maxLength": CHARS_MAX,
            "allOf": [{"pattern": NO_NUL}, {"pattern": NOT_BLANK}],
        })
    }
}

fn words<T>(words: &[(&'static str, T)]) -> Vec<&'static str> {
    words.iter().map(|(word, _)| *word).collect()
}

described! {
    /// The version of the protocol. A number is taken, with a warning.
    MissionVersion => json_schema!({"enum": [VERSION, 1]})
}

described! {
    /// The id of a mission: `T` and digits.
    MissionId => json_schema!({
        "type": "string", "maxLength": 64, "pattern": "^T[0-9]+$", "examples": ["T042"],
    })
}

described! {
    /// The id of an epic: `E` and digits.
    EpicId => json_schema!({
        "type": "string", "maxLength": 64, "pattern": "^E[0-9]+$", "examples": ["E005"],
    })
}

described! {
    /// The id of a product requirements document: `PRD-` and digits.
    PrdId => json_schema!({
        "type": "string", "maxLength": 64, "pattern": "^PRD-[0-9]+$", "examples": ["PRD-001"],
    })
}

described! {
    /// The id somebody knows a task by: one line.
    ForeignId => json_schema!({
        "type": "string", "maxLength": 128, "pattern": ONE_LINE, "examples": ["API-SPEC-001"],
    })
}

described! {
    /// What came of a mission.
    MissionStatus => json_schema!({"type": "string", "enum": words(ResultStatus::WORDS)})
}

described! {
    /// What was done to a file.
    FileAction => json_schema!({"type": "string", "enum": words(Action::WORDS)})
}

described! {
    /// How much an entry of a log matters.
    LogLevel => json_schema!({"type": "string", "enum": words(Level::WORDS)})
}

described! {
    /// What kind of thing somebody else must deal with.
    IssueWord => json_schema!({"type": "string", "enum": words(IssueType::WORDS)})
}

described! {
    /// What came of a task.
    AttemptWord => json_schema!({"type": "string", "enum": words(AttemptResult::WORDS)})
}

described! {
    /// What kind of thing was the matter.
    IssueEncounteredWord => json_schema!({
        "type": "string", "enum": words(IssueEncounteredType::WORDS),
    })
}

described! {
    /// How urgent it is.
    PriorityWord => json_schema!({"type": "string", "enum": words(TaskPriority::WORDS)})
}
