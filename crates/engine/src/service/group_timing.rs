//! How long the first request of a group waits for others.
//!
//! Callers that were answered together ask again at about the same time, but not in the same
//! instant. A commit for only the quickest would make the others wait for the next commit. So
//! a group waits until it is as large as the last one, but only for a small part of the time
//! the last commit took.

use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use super::EngineCall;

/// A group waits at most this fraction of the last commit's duration, and
/// never longer than `WAIT_MAX`.
const WAIT_FRACTION: u32 = 16;
const WAIT_MAX: Duration = Duration::from_millis(2);

/// The size and duration of the last group.
#[derive(Default)]
pub(super) struct GroupTiming {
    size: usize,
    took: Duration,
}

impl GroupTiming {
    /// Records the size of a group and the duration of its commit.
    pub(super) fn record(&mut self, size: usize, took: Duration) {
        (self.size, self.took) = (size, took);
    }

    /// Returns until when a group that starts now waits for others.
    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + (self.took / WAIT_FRACTION).min(WAIT_MAX)
    }

    /// Returns the next call for a group of `so_far` calls, or None if the group
    /// must not wait longer.
    pub(super) fn next_call(
        &self,
        queue: &Receiver<EngineCall>,
        so_far: usize,
        until: Instant,
    ) -> Option<EngineCall> {
        match queue.try_recv() {
            Ok(call) => Some(call),
            Err(TryRecvError::Empty) if so_far < self.size => {
                queue.recv_timeout(until.saturating_duration_since(Instant::now())).ok()
            }
            Err(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::{EngineCall, GroupTiming};

    const LONG: Duration = Duration::from_mins(10);

    #[test]
    fn group_as_large_as_last_does_not_wait() {
        let (_asking, queue) = channel();
        let mut gather = GroupTiming::default();
        assert!(gather.next_call(&queue, 1, gather.deadline()).is_none(), "there was no group yet");
        gather.record(2, LONG);
        assert!(gather.next_call(&queue, 2, gather.deadline()).is_none());
    }

    #[test]
    fn group_smaller_than_last_waits_for_more_calls() {
        let (asking, queue) = channel();
        let mut gather = GroupTiming::default();
        gather.record(2, LONG);
        // Not `deadline()`, which is too soon for a thread that has to be started first.
        let until = Instant::now() + LONG;
        thread::scope(|scope| {
            scope.spawn(move || drop(asking.send(EngineCall::FollowAnnounced)));
            assert!(matches!(
                gather.next_call(&queue, 1, until),
                Some(EngineCall::FollowAnnounced)
            ));
        });
        assert!(gather.next_call(&queue, 1, until).is_none(), "no caller is left");
    }

    #[test]
    fn group_takes_queued_calls_at_any_size() {
        let (asking, queue) = channel();
        asking.send(EngineCall::FollowAnnounced).expect("the engine listens");
        let gather = GroupTiming::default();
        assert!(gather.next_call(&queue, 5, gather.deadline()).is_some());
    }

    #[test]
    fn group_wait_is_limited_to_part_of_last_commit() {
        let (_asking, queue) = channel();
        let mut gather = GroupTiming::default();
        gather.record(2, Duration::from_millis(16));
        let until = gather.deadline();
        assert!(gather.next_call(&queue, 1, until).is_none());
        assert!(Instant::now() >= until);
    }
}
