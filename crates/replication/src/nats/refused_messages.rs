//! Counts the messages that were refused, so that a flood becomes one line of the event log.

use std::collections::BTreeMap;

use adjutant_store::fleet_network::RefusedMessages;
use parking_lot::Mutex;

/// The most kinds of refusals that are counted apart; the names in them come from strangers.
const KINDS_MAX: usize = 8;

/// The refusals that were not taken yet, by their description.
#[derive(Debug, Default)]
pub(crate) struct RefusalCounter(Mutex<BTreeMap<String, u64>>);

impl RefusalCounter {
    pub(crate) fn record(&self, detail: String) {
        let mut kinds = self.0.lock();
        let is_full = kinds.len() >= KINDS_MAX && !kinds.contains_key(&detail);
        let detail = if is_full { "other messages".to_owned() } else { detail };
        *kinds.entry(detail).or_default() += 1;
    }

    pub(crate) fn take(&self) -> Vec<RefusedMessages> {
        let kinds = std::mem::take(&mut *self.0.lock());
        kinds.into_iter().map(|(detail, count)| RefusedMessages { detail, count }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_a_flood_are_counted_in_few_lines() {
        let refused = RefusalCounter::default();
        for number in 0..1000 {
            refused.record(format!("from {number}"));
        }
        refused.record("from 3".into());
        let taken = refused.take();
        assert_eq!(taken.len(), KINDS_MAX + 1);
        assert_eq!(taken.iter().map(|one| one.count).sum::<u64>(), 1001);
        assert!(refused.take().is_empty(), "once");
    }
}
