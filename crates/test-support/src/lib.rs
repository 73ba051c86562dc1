//! Test support that all crates share. It depends on no crate of the product, so that the tests of
//! `core` build without the crates above it.

pub mod golden;
pub mod skip;
pub mod soak;
pub mod variants;
