//! What ways in for programs ask to be written down: whom they refused, and what they did under a
//! key.

use super::Decision;
use super::draft::Draft;
use crate::answer::Verdict;
use crate::event::Event;
use crate::input::{Kept, Refused};
use crate::name::Actor;

/// The most characters of what was asked for that go into the record.
const DETAIL_CHARS_MAX: usize = 256;

/// Writes down that somebody was refused.
pub(super) fn refuse(refused: &Refused) -> Decision {
    let Refused { by, task, reason, detail, count } = refused;
    let mut draft = Draft::new(by.clone(), task.clone());
    let detail = detail.chars().take(DETAIL_CHARS_MAX).collect();
    draft.push(Event::AccessRefused { reason: *reason, detail, count: *count });
    draft.end(Verdict::Rejected, Some(*reason))
}

/// Writes down what came of a request, in the commit that did it.
pub(super) fn keep(kept: &Kept) -> Decision {
    let Kept { key, request, about, events } = kept.clone();
    // It is no news about the task, whose file must not change for it.
    let mut draft = Draft::new(Actor::System, None);
    draft.push(Event::RequestKept { key, request, about, events });
    draft.end(Verdict::Applied, None)
}
