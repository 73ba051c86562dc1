//! What tests need and the product does not: projects in temporary folders, a clock that is set.

pub mod clock;
pub mod message;
pub mod project;

pub use clock::SetClock;
pub use project::Project;
