//! Thousands of simulated hours with every fault the simulation knows.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use adjutant_config::run_token::TokenSecret;
use adjutant_test_support::soak;
use adjutant_testkit::seeded_rng::SeededRng;
use adjutant_testkit::sim::{self, SimReport, simulate};

/// Simulations for every change.
const SIMULATIONS: u64 = 6;
/// The limit on further pairs of simulations if something has not happened yet.
const MORE_MAX: u64 = 50;

fn secret() -> TokenSecret {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("secret"), "07".repeat(32)).expect("a secret");
    TokenSecret::read(folder.path()).expect("a secret")
}

/// Simulates projects with these seeds on every core and adds up their reports.
fn simulate_all(first: u64, count: u64) -> SimReport {
    let (next, report, secret) = (AtomicU64::new(0), Mutex::new(SimReport::default()), secret());
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    if number >= count {
                        return;
                    }
                    let one = match simulate(first.wrapping_add(number), &secret) {
                        Ok(one) => one,
                        Err(broken) => {
                            next.store(count, Ordering::SeqCst);
                            let seed = format!("{}={}", sim::SIM_SEED_VARIABLE, broken.seed);
                            panic!("{seed}\n{}\n{:#?}", broken.last_events, broken.violations);
                        }
                    };
                    let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
                    report.hours += one.hours;
                    for (what, times) in one.counts {
                        *report.counts.entry(what).or_default() += times;
                    }
                }
            });
        }
    });
    report.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// What must have happened by the end; some of it is rare.
const EXPECTED_EVENTS: [&str; 22] = [
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

fn missing_events(seen: &BTreeMap<String, u64>) -> Vec<&'static str> {
    EXPECTED_EVENTS.into_iter().filter(|what| !seen.contains_key(*what)).collect()
}

#[test]
fn simulated_nights_break_no_invariant() {
    let given = std::env::var(sim::SIM_SEED_VARIABLE).ok().and_then(|text| text.parse().ok());
    if let Some(seed) = given {
        simulate_all(seed, 1);
        return;
    }
    let (first, count) = (SeededRng::seed_from_env(), soak::cases(SIMULATIONS));
    let mut report = simulate_all(first, count);
    assert!(report.hours > 30 * count, "only {} hours", report.hours);
    // Anything missing so far should happen in one of the next simulations, unless it never can.
    let mut next = first.wrapping_add(count);
    for _ in 0..MORE_MAX {
        if missing_events(&report.counts).is_empty() {
            break;
        }
        report.counts.extend(simulate_all(next, 2).counts);
        next = next.wrapping_add(2);
    }
    assert_eq!(missing_events(&report.counts), [""; 0], "never seen, of {:#?}", report.counts);
}

#[test]
fn simulated_night_repeats_with_its_seed() {
    let (seed, secret) = (SeededRng::seed_from_env(), secret());
    let report = || simulate(seed, &secret).map_err(|broken| broken.violations);
    assert_eq!(report(), report(), "{}={seed}", sim::SIM_SEED_VARIABLE);
}
