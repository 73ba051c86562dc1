//! Cases about effects: pending from their commit until they are settled.

use adjutant_model::notice::{NoticeKind, OperatorNotice};
use adjutant_model::{Actor, Effect, EventId, Status, Time};
use adjutant_store::batch::{EffectId, PendingEffect, StoreVersion};
use adjutant_store::store::Store;

use super::StoreHarness;
use super::handle::{SuiteHandle, reopen};
use super::sample::{created, id, logged, moved, task};

fn pending_effect(event: u64, place: u32) -> PendingEffect {
    let notice = OperatorNotice {
        kind: NoticeKind::Review,
        event: EventId(event),
        at: Time::from_millis(1_770_671_400_000),
        task: Some(id(1)),
        title: "Ein Titel mit \u{1f600}".to_owned(),
        reason: format!("reason {event}.{place}\n\"quoted\""),
        by: Actor::System,
    };
    let effect = Effect::Notify { rule: "ops".into(), notice: Box::new(notice) };
    PendingEffect { id: EffectId { event: EventId(event), place }, effect }
}

fn settled(effect: &PendingEffect) -> Vec<EffectId> {
    vec![effect.id]
}

/// Every handle sees the pending effects, and they survive reopening until they are settled.
pub fn effects_are_pending_until_settled(harness: &mut impl StoreHarness) {
    let mut handle = SuiteHandle::open(harness);
    handle.commit(vec![created(task(1, Status::InProgress), "")]);
    let review = vec![moved(1, Status::InProgress, Status::Review)];
    handle.commit_effects(review, vec![pending_effect(2, 1), pending_effect(2, 0)], vec![]);
    let mut other = SuiteHandle::open(harness);
    assert_eq!(
        other.store.pending_effects(),
        [pending_effect(2, 0), pending_effect(2, 1)],
        "by id"
    );
    other.commit_effects(
        vec![logged(1, "a")],
        vec![pending_effect(3, 0)],
        settled(&pending_effect(2, 0)),
    );
    assert_eq!(other.store.pending_effects(), [pending_effect(2, 1), pending_effect(3, 0)]);
    drop(other);
    let mut again = reopen(harness, handle);
    assert_eq!(again.store.pending_effects(), [pending_effect(2, 1), pending_effect(3, 0)]);
    let version = again.commit_effects(vec![], vec![], settled(&pending_effect(2, 1)));
    assert_eq!(version, StoreVersion(4), "settling alone is a commit too");
    let mut last = reopen(harness, again);
    last.commit_effects(vec![], vec![], settled(&pending_effect(3, 0)));
    let nothing = reopen(harness, last);
    assert_eq!(nothing.store.pending_effects(), []);
}

/// Settling an effect twice, or one that was never pending, changes nothing.
pub fn settling_unknown_effect_changes_nothing(harness: &mut impl StoreHarness) {
    let mut handle = SuiteHandle::open(harness);
    handle.commit_effects(
        vec![created(task(1, Status::Ready), "")],
        vec![pending_effect(1, 0), pending_effect(1, 1)],
        vec![],
    );
    for id in [pending_effect(1, 1).id, pending_effect(1, 1).id, pending_effect(9, 9).id] {
        handle.commit_effects(vec![], vec![], vec![id]);
        assert_eq!(handle.store.pending_effects(), [pending_effect(1, 0)]);
    }
    let again = reopen(harness, handle);
    assert_eq!(again.store.pending_effects(), [pending_effect(1, 0)]);
}
