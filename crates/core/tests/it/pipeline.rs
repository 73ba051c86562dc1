//! The step pipeline: where a story goes, from wherever it stands, whatever happens.

mod support;

mod faults;
mod judging;
mod properties;
mod routes;
mod status_by_input;
