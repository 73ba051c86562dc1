//! Refuses messages that were sent before.
//!
//! Clocks of nodes may differ, so freshness is not measured by time. A session of a sender is
//! accepted once it has answered the challenge of this process; after that, every message of the
//! session counts once. A message from before this process started knows no valid challenge.

use std::collections::{BTreeMap, BTreeSet};

use adjutant_model::NodeId;

use crate::nats::node_signer::MessageHeader;

/// How far messages of a session may arrive out of order.
const WINDOW: usize = 1024;

/// The most sessions that are remembered. After that there is a new challenge, and every session
/// has to answer it.
const SESSIONS_MAX: usize = 1024;

#[derive(Debug)]
pub(crate) struct ReplayGuard {
    challenge: String,
    sessions: BTreeMap<(NodeId, String), SessionWindow>,
    /// How many sessions have answered a challenge.
    answered: u64,
}

#[derive(Debug)]
struct SessionWindow {
    /// The number of the session, in the order in which they answered.
    order: u64,
    /// Messages up to this number are refused.
    floor: u64,
    seen: BTreeSet<u64>,
}

/// Whether a message counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// It counts; a session with a higher number answered the challenge later.
    Fresh {
        order: u64,
    },
    /// The session has to answer the challenge first.
    Unproven,
    Replayed,
}

impl ReplayGuard {
    pub(crate) fn new(challenge: String) -> Self {
        Self { challenge, sessions: BTreeMap::new(), answered: 0 }
    }

    /// Returns the challenge that a new session has to answer.
    pub(crate) fn challenge(&self) -> &str {
        &self.challenge
    }

    /// Judges a message whose signature is good. `new_challenge` is used when it is time for one.
    pub(crate) fn check(
        &mut self,
        header: &MessageHeader,
        new_challenge: impl FnOnce() -> String,
    ) -> Freshness {
        let key = (header.node.clone(), header.session.clone());
        if let Some(session) = self.sessions.get_mut(&key) {
            return session.accept(header.count);
        }
        if header.challenge.as_ref() != Some(&self.challenge) {
            return Freshness::Unproven;
        }
        if self.sessions.len() >= SESSIONS_MAX {
            self.sessions.clear();
            self.challenge = new_challenge();
            return Freshness::Unproven;
        }
        // What the session sent before was not accepted, and is not accepted later either.
        let floor = header.count.saturating_sub(1);
        let window = SessionWindow { order: self.answered, floor, seen: BTreeSet::new() };
        self.answered += 1;
        self.sessions.entry(key).or_insert(window).accept(header.count)
    }
}

impl SessionWindow {
    fn accept(&mut self, count: u64) -> Freshness {
        if count <= self.floor || !self.seen.insert(count) {
            return Freshness::Replayed;
        }
        if self.seen.len() > WINDOW {
            self.floor = self.seen.pop_first().unwrap_or(self.floor);
        }
        Freshness::Fresh { order: self.order }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(session: &str, count: u64, challenge: Option<&str>) -> MessageHeader {
        MessageHeader {
            node: NodeId::parse("desk").expect("a good name"),
            session: session.to_owned(),
            count,
            challenge: challenge.map(str::to_owned),
        }
    }

    fn check(guard: &mut ReplayGuard, header: &MessageHeader) -> Freshness {
        guard.check(header, || "second".to_owned())
    }

    #[test]
    fn message_counts_once_and_only_after_the_challenge() {
        let mut guard = ReplayGuard::new("first".into());
        let mut said =
            |session, count, challenge| check(&mut guard, &header(session, count, challenge));
        assert_eq!(said("a", 1, None), Freshness::Unproven);
        assert_eq!(said("a", 2, Some("of an earlier process")), Freshness::Unproven);
        assert_eq!(said("a", 3, Some("first")), Freshness::Fresh { order: 0 });
        assert_eq!(said("a", 3, Some("first")), Freshness::Replayed);
        assert_eq!(said("a", 1, None), Freshness::Replayed, "it was not accepted before");
        assert_eq!(said("a", 5, None), Freshness::Fresh { order: 0 });
        assert_eq!(said("a", 4, None), Freshness::Fresh { order: 0 }, "it was overtaken");
        assert_eq!(said("a", 4, None), Freshness::Replayed);
        assert_eq!(said("b", 1, Some("first")), Freshness::Fresh { order: 1 });
    }

    #[test]
    fn old_message_stays_refused_when_its_number_is_forgotten() {
        let mut guard = ReplayGuard::new("first".into());
        let far = WINDOW as u64 * 3;
        for count in 1..=far {
            let sent = header("a", count, Some("first"));
            assert_eq!(check(&mut guard, &sent), Freshness::Fresh { order: 0 });
        }
        for count in 1..=far {
            let sent = header("a", count, Some("first"));
            assert_eq!(check(&mut guard, &sent), Freshness::Replayed, "{count}");
        }
    }

    #[test]
    fn too_many_sessions_lead_to_a_new_challenge() {
        let mut guard = ReplayGuard::new("first".into());
        for session in 0..SESSIONS_MAX {
            let sent = header(&session.to_string(), 1, Some("first"));
            assert!(matches!(check(&mut guard, &sent), Freshness::Fresh { .. }));
        }
        let last = header("last", 1, Some("first"));
        assert_eq!(check(&mut guard, &last), Freshness::Unproven);
        assert_eq!(guard.challenge(), "second");
        assert_eq!(check(&mut guard, &header("0", 1, Some("first"))), Freshness::Unproven);
        let order = SESSIONS_MAX as u64;
        let sent = header("0", 2, Some("second"));
        assert_eq!(check(&mut guard, &sent), Freshness::Fresh { order }, "later than all before");
    }
}
