//! Does the same to many things side by side, and gives back what came of each, in order.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The most threads at once, whatever there is to do: what waits for a disk or a process waits
/// together, and nobody needs more.
const THREADS_MAX: usize = 16;

/// Works on all of them. Whoever asks works too, so that all is done even where no thread can be
/// started.
pub(crate) fn side_by_side<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let take = || -> Vec<(usize, R)> {
        let mut done = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(one) = all.get(place) else { return done };
            done.push((place, work(one)));
        }
    };
    let mut done = thread::scope(|scope| {
        let more = 1..all.len().min(THREADS_MAX);
        let helpers: Vec<_> =
            more.map_while(|_| thread::Builder::new().spawn_scoped(scope, take).ok()).collect();
        let mut done = take();
        for helper in helpers {
            done.extend(helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn each_answer_stands_where_its_question_did() {
        for count in [0, 1, 2, 16, 100] {
            let all: Vec<usize> = (0..count).collect();
            let expected: Vec<usize> = all.iter().map(|number| number * 2).collect();
            assert_eq!(side_by_side(&all, |number| number * 2), expected, "{count}");
        }
    }

    #[test]
    fn nobody_waits_for_another_to_be_done() {
        let all_are_here = Barrier::new(8);
        // One after another, the first would wait for ever.
        side_by_side(&[(); 8], |()| all_are_here.wait().is_leader());
    }
}
