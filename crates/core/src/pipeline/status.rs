//! How the present step of a story stands.

use std::fmt;

/// How a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Nobody works on it yet.
    Pending,
    /// An executor works on it.
    Running,
    /// It went well.
    Pass,
    /// It did not.
    Failing,
    /// A person must say how it goes on.
    NeedsHuman,
    /// An executor took too long; a person must say how it goes on.
    Timeout,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 6] =
        [Self::Pending, Self::Running, Self::Pass, Self::Failing, Self::NeedsHuman, Self::Timeout];

    /// Returns the name that files use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Pass => "pass",
            Self::Failing => "failing",
            Self::NeedsHuman => "needs_human",
            Self::Timeout => "timeout",
        }
    }

    /// Parses a name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
