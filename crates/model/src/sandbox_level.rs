//! How strongly a run is confined.

use crate::text_value::word_enum;

word_enum! {
    /// What confines a run, from the weakest to the strongest.
    #[derive(Default)]
    #[strum(serialize_all = "lowercase")]
    pub enum SandboxLevel {
        /// Nothing: the run can do whatever its user can.
        #[default]
        None,
        /// Landlock, which confines what the run writes.
        Landlock,
        /// Namespaces and a filter of system calls, which also confine what the run reads and does.
        Strict,
    }
}

impl SandboxLevel {
    /// Returns whether there is no sandbox.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}
