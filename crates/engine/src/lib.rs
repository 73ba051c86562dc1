//! The single writer: requests in, one commit for all that wait, answers out.
//!
//! The engine converts requests to inputs, asks the core to decide, commits the events to a store
//! and answers. It contains no rules: the core decides what a message does, and the store what a
//! commit does to files. `service` is its thread, `ipc` its socket, `fleet` its part in a fleet.

pub mod caller_identity;
pub mod engine;
pub mod fleet;
pub mod ipc;
mod message_counter;
mod message_facts;
mod prepared_request;
mod refused_reports;
pub mod request_inspector;
mod run_answers;
pub mod service;
pub mod story_requests;
pub mod tick;
mod world_snapshot;

pub use engine::{Engine, EngineAnswer, EngineRequest, Request};
pub use service::{
    EngineActivity, EngineError, EngineHandle, EngineService, FleetEngine, PendingAnswer,
};
pub use tick::{HeartbeatsOnly, LivenessSource, TickOutcome};
pub use world_snapshot::WorldSnapshot;
