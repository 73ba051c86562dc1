//! The fleet store's tests, on real NATS servers.

mod conformance;
mod fleet;
mod forged;
mod golden;
mod killed;
mod refused;
mod replicated_store;
mod silent;
