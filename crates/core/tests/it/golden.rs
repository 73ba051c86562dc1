//! Golden files of every text the core refuses with.

mod decisions;
mod mutations;
mod problems;
mod reasons;
