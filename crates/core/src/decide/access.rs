//! Records refused API calls, and carried-out requests that had an idempotency key.

use adjutant_model::actor::Actor;
use adjutant_model::answer::AnswerVerdict;
use adjutant_model::event::Event;
use adjutant_model::request::{IdempotencyKey, RefusedAccess};

use super::draft::DecisionDraft;
use crate::decision::Decision;
use crate::input::KeyedRequest;

/// Longer details are truncated in the event log.
const DETAIL_CHARS_MAX: usize = 256;

pub(super) fn record_refusal(refused: &RefusedAccess) -> Decision {
    let RefusedAccess { by, task, reason, detail, count } = refused;
    let mut draft = DecisionDraft::new(by.clone(), task.clone());
    let detail = detail.chars().take(DETAIL_CHARS_MAX).collect();
    draft.push(Event::AccessRefused { reason: *reason, detail, count: *count });
    draft.finish(AnswerVerdict::Rejected, Some(*reason))
}

/// Called in the commit that carried out the request, so that a retry cannot repeat it.
pub(super) fn record_keyed_request(kept: &KeyedRequest) -> Decision {
    let KeyedRequest { key, about, events } = kept.clone();
    let IdempotencyKey { key, digest: request, is_repeat: _ } = key;
    // No task: the request is no news about it, and its file must not change.
    let mut draft = DecisionDraft::new(Actor::System, None);
    draft.push(Event::RequestKept { key, request, about, events });
    draft.finish(AnswerVerdict::Applied, None)
}
