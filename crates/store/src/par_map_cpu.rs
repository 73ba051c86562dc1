//! Maps a function over many items on several threads.

use std::panic::resume_unwind;
use std::thread;

/// The fewest items that are worth a thread of their own.
const SHARE_MIN: usize = 8;

/// Calls `work` on every item and returns the results in order.
pub fn par_map_cpu<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let shares = processors.min(items.len() / SHARE_MIN);
    if shares < 2 {
        return items.iter().map(work).collect();
    }
    let mut parts = items.chunks(items.len().div_ceil(shares));
    let own = parts.next().unwrap_or_default();
    let work = &work;
    thread::scope(|scope| {
        let others: Vec<_> = parts
            .map(|part| scope.spawn(move || part.iter().map(work).collect::<Vec<R>>()))
            .collect();
        let mut done: Vec<R> = own.iter().map(work).collect();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    })
}

#[cfg(test)]
mod tests {
    use super::par_map_cpu;

    #[test]
    fn side_by_side_keeps_the_order_of_items() {
        for count in [0, 1, 7, 15, 16, 17, 100, 1_001] {
            let items: Vec<usize> = (0..count).collect();
            assert_eq!(
                par_map_cpu(&items, |item| item * 2),
                (0..count).map(|n| n * 2).collect::<Vec<_>>()
            );
        }
    }
}
