//! The reasons why a story waits for a person.

use crate::text_value::word_enum;

word_enum! {
    /// Why a story waits for a person.
    #[strum(serialize_all = "snake_case")]
    pub enum StoryHold {
        /// The step belongs to a person.
        Review,
        /// The step used up its attempts in a row.
        Stuck,
        /// The step used up its dispatches in one story.
        Limit,
        /// The executor asked for a person.
        Asked,
        /// No result says whether the step passed.
        NoVerdict,
    }
}

impl StoryHold {
    /// Describes the reason as a sentence about a step.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Review => "waits for a person",
            Self::Stuck => "has used all its attempts in a row",
            Self::Limit => "has used all its dispatches in this story",
            Self::Asked => "needs a person",
            Self::NoVerdict => "ended without a result",
        }
    }
}
