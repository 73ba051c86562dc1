//! Calls a function on many items in parallel, and returns the results in order.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The most threads at once. The work waits for disks and processes, so more threads do not help.
const THREADS_MAX: usize = 16;

/// Calls `work` on every item. The caller's thread works too, so that all items are done even if no
/// thread can be started.
pub fn par_map_io<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
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
    fn parallel_results_keep_order_of_items() {
        for count in [0, 1, 2, 16, 100] {
            let all: Vec<usize> = (0..count).collect();
            let expected: Vec<usize> = all.iter().map(|number| number * 2).collect();
            assert_eq!(par_map_io(&all, |number| number * 2), expected, "{count}");
        }
    }

    #[test]
    fn parallel_items_run_at_the_same_time() {
        let all_are_here = Barrier::new(8);
        // In sequence, the first would wait forever.
        par_map_io(&[(); 8], |()| all_are_here.wait().is_leader());
    }
}
