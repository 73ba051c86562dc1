//! Why a step failed, as far as it decides where a story goes.

use std::fmt;

/// Why a step failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// What was to be done breaks a principle of the project.
    ConstitutionViolation,
    /// What is wanted is not clear.
    NeedsClarification,
    /// A threshold that a test needs is nowhere written.
    NfrMissing,
    /// It touched what the story is not about.
    ScopeWarning,
    /// The tests did not end in time.
    TestTimeout,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Self; 5] = [
        Self::ConstitutionViolation,
        Self::NeedsClarification,
        Self::NfrMissing,
        Self::ScopeWarning,
        Self::TestTimeout,
    ];

    /// Returns the name that files use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ConstitutionViolation => "constitution_violation",
            Self::NeedsClarification => "needs_clarification",
            Self::NfrMissing => "nfr_missing",
            Self::ScopeWarning => "scope_warning",
            Self::TestTimeout => "test_timeout",
        }
    }

    /// Parses a name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == text)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
