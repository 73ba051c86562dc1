//! Documents of the other dialects: the schema and `check` agree.

use adjutant_core::protocols::dialect::read_as;
use adjutant_model::document::DocumentKind;
use adjutant_store::yaml;
use serde_json::{Value, json};

use crate::schema::support::{complaints, validator};

fn example(name: &str) -> Value {
    let path = format!("{}/tests/examples/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the example is there");
    yaml::read(&text).map(Value::Object).expect("a mapping")
}

fn examples() -> [(DocumentKind, Value); 5] {
    [
        (DocumentKind::Mission, example("mission.yaml")),
        (DocumentKind::Result, example("result.yaml")),
        (DocumentKind::NewTask, example("new_task.json")),
        (DocumentKind::AttemptCompletion, example("success.json")),
        (DocumentKind::AttemptCompletion, example("clarification_needed.json")),
    ]
}

fn is_taken(kind: DocumentKind, document: &Value) -> bool {
    read_as(kind, document.to_string().as_bytes(), &yaml::read).is_ok()
}

#[test]
fn document_examples_are_valid() {
    for (kind, document) in examples() {
        assert_eq!(complaints(&validator(kind.as_str()), &document), [""; 0], "{kind}");
        assert!(is_taken(kind, &document), "{kind}");
    }
}

/// Appends every position in a document as a JSON pointer.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().map(|(i, value)| (i.to_string(), value)).collect()
        }
        _ => vec![],
    };
    for (key, value) in inner {
        let place = format!("{at}/{key}");
        places(value, &place, found);
        found.push(place);
    }
}

#[test]
fn document_schema_and_check_agree_on_every_changed_value() {
    let odd = [
        json!(null),
        json!(true),
        json!(-1),
        json!(0),
        json!(1),
        json!(1.5),
        json!(""),
        json!(" "),
        json!("x"),
        json!("T1"),
        json!("E1"),
        json!("PRD-1"),
        json!("1"),
        json!("../x"),
        json!("/x"),
        json!("a\u{0}b"),
        json!("a\nb"),
        json!("2026-02-09T21:00:00Z"),
        json!("completed"),
        json!("success"),
        json!("high"),
        json!([]),
        json!([1]),
        json!(["x"]),
        json!({}),
    ];
    for (kind, document) in examples() {
        let valid = validator(kind.as_str());
        let mut all = Vec::new();
        places(&document, "", &mut all);
        for place in &all {
            for value in &odd {
                let mut changed = document.clone();
                *changed.pointer_mut(place).expect("it is there") = value.clone();
                let (taken, fits) = (is_taken(kind, &changed), valid.is_valid(&changed));
                assert_eq!(taken, fits, "{kind} {place}: {value}");
            }
            let mut without = document.clone();
            let (above, key) = place.rsplit_once('/').expect("a pointer");
            if let Some(Value::Object(map)) = without.pointer_mut(above) {
                map.remove(key);
            }
            assert_eq!(
                is_taken(kind, &without),
                valid.is_valid(&without),
                "{kind} without {place}"
            );
        }
    }
}
