//! The board: HTML pages for people. They can be read without a script; it makes them live, and
//! changes need it.
//!
//! Pages are built from plain values ([`columns::FrontPage`], [`task::TaskPage`], …) and turned
//! into markup only here. Nothing here knows the store, requests or rules.

pub mod agents;
pub mod asset;
pub mod columns;
pub mod error_page;
pub mod event_log;
pub mod figures;
pub mod form;
pub mod inbox;
pub mod page_frame;
pub mod sign_in;
pub mod stories;
pub mod task;

mod agent_output;
mod format;
mod markdown;
mod plot;
