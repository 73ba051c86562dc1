//! The board: pages for people, whole without script, and made live by a little of it.
//!
//! What is shown is handed over as plain values ([`columns::Board`], [`task::Page`], …), and
//! becomes markup here and nowhere else. Nothing here knows a store, a request or a rule.

pub mod agents;
pub mod asset;
pub mod columns;
pub mod figures;
pub mod form;
pub mod inbox;
pub mod record;
pub mod shell;
pub mod stories;
pub mod task;

mod markdown;
mod output;
mod plot;
mod words;
