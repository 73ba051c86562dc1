//! The stores' tests: one conformance suite for every store, then the folder in detail.

mod conformance;

mod archive;
mod formats;
mod index;
mod join;
mod laws;
mod lookout;
mod mirror;
mod numbers;
mod reader;
mod spares;
mod story;
