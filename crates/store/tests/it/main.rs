//! Tests of the stores: the conformance suite for every store, then the folder in detail.

mod conformance;

mod archive;
mod file_pool;
mod formats;
mod incremental_reader;
mod index;
mod join;
mod laws;
mod numbers;
mod reader;
mod story;
