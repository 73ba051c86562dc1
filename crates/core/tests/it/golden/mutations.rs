//! Documents with one mistake: every field removed, or replaced by every other type.

use serde_json::{Value, json};

/// One element of a path to a value.
#[derive(Clone)]
pub(super) enum PathStep {
    Key(String),
    Index(usize),
}

pub(super) type ValuePath = Vec<PathStep>;

/// A document with one change, and its description.
pub(super) struct DocumentMutation {
    pub(super) name: String,
    pub(super) document: Value,
}

/// Returns every mutation of a document by one value.
pub(super) fn mutations(document: &Value) -> Vec<DocumentMutation> {
    let mut all = Vec::new();
    for path in paths(document) {
        let shown = shown(&path);
        if let Some(document) = without(document, &path) {
            all.push(DocumentMutation { name: format!("{shown} left out"), document });
        }
        for (value, name) in replacements() {
            let mut document = document.clone();
            *at(&mut document, &path) = value;
            all.push(DocumentMutation { name: format!("{shown} = {name}"), document });
        }
    }
    let mut strange = document.clone();
    strange["strange"] = json!(1);
    all.push(DocumentMutation { name: "a strange field".into(), document: strange });
    all
}

/// The replacements of a value: every type, empty values, and values beyond the limits.
fn replacements() -> Vec<(Value, &'static str)> {
    let many: Vec<Value> = vec![json!("x"); 2_000];
    vec![
        (Value::Null, "null"),
        (json!(true), "true"),
        (json!(7), "7"),
        (json!(-1), "-1"),
        (json!(1.5), "1.5"),
        (json!(""), "\"\""),
        (json!("  "), "\"  \""),
        (json!("odd\u{7}"), "\"odd\\u0007\""),
        (json!("../up"), "\"../up\""),
        (json!("TASK-2026-02-09-009"), "another task"),
        (json!("x".repeat(100_000)), "100000 characters"),
        (json!([]), "[]"),
        (json!([7]), "[7]"),
        (json!(many), "2000 items"),
        (json!({}), "{}"),
    ]
}

fn paths(value: &Value) -> Vec<ValuePath> {
    let mut all = Vec::new();
    collect(value, &mut Vec::new(), &mut all);
    all
}

fn collect(value: &Value, path: &mut ValuePath, all: &mut Vec<ValuePath>) {
    let inner: Vec<(PathStep, &Value)> = match value {
        Value::Object(map) => {
            map.iter().map(|(key, it)| (PathStep::Key(key.clone()), it)).collect()
        }
        Value::Array(items) => {
            items.iter().enumerate().map(|(n, it)| (PathStep::Index(n), it)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => vec![],
    };
    for (step, value) in inner {
        path.push(step);
        all.push(path.clone());
        collect(value, path, all);
        path.pop();
    }
}

fn at<'a>(document: &'a mut Value, path: &[PathStep]) -> &'a mut Value {
    path.iter().fold(document, |value, step| match step {
        PathStep::Key(key) => &mut value[key],
        PathStep::Index(index) => &mut value[index],
    })
}

/// Removes a field; `None` for a list item, which is only replaced.
fn without(document: &Value, path: &[PathStep]) -> Option<Value> {
    let (PathStep::Key(key), parent) = path.split_last()? else { return None };
    let mut document = document.clone();
    at(&mut document, parent).as_object_mut()?.remove(key);
    Some(document)
}

fn shown(path: &[PathStep]) -> String {
    path.iter().fold(String::new(), |text, step| match step {
        PathStep::Key(key) if text.is_empty() => key.clone(),
        PathStep::Key(key) => format!("{text}.{key}"),
        PathStep::Index(index) => format!("{text}[{index}]"),
    })
}
