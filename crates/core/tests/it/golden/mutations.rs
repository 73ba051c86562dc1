//! Documents with one thing wrong in them: every field left out, and replaced by everything else.

use serde_json::{Value, json};

/// A step on the way to a value.
#[derive(Clone)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

pub(super) type Path = Vec<Step>;

/// A document and what was done to it.
pub(super) struct Mutation {
    pub(super) name: String,
    pub(super) document: Value,
}

/// Returns every way in which one value of a document can be wrong.
pub(super) fn mutations(document: &Value) -> Vec<Mutation> {
    let mut all = Vec::new();
    for path in paths(document) {
        let shown = shown(&path);
        if let Some(document) = without(document, &path) {
            all.push(Mutation { name: format!("{shown} left out"), document });
        }
        for (value, name) in replacements() {
            let mut document = document.clone();
            *at(&mut document, &path) = value;
            all.push(Mutation { name: format!("{shown} = {name}"), document });
        }
    }
    let mut strange = document.clone();
    strange["strange"] = json!(1);
    all.push(Mutation { name: "a strange field".into(), document: strange });
    all
}

/// What a value is replaced by: every type, nothing, and too much of everything.
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

fn paths(value: &Value) -> Vec<Path> {
    let mut all = Vec::new();
    collect(value, &mut Vec::new(), &mut all);
    all
}

fn collect(value: &Value, path: &mut Path, all: &mut Vec<Path>) {
    let inner: Vec<(Step, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, it)| (Step::Key(key.clone()), it)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().map(|(n, it)| (Step::Index(n), it)).collect()
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

fn at<'a>(document: &'a mut Value, path: &[Step]) -> &'a mut Value {
    path.iter().fold(document, |value, step| match step {
        Step::Key(key) => &mut value[key],
        Step::Index(index) => &mut value[index],
    })
}

/// Leaves a field out; an item of a list is only replaced.
fn without(document: &Value, path: &[Step]) -> Option<Value> {
    let (Step::Key(key), parent) = path.split_last()? else { return None };
    let mut document = document.clone();
    at(&mut document, parent).as_object_mut()?.remove(key);
    Some(document)
}

fn shown(path: &[Step]) -> String {
    path.iter().fold(String::new(), |text, step| match step {
        Step::Key(key) if text.is_empty() => key.clone(),
        Step::Key(key) => format!("{text}.{key}"),
        Step::Index(index) => format!("{text}[{index}]"),
    })
}
