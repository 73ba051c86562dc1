//! The status of the current step of a story.

use crate::text_value::word_enum;

word_enum! {
    /// The status of the current step of a story.
    #[strum(serialize_all = "snake_case")]
    pub enum StepStatus {
        /// No executor works on the step yet.
        Pending,
        Running,
        Pass,
        Failing,
        /// A person must decide how the story continues.
        NeedsHuman,
        /// An executor took too long; a person must decide how the story continues.
        Timeout,
    }
}
