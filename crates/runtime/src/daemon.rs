//! The daemon: gives out work, looks after runs and takes in what comes, until it is told to stop.

mod hold;

pub use hold::{Held, Holder, NotHeld};
