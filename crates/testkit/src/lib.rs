//! Test support on top of the product: projects in temporary folders, a settable clock, crashes,
//! power cuts, NATS clusters and simulations.

pub mod clock;
pub mod conformance;
pub mod message;
pub mod project;

pub mod audit;
pub mod cluster;
pub mod crash;
pub mod crash_child;
pub mod disk_space;
pub mod fleet_keys;
pub mod folder_operation;
pub mod golden_samples;
pub mod locked_path;
pub mod nats_admin;
pub mod nodes;
pub mod paused_child;
pub mod power_cut;
pub mod random_request;
pub mod seeded_rng;
pub mod sim;
pub mod small_disk;
pub mod snapshot;

pub use clock::ManualClock;
pub use project::TestProject;
