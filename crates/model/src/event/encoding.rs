//! Encodings for the event fields whose form in a line differs from that of their type.

use serde::{Deserialize, Serialize};

use super::TransitionCause;
use crate::run_history::BlockedBy;

/// A [`TransitionCause`] as fields of a line; no fields mean that a rule moved the task.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct MannerFields {
    /// `true` if a person moved the file; otherwise absent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "schema", schemars(extend("const" = true)))]
    by_hand: bool,
    /// `true` if a person moved the file to a status that the table of moves does not allow.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "schema", schemars(extend("const" = true)))]
    against_the_table: bool,
    /// Why the scheduler moved the task to `blocked`, until the obstacle is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    held_by: Option<BlockedBy>,
    /// `true` if an operator reopened a cancelled task; otherwise absent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "schema", schemars(extend("const" = true)))]
    reopened: bool,
}

impl From<TransitionCause> for MannerFields {
    fn from(manner: TransitionCause) -> Self {
        let none = Self::default();
        match manner {
            TransitionCause::Ruled => none,
            TransitionCause::Held(by) => Self { held_by: Some(by), ..none },
            TransitionCause::ByHand => Self { by_hand: true, ..none },
            TransitionCause::AgainstTheTable => {
                Self { by_hand: true, against_the_table: true, ..none }
            }
            TransitionCause::Reopened => Self { reopened: true, ..none },
        }
    }
}

impl From<MannerFields> for TransitionCause {
    fn from(fields: MannerFields) -> Self {
        match fields {
            MannerFields { held_by: Some(by), .. } => Self::Held(by),
            MannerFields { against_the_table: true, .. } => Self::AgainstTheTable,
            MannerFields { by_hand: true, .. } => Self::ByHand,
            MannerFields { reopened: true, .. } => Self::Reopened,
            MannerFields { .. } => Self::Ruled,
        }
    }
}

/// Problems as texts, `path: message`.
pub(super) mod problem_texts {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::answer::FieldProblem;

    pub(crate) fn serialize<S: Serializer>(
        problems: &[FieldProblem],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(problems.iter().map(ToString::to_string))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<FieldProblem>, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        Ok(texts.iter().map(|text| problem(text)).collect())
    }

    fn problem(text: &str) -> FieldProblem {
        match text.split_once(": ") {
            Some((path, message)) if !path.is_empty() && !path.contains(' ') => {
                FieldProblem::new(path, message)
            }
            _ => FieldProblem::new("", text),
        }
    }
}

/// A body as the flag `byHand`, which is set if there is no body.
pub(super) mod made_by_hand {
    use serde::{Deserialize, Deserializer, Serializer};

    /// The body of a line without the flag: the event log does not store the text.
    #[expect(clippy::unnecessary_wraps, reason = "serde wants the type of the field")]
    pub(crate) fn absent() -> Option<String> {
        Some(String::new())
    }

    #[expect(clippy::ref_option, reason = "serde passes fields by reference")]
    pub(crate) fn serialize<S: Serializer>(
        body: &Option<String>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(body.is_none())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<String>, D::Error> {
        Ok((!bool::deserialize(deserializer)?).then(String::new))
    }
}

/// A channel as the flag `leftBehind`.
pub(super) mod left_behind {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::event::ReportChannel;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
    pub(crate) fn serialize<S: Serializer>(
        channel: &ReportChannel,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(*channel == ReportChannel::LeftBehind)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<ReportChannel, D::Error> {
        let left = bool::deserialize(deserializer)?;
        Ok(if left { ReportChannel::LeftBehind } else { ReportChannel::Message })
    }
}
