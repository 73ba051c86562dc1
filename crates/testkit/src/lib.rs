//! What tests need and the product does not: projects in temporary folders, a clock that is set.

pub mod clock;
pub mod message;
pub mod project;

pub mod audit;
pub mod crash;
pub mod deed;
pub mod hand;
pub mod snapshot;

pub use clock::SetClock;
pub use project::Project;
