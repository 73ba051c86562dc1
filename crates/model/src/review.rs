//! Whether finished work needs a review.

use serde::{Deserialize, Serialize};

/// Whether a reviewer must approve finished work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReviewPolicy {
    /// Finished work waits in review.
    #[default]
    Required,
    /// Finished work is done at once.
    NotNeeded,
}
