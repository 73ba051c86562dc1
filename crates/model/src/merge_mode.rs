//! How approved work is merged.

use crate::text_value::word_enum;

word_enum! {
    /// What approval does with work on a branch of its own.
    #[derive(Default)]
    #[strum(serialize_all = "lowercase")]
    pub enum MergeMode {
        /// Leaves the branch for a person to merge.
        #[default]
        None,
        /// Fast-forwards the base to the branch, if the base has not diverged.
        Ff,
        /// Adds the work to the base as one commit.
        Squash,
        /// Replays the commits of the work on the base.
        Rebase,
    }
}
