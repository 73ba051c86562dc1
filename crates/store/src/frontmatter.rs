//! Task file front matter: taken out of the text, read, and changed one field at a time.
//!
//! People and other programs write these files too, so an edit leaves every byte alone that it
//! does not name: comments, order, quoting, blank lines and line ends.
//! What the fields mean is not known here.

mod edit;
mod json;
mod layout;
mod lines;
mod parts;
mod read;
mod scalar;
mod simple;
mod splice;
mod write;

#[cfg(test)]
mod tests;

pub use edit::{Edit, EditError, edit, edit_known};
pub use parts::{Parts, SplitError};
pub use read::{ReadError, read};
pub use write::write;
