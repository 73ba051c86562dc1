//! How long the first of a group waits for the others.
//!
//! Those who were answered together ask again at about the same time, but not in the same instant.
//! A commit for the quickest of them would keep the others waiting for the next. So a group waits
//! until it is as large as the last one was, for no more than a small part of what that one took.

use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use super::Call;

/// The part of a commit's time that is worth waiting for others to share one, and the most.
const PART: u32 = 16;
const WAIT_MAX: Duration = Duration::from_millis(2);

/// What the last group was like.
#[derive(Default)]
pub(super) struct Gather {
    size: usize,
    took: Duration,
}

impl Gather {
    /// Takes note of a group, and of how long its commit took.
    pub(super) fn note(&mut self, size: usize, took: Duration) {
        (self.size, self.took) = (size, took);
    }

    /// Returns until when a group that begins now waits for others.
    pub(super) fn until(&self) -> Instant {
        Instant::now() + (self.took / PART).min(WAIT_MAX)
    }

    /// Returns the next call there is for a group that has so many; none if it goes without.
    pub(super) fn next(
        &self,
        queue: &Receiver<Call>,
        so_far: usize,
        until: Instant,
    ) -> Option<Call> {
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
    use std::time::Duration;

    use super::{Call, Gather};

    const LONG: Duration = Duration::from_mins(10);

    #[test]
    fn a_group_as_large_as_the_last_waits_for_nobody() {
        let (_asking, queue) = channel();
        let mut gather = Gather::default();
        assert!(gather.next(&queue, 1, gather.until()).is_none(), "there was no group yet");
        gather.note(2, LONG);
        assert!(gather.next(&queue, 2, gather.until()).is_none());
    }

    #[test]
    fn a_smaller_group_waits_for_the_others() {
        let (asking, queue) = channel();
        let mut gather = Gather::default();
        gather.note(2, LONG);
        thread::scope(|scope| {
            scope.spawn(move || drop(asking.send(Call::Look)));
            assert!(matches!(gather.next(&queue, 1, gather.until()), Some(Call::Look)));
        });
        assert!(gather.next(&queue, 1, gather.until()).is_none(), "nobody is left who could ask");
    }

    #[test]
    fn what_waits_already_is_taken_however_large_the_group_is() {
        let (asking, queue) = channel();
        asking.send(Call::Look).expect("somebody listens");
        let gather = Gather::default();
        assert!(gather.next(&queue, 5, gather.until()).is_some());
    }

    #[test]
    fn nobody_waits_longer_than_a_part_of_a_commit() {
        let (_asking, queue) = channel();
        let mut gather = Gather::default();
        gather.note(2, Duration::from_millis(16));
        let until = gather.until();
        assert!(gather.next(&queue, 1, until).is_none());
        assert!(std::time::Instant::now() >= until);
    }
}
