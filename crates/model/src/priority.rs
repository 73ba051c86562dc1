//! The priorities of tasks, in the order in which the scheduler prefers them.

use crate::text_value::word_enum;

word_enum! {
    /// The priority of a task; the most urgent sorts first.
    #[derive(Default)]
    #[strum(serialize_all = "lowercase")]
    pub enum Priority {
        Critical,
        High,
        #[default]
        Normal,
        Low,
    }
}
