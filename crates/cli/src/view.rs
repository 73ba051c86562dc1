//! Renders views as text.

pub(crate) mod answer;
pub(crate) mod daemon_display;
pub(crate) mod event;
pub(crate) mod sandbox_summary;
pub(crate) mod step_display;
pub(crate) mod task;
mod task_metadata;
pub(crate) mod work_summary;
