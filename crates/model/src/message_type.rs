//! The types of AOF/1 messages.

use crate::text_value::word_enum;

word_enum! {
    /// The type of an AOF/1 message.
    pub enum MessageType {
        #[strum(serialize = "handoff.request")]
        HandoffRequest,
        #[strum(serialize = "handoff.accepted")]
        HandoffAccepted,
        #[strum(serialize = "handoff.rejected")]
        HandoffRejected,
        #[strum(serialize = "status.update")]
        StatusUpdate,
        #[strum(serialize = "completion.report")]
        CompletionReport,
    }
}
