//! The JSON schemas, compared with an independent validator and with Adjutant's own checks.

mod support;

mod documents;
mod envelope;
mod events;
mod files;
mod story;
mod values;

use serde_json::json;
use support::{KINDS, schema};

#[test]
fn schema_of_every_kind_is_a_valid_json_schema() {
    for kind in KINDS {
        let schema = schema(kind);
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{kind}");
        assert!(jsonschema::meta::is_valid(&schema), "{kind}");
        let head: Vec<&String> = schema.as_object().expect("an object").keys().take(3).collect();
        assert_eq!(head, ["$schema", "title", "description"], "{kind}");
    }
}

#[test]
fn schema_describes_every_field() {
    for kind in KINDS {
        let schema = schema(kind);
        let definitions = schema["$defs"].as_object().into_iter().flatten();
        for (name, definition) in definitions.chain([(&"the document".to_owned(), &schema)]) {
            assert!(definition["description"].is_string(), "{kind}: {name}");
            check_fields(definition, &format!("{kind}: {name}"));
        }
        for branch in schema["oneOf"].as_array().into_iter().flatten() {
            let payload = &branch["properties"]["payload"];
            check_fields(payload, &format!("{kind}: {}", branch["properties"]["type"]));
        }
    }
}

fn check_fields(definition: &serde_json::Value, place: &str) {
    for (field, described) in definition["properties"].as_object().into_iter().flatten() {
        let said = described["description"].is_string() || described["$ref"].is_string();
        let by_type = described["anyOf"][0]["$ref"].is_string();
        assert!(said || by_type, "{place}.{field}");
    }
}

#[test]
fn config_schema_accepts_no_unknown_fields() {
    let valid = support::validator("config");
    assert!(valid.is_valid(&json!({})));
    assert!(valid.is_valid(&json!({"protocol": {}})));
    assert!(valid.is_valid(&json!({"protocol": {"require_token": true}})));
    assert!(valid.is_valid(&json!({"scheduler": {"poll": "1h30m", "concurrency": 8}})));
    let fixer = json!({"kind": "command", "command": ["x"], "timeout": "off", "env": {"A": "b"}});
    assert!(valid.is_valid(&json!({"agents": {"fixer": fixer}})));
    for bad in [
        json!({"scheduler": {"poll": 30}}),
        json!({"scheduler": {"poll": "soon"}}),
        json!({"scheduler": {"attempts_max": 0}}),
        json!({"agents": {"fixer": {}}}),
        json!({"agents": {"fixer": {"kind": "robot"}}}),
        json!({"agents": {"fixer": {"kind": "command", "comand": ["x"]}}}),
        json!([]),
        json!({"protocl": {}}),
        json!({"protocol": true}),
        json!({"protocol": {"require_tokn": true}}),
        json!({"protocol": {"require_token": "true"}}),
    ] {
        assert!(!valid.is_valid(&bad), "{bad}");
    }
}

#[test]
fn schema_with_json_flag_is_one_line() {
    for kind in KINDS {
        let line = support::adjutant(&["schema", kind, "--json"]);
        assert_eq!(line.lines().count(), 1, "{kind}");
        let same: serde_json::Value = serde_json::from_str(&line).expect("a schema is JSON");
        assert_eq!(same, schema(kind), "{kind}");
    }
}
