//! Edits single fields of front matter and checks that the result has the intended values.
//!
//! `splice` edits the text, and the result is read back. If the values are not the intended ones,
//! the whole mapping is written anew, which keeps every value and loses only the formatting.

use serde_json::{Map, Value};

use super::read::{ReadError, read};
use super::write::write;
use super::{fast_reader, splice};

/// One change of one field, at most two keys deep, e.g. `["status"]`
/// or `["metadata", "reviewRequired"]`.
///
/// Setting a nested field creates the mapping above it, even in place of another value. Removing an
/// absent field, or an empty path, changes nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldEdit<'a> {
    pub path: &'a [&'a str],
    /// The new value; `None` removes the field.
    pub value: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The given text is not front matter that [`read`] accepts.
    #[error("cannot edit front matter that cannot be read")]
    Unreadable(#[from] ReadError),
    /// The new values are over a limit, so [`read`] would refuse the result.
    #[error("the edited front matter would be too long or nested too deep to be read again")]
    Unwritable,
}

/// Applies the edits and returns the new YAML text. Everything that no edit names stays
/// byte for byte.
///
/// The edits apply in the given order. An edit that sets a field to its present value leaves the
/// text as it is. New lines end with `eol`.
pub fn edit(yaml: &str, edits: &[FieldEdit<'_>], eol: &str) -> Result<String, EditError> {
    edit_parsed(yaml, &read(yaml)?, edits, eol)
}

/// Does the same as [`edit`] to a text whose fields are known to be `old`.
pub fn edit_parsed(
    yaml: &str,
    old: &Map<String, Value>,
    edits: &[FieldEdit<'_>],
    eol: &str,
) -> Result<String, EditError> {
    let mut new = old.clone();
    for FieldEdit { path, value } in edits {
        set_path(&mut new, path, value.as_ref());
    }
    if new == *old {
        return Ok(yaml.to_owned());
    }
    let spliced = splice::change(yaml, old, &new, eol).filter(|text| reads_as(text, &new));
    let written = || Some(write(&new, eol)).filter(|text| reads_as(text, &new));
    spliced.or_else(written).ok_or(EditError::Unwritable)
}

/// Sets or removes the value at a path.
fn set_path(map: &mut Map<String, Value>, path: &[&str], value: Option<&Value>) {
    match (path, value) {
        ([], _) => {}
        ([key], Some(value)) => drop(map.insert((*key).to_owned(), value.clone())),
        ([key], None) => drop(map.shift_remove(*key)),
        ([key, rest @ ..], Some(_)) => set_path(mapping_at(map, key), rest, value),
        ([key, rest @ ..], None) => {
            if let Some(Value::Object(inner)) = map.get_mut(*key) {
                set_path(inner, rest, None);
            }
        }
    }
}

/// Returns the mapping below a key, and creates it if it is absent.
fn mapping_at<'a>(map: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    let slot = map.entry(key).or_insert(Value::Null);
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    slot.as_object_mut().expect("the lines above made it an object")
}

/// Returns whether a text reads as these fields, in any order.
fn reads_as(text: &str, fields: &Map<String, Value>) -> bool {
    fast_reader::matches_fields(text, fields) || read(text).is_ok_and(|read| read == *fields)
}
