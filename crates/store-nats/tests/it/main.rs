//! The fleet store's tests, on real NATS servers.

mod conformance;
mod fleet;
mod killed;
mod refused;
mod silent;
