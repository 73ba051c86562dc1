//! What came of telling somebody something. It is written down, and changes no task.

use super::Decision;
use super::draft::Draft;
use crate::answer::Verdict;
use crate::event::Event;
use crate::input::{Notified, Told};
use crate::name::Actor;

/// The most characters of why something could not be told that go into the record.
const REASON_CHARS_MAX: usize = 256;

pub(super) fn decide(notified: &Notified) -> Decision {
    let Notified { rule, target, kind, about, task, tries, told } = notified.clone();
    let mut draft = Draft::new(Actor::System, task);
    draft.push(match told {
        Told::Sent => Event::NotifySent { rule, target, kind, about, tries },
        Told::GivenUp(reason) => {
            let reason = reason.chars().take(REASON_CHARS_MAX).collect();
            Event::NotifyFailed { rule, target, kind, about, tries, reason }
        }
    });
    draft.end(Verdict::Applied, None)
}
