//! What tests need and the product does not: projects in temporary folders, a clock that is set.

pub mod clock;
pub mod message;
pub mod project;

pub mod audit;
pub mod cluster;
pub mod crash;
pub mod deed;
pub mod desk;
pub mod dice;
pub mod hand;
pub mod night;
pub mod nodes;
pub mod pause;
pub mod power;
pub mod room;
pub mod small_disk;
pub mod snapshot;
pub mod wish;

pub use clock::SetClock;
pub use project::Project;
