//! The steps of a story, by the names that files use.

use std::fmt;

/// A stage of a story.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// The project itself is set up; a project has this once, before its first story.
    Bootstrap,
    /// The scenarios are written.
    Bdd,
    /// What changes in the design is written.
    SddDelta,
    /// What changes in the contracts is written.
    Contract,
    /// A person looks at all three.
    Review,
    /// The tests are written, and fail.
    Scaffold,
    /// The code is written, until they pass.
    Impl,
    /// Everything is checked against everything else.
    Verify,
    /// A task outside the waterfall, done in one go.
    Custom,
    /// The work is committed.
    Commit,
    /// What was learnt is written down.
    UpdateMemory,
    /// Nothing is left to do.
    Done,
}

impl Step {
    /// Every step; a story goes through them in this order, the two special ones aside.
    pub const ALL: [Self; 12] = [
        Self::Bootstrap,
        Self::Bdd,
        Self::SddDelta,
        Self::Contract,
        Self::Review,
        Self::Scaffold,
        Self::Impl,
        Self::Verify,
        Self::Custom,
        Self::Commit,
        Self::UpdateMemory,
        Self::Done,
    ];

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

    /// Returns the name that files use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bootstrap => "bootstrap",
            Self::Bdd => "bdd",
            Self::SddDelta => "sdd-delta",
            Self::Contract => "contract",
            Self::Review => "review",
            Self::Scaffold => "scaffold",
            Self::Impl => "impl",
            Self::Verify => "verify",
            Self::Custom => "custom",
            Self::Commit => "commit",
            Self::UpdateMemory => "update-memory",
            Self::Done => "done",
        }
    }

    /// Parses a name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.as_str() == text)
    }

    /// Says whether the orchestrator runs the project's tests after this step.
    pub const fn is_tested(self) -> bool {
        matches!(self, Self::Scaffold | Self::Impl | Self::Verify)
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
