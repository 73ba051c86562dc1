//! The state of a story: its steps and its position. The rules of the pipeline are in the core.

pub mod hold;
pub mod id;
pub mod position;
pub mod reason;
pub mod status;
pub mod step;

pub use hold::StoryHold;
pub use id::StoryId;
pub use position::StoryPosition;
pub use reason::StepFailReason;
pub use status::StepStatus;
pub use step::Step;
