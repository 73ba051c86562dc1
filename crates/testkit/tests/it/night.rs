//! A night in a minute: thousands of simulated hours in which everything goes wrong that can.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use adjutant_runtime::token::Secret;
use adjutant_test_support::soak;
use adjutant_testkit::dice::Dice;
use adjutant_testkit::night::{self, Tale, play};

/// How many nights are played for every change.
const NIGHTS: u64 = 6;
/// How many more are played, by two, if something was never seen.
const MORE_MAX: u64 = 50;

fn secret() -> Secret {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("secret"), "07".repeat(32)).expect("a secret");
    Secret::read(folder.path()).expect("a secret")
}

/// Plays the nights of these seeds, on every core, and adds up what was seen.
fn play_all(first: u64, count: u64) -> Tale {
    let (next, tale, secret) = (AtomicU64::new(0), Mutex::new(Tale::default()), secret());
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    if number >= count {
                        return;
                    }
                    let one = match play(first.wrapping_add(number), &secret) {
                        Ok(one) => one,
                        Err(broken) => {
                            next.store(count, Ordering::SeqCst);
                            let seed = format!("{}={}", night::SEED, broken.seed);
                            panic!("{seed}\n{}\n{:#?}", broken.record, broken.wrong);
                        }
                    };
                    let mut tale = tale.lock().unwrap_or_else(PoisonError::into_inner);
                    tale.hours += one.hours;
                    for (what, times) in one.seen {
                        *tale.seen.entry(what).or_default() += times;
                    }
                }
            });
        }
    });
    tale.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// What must have been seen by the end: some of it is rare.
const SEEN: [&str; 22] = [
    "a daemon is started",
    "a report of a replaced run",
    "a shim is killed",
    "a tick by hand",
    "an agent is killed",
    "ends blocked",
    "ends cancelled",
    "ends deadletter",
    "ends done",
    "ends review",
    "protocol.message.rejected",
    "run.failed",
    "run.salvaged",
    "run.salvage.applied",
    "task.answered",
    "task.completed",
    "the clock jumps ahead",
    "the clock jumps back",
    "the daemon is told to leave",
    "the disk is full",
    "the machine goes down",
    "the machine sleeps",
];

fn unseen(seen: &BTreeMap<String, u64>) -> Vec<&'static str> {
    SEEN.into_iter().filter(|what| !seen.contains_key(*what)).collect()
}

#[test]
fn a_night_in_a_minute() {
    let given = std::env::var(night::SEED).ok().and_then(|text| text.parse().ok());
    if let Some(seed) = given {
        play_all(seed, 1);
        return;
    }
    let (first, count) = (Dice::seed(), soak::cases(NIGHTS));
    let mut tale = play_all(first, count);
    assert!(tale.hours > 30 * count, "only {} hours", tale.hours);
    // What chance has left out so far comes in one of the next nights, unless it never can.
    let mut next = first.wrapping_add(count);
    for _ in 0..MORE_MAX {
        if unseen(&tale.seen).is_empty() {
            break;
        }
        tale.seen.extend(play_all(next, 2).seen);
        next = next.wrapping_add(2);
    }
    assert_eq!(unseen(&tale.seen), [""; 0], "never seen, of {:#?}", tale.seen);
}

#[test]
fn a_night_can_be_had_again() {
    let (seed, secret) = (Dice::seed(), secret());
    let tale = || play(seed, &secret).map_err(|broken| broken.wrong);
    assert_eq!(tale(), tale(), "{}={seed}", night::SEED);
}
