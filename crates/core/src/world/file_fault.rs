//! File faults: why the files of one task cannot be changed. The task is on hold meanwhile.

use std::fmt;

/// A fault with the files of one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFault {
    /// What cannot be done, as in `its folder cannot be moved`.
    pub problem: String,
    /// The file or folder, and what the system says about it.
    pub cause: String,
    /// What a person can do about it.
    pub fix: String,
}

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.problem, self.cause)
    }
}
