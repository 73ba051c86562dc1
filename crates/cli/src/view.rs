//! How things look: a task, an answer, an event, as JSON and in words.

pub(crate) mod answer;
pub(crate) mod event;
pub(crate) mod glance;
pub(crate) mod late;
pub(crate) mod run;
pub(crate) mod shelf;
pub(crate) mod steps;
pub(crate) mod task;
pub(crate) mod work;
