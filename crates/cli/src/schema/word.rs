//! Words out of a list, each list as the code has it.

use adjutant_core::aof::Kind;
use adjutant_core::completion::Outcome;
use adjutant_core::dialect::DocumentKind;
use adjutant_core::notice;
use adjutant_core::{Priority as CorePriority, Reason as CoreReason, Status as CoreStatus};
use schemars::json_schema;

use super::described;

described! {
    /// Where a task stands.
    Status => json_schema!({"type": "string", "enum": CoreStatus::ALL.map(CoreStatus::as_str)})
}

described! {
    /// How urgent a task is.
    Priority => json_schema!({
        "type": "string",
        "enum": CorePriority::ALL.map(CorePriority::as_str),
    })
}

described! {
    /// What came of the work.
    OutcomeWord => json_schema!({"type": "string", "enum": Outcome::ALL.map(Outcome::as_str)})
}

described! {
    /// What a notice is about; `docs/notifications.md` says when each is told.
    NoticeWord => json_schema!({"type": "string", "enum": notice::Kind::ALL.map(notice::Kind::as_str)})
}

described! {
    /// Why something was not simply done; `docs/reasons.md` says what each word means.
    Reason => {
        let words: Vec<&str> = CoreReason::ALL.iter().map(|reason| reason.as_str()).collect();
        json_schema!({"type": "string", "enum": words})
    }
}

described! {
    /// The type of a message, or the kind of a document.
    ReceivedType => {
        let types = Kind::ALL.map(Kind::as_str);
        let kinds = DocumentKind::ALL.map(DocumentKind::as_str);
        let all = [&types[..], &kinds[..]].concat();
        json_schema!({"type": "string", "enum": all})
    }
}
