//! Effects: owed from the commit that says so, until they are settled, and not a moment longer.

use adjutant_core::notice::{Kind, Notice};
use adjutant_core::{Actor, Effect, EventId, Status, Time};

use super::Harness;
use super::handle::{Handle, reopen};
use super::sample::{created, id, logged, moved, task};
use crate::batch::{EffectId, Owed, Version};
use crate::store::Store;

fn owed(event: u64, place: u32) -> Owed {
    let notice = Notice {
        kind: Kind::Review,
        event: EventId(event),
        at: Time::from_millis(1_770_671_400_000),
        task: Some(id(1)),
        title: "Ein Titel mit \u{1f600}".to_owned(),
        reason: format!("reason {event}.{place}\n\"quoted\""),
        by: Actor::System,
    };
    let effect = Effect::Notify { rule: "ops".into(), notice: Box::new(notice) };
    Owed { id: EffectId { event: EventId(event), place }, effect }
}

fn settled(owed: &Owed) -> Vec<EffectId> {
    vec![owed.id]
}

/// What is owed is known to every handle and survives every opening, until it is settled.
pub fn effects_are_owed_until_they_are_settled(harness: &mut impl Harness) {
    let mut handle = Handle::open(harness);
    handle.commit(vec![created(task(1, Status::InProgress), "")]);
    let review = vec![moved(1, Status::InProgress, Status::Review)];
    handle.commit_effects(review, vec![owed(2, 1), owed(2, 0)], vec![]);
    let mut other = Handle::open(harness);
    assert_eq!(other.store.owed(), [owed(2, 0), owed(2, 1)], "by id");
    other.commit_effects(vec![logged(1, "a")], vec![owed(3, 0)], settled(&owed(2, 0)));
    assert_eq!(other.store.owed(), [owed(2, 1), owed(3, 0)]);
    drop(other);
    let mut again = reopen(harness, handle);
    assert_eq!(again.store.owed(), [owed(2, 1), owed(3, 0)]);
    let version = again.commit_effects(vec![], vec![], settled(&owed(2, 1)));
    assert_eq!(version, Version(4), "settling alone is a commit too");
    let mut last = reopen(harness, again);
    last.commit_effects(vec![], vec![], settled(&owed(3, 0)));
    let nothing = reopen(harness, last);
    assert_eq!(nothing.store.owed(), []);
}

/// An effect is settled once; doing so again, or settling what was never owed, changes nothing.
pub fn what_is_not_owed_can_be_settled_without_harm(harness: &mut impl Harness) {
    let mut handle = Handle::open(harness);
    handle.commit_effects(
        vec![created(task(1, Status::Ready), "")],
        vec![owed(1, 0), owed(1, 1)],
        vec![],
    );
    for id in [owed(1, 1).id, owed(1, 1).id, owed(9, 9).id] {
        handle.commit_effects(vec![], vec![], vec![id]);
        assert_eq!(handle.store.owed(), [owed(1, 0)]);
    }
    let again = reopen(harness, handle);
    assert_eq!(again.store.owed(), [owed(1, 0)]);
}
