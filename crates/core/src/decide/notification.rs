//! Records the result of a notification. Changes no task.

use adjutant_model::actor::Actor;
use adjutant_model::answer::AnswerVerdict;
use adjutant_model::event::Event;
use adjutant_model::request::{DeliveryResult, NoticeDelivery};

use super::draft::DecisionDraft;
use crate::decision::Decision;

/// Longer reasons are truncated in the event log.
const REASON_CHARS_MAX: usize = 256;

pub(super) fn decide(notified: &NoticeDelivery) -> Decision {
    let NoticeDelivery { rule, target, kind, about, task, tries, result } = notified.clone();
    let mut draft = DecisionDraft::new(Actor::System, task);
    draft.push(match result {
        DeliveryResult::Sent => Event::NotifySent { rule, target, kind, about, tries },
        DeliveryResult::GivenUp(reason) => {
            let reason = reason.chars().take(REASON_CHARS_MAX).collect();
            Event::NotifyFailed { rule, target, kind, about, tries, reason }
        }
    });
    draft.finish(AnswerVerdict::Applied, None)
}
