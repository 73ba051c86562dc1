//! The steps of a story, by the names used in files.

use crate::text_value::word_enum;

word_enum! {
    /// A stage of a story.
    #[strum(serialize_all = "kebab-case")]
    pub enum Step {
        /// Sets up the project; runs once, before its first story.
        Bootstrap,
        /// Writes the scenarios.
        Bdd,
        /// Writes the changes to the design.
        SddDelta,
        /// Writes the changes to the contracts.
        Contract,
        /// A person reviews scenarios, design and contracts.
        Review,
        /// Writes the tests, which fail.
        Scaffold,
        /// Writes the code, until the tests pass.
        Impl,
        /// Checks scenarios, design, contracts, tests and code against each other.
        Verify,
        /// A task outside the sequence, done in one step.
        Custom,
        Commit,
        /// Writes down what was learnt.
        UpdateMemory,
        Done,
    }
}

impl Step {
    /// The ten steps of a story.
    pub const STORY: [Self; 10] = [
        Self::Bdd,
        Self::SddDelta,
        Self::Contract,
        Self::Review,
        Self::Scaffold,
        Self::Impl,
        Self::Verify,
        Self::Commit,
        Self::UpdateMemory,
        Self::Done,
    ];

    /// Returns whether the orchestrator runs the project's tests after this step.
    pub const fn is_tested(self) -> bool {
        matches!(self, Self::Scaffold | Self::Impl | Self::Verify)
    }
}
