//! The reasons for a failed step that decide which step comes next.

use crate::text_value::word_enum;

word_enum! {
    /// Why a step failed, if the reason decides which step comes next.
    #[strum(serialize_all = "snake_case")]
    pub enum StepFailReason {
        /// The work would break a principle of the project.
        ConstitutionViolation,
        /// The requirements are not clear.
        NeedsClarification,
        /// A test needs a threshold that is specified nowhere.
        NfrMissing,
        /// The executor changed files outside the story's scope.
        ScopeWarning,
        /// The tests did not finish in time.
        TestTimeout,
    }
}
