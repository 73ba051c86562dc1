//! Task file front matter: split from the text, read, and edited field by field.
//!
//! People and other programs write these files too, so an edit changes only the bytes of the fields
//! it names: comments, order, quoting, blank lines and line ends stay. This module does not know
//! what the fields mean.

mod edit;
mod fast_reader;
mod json;
mod layout;
mod lines;
mod parts;
mod read;
mod scalar;
mod splice;
mod write;

#[cfg(test)]
mod tests;

pub use edit::{EditError, FieldEdit, edit, edit_parsed};
pub use parts::{FrontMatterParts, SplitError};
pub use read::{ReadError, read};
pub use write::write;
