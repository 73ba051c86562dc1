//! The step pipeline: the result of every input in every state of a story.

mod support;

mod faults;
mod judging;
mod properties;
mod routes;
mod status_by_input;
