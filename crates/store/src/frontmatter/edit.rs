//! Changes single fields of front matter and makes sure the result reads as meant.
//!
//! The change is made in the text (`splice`) and then read back; if it does not read as meant,
//! the whole mapping is written anew, which keeps every value and loses only the looks.

use serde_json::{Map, Value};

use super::read::{ReadError, read};
use super::write::write;
use super::{simple, splice};

/// One change of one field; at most two keys deep, e.g. `["status"]` or
/// `["metadata", "reviewRequired"]`.
///
/// Setting a field makes the mapping above it where there is none, even in place of another value.
/// Removing a field that is not there, or an empty path, changes nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Edit<'a> {
    /// The keys that lead to the field.
    pub path: &'a [&'a str],
    /// The new value; `None` removes the field.
    pub value: Option<Value>,
}

/// Why front matter could not be edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The text given is not front matter we can read.
    #[error("cannot edit front matter that cannot be read")]
    Unreadable(#[from] ReadError),
    /// The new values are over a limit, so that [`read`] would refuse the result.
    #[error("edited front matter would be too long or too deep to be read again")]
    Unwritable,
}

/// Applies the edits and returns the new YAML text. Everything no edit names stays byte for byte.
///
/// The edits count in the order given, and one that sets the value a field already has leaves
/// its text alone. New lines end with `eol`.
pub fn edit(yaml: &str, edits: &[Edit<'_>], eol: &str) -> Result<String, EditError> {
    edit_known(yaml, &read(yaml)?, edits, eol)
}

/// Does what [`edit`] does to a text of which is known that it reads as `old`.
pub fn edit_known(
    yaml: &str,
    old: &Map<String, Value>,
    edits: &[Edit<'_>],
    eol: &str,
) -> Result<String, EditError> {
    let mut new = old.clone();
    for Edit { path, value } in edits {
        put(&mut new, path, value.as_ref());
    }
    if new == *old {
        return Ok(yaml.to_owned());
    }
    let spliced = splice::change(yaml, old, &new, eol).filter(|text| reads_as(text, &new));
    let written = || Some(write(&new, eol)).filter(|text| reads_as(text, &new));
    spliced.or_else(written).ok_or(EditError::Unwritable)
}

/// Sets or removes the value at the end of a path.
fn put(map: &mut Map<String, Value>, path: &[&str], value: Option<&Value>) {
    match (path, value) {
        ([], _) => {}
        ([key], Some(value)) => drop(map.insert((*key).to_owned(), value.clone())),
        ([key], None) => drop(map.shift_remove(*key)),
        ([key, rest @ ..], Some(_)) => put(mapping_at(map, key), rest, value),
        ([key, rest @ ..], None) => {
            if let Some(Value::Object(inner)) = map.get_mut(*key) {
                put(inner, rest, None);
            }
        }
    }
}

/// Returns the mapping below a key, made if need be.
fn mapping_at<'a>(map: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    let slot = map.entry(key).or_insert(Value::Null);
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    slot.as_object_mut().expect("the lines above made it an object")
}

/// Tells whether a text reads as these fields, in whatever order.
fn reads_as(text: &str, fields: &Map<String, Value>) -> bool {
    simple::is(text, fields) || read(text).is_ok_and(|read| read == *fields)
}
