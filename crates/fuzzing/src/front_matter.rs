//! Fuzz target: front matter is split, read, edited one field at a time and written again.

use adjutant_store::frontmatter::{FieldEdit, FrontMatterParts, edit, read, write};
use serde_json::{Map, Value, json};

/// Front matter reads the same after every write, and an edit changes only the field it names.
pub fn front_matter(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(parts) = FrontMatterParts::split(text) {
        assert_eq!(parts.join(parts.yaml(), parts.body()), text, "apart and together is the text");
        check(parts.yaml(), parts.eol(), text);
    }
    check(text, "\n", text);
}

/// Checks YAML with edits whose value is the text itself, because that has the odd characters.
fn check(yaml: &str, eol: &str, text: &str) {
    let fields = match read(yaml) {
        Ok(fields) => fields,
        Err(error) => return assert!(!error.to_string().contains('\n'), "an error is one line"),
    };
    assert_eq!(read(&write(&fields, eol)), Ok(fields.clone()), "what is written reads the same");
    if yaml.ends_with('\n') {
        // A comment bypasses the fast reader and uses the parser for all of YAML.
        let commented = format!("{yaml}# c\n");
        assert_eq!(read(&commented), Ok(fields.clone()), "both readers read the same");
    }
    let first = fields.keys().next().map_or("new", String::as_str);
    let last = fields.keys().next_back().map_or("new", String::as_str);
    let values = [json!(text), json!({"in": [text, 1, null]}), json!("2026-02-09T21:00:00.000Z")];
    for path in [&["status"][..], &[first], &[last], &["metadata", "feedback"], &[first, last]] {
        for value in &values {
            check_edit(yaml, &fields, FieldEdit { path, value: Some(value.clone()) }, eol);
        }
        check_edit(yaml, &fields, FieldEdit { path, value: None }, eol);
    }
}

fn check_edit(yaml: &str, fields: &Map<String, Value>, change: FieldEdit<'_>, eol: &str) {
    let edits = [change];
    let once = edit(yaml, &edits, eol).expect("what can be read can be edited");
    assert_eq!(edit(&once, &edits, eol).as_ref(), Ok(&once), "an edit made again changes nothing");
    let after = read(&once).expect("what was edited can be read");
    let [FieldEdit { path, value }] = &edits;
    assert_eq!(at(&after, path), value.as_ref(), "the field says what was meant: {once:?}");
    let others = |fields: &Map<String, Value>| -> Map<String, Value> {
        fields.clone().into_iter().filter(|(key, _)| *key != path[0]).collect()
    };
    assert_eq!(others(&after), others(fields), "no other field has changed: {once:?}");
}

fn at<'a>(fields: &'a Map<String, Value>, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(fields.get(*first)?, |value, key| value.get(key))
}
