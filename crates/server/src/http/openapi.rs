//! The `OpenAPI` document of the HTTP API.

use std::collections::BTreeMap;

use axum::Json;
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::{Value, json};

use super::operation::ApiSchemas;
use super::routes;

pub fn document() -> Value {
    // OpenAPI 3.1 uses JSON Schema 2020-12.
    let settings = SchemaSettings::draft2020_12()
        .with(|settings| settings.definitions_path = "/components/schemas".into())
        .with_transform(RecursiveTransform(use_signed_format));
    let mut schemas = ApiSchemas {
        requests: settings.clone().into_generator(),
        responses: settings.for_serialize().into_generator(),
    };
    let mut paths = BTreeMap::new();
    for operation in routes::operations() {
        operation.add_description(&mut paths, &mut schemas);
    }
    let ApiSchemas { mut requests, mut responses } = schemas;
    let requests = requests.take_definitions(true);
    let schemas: BTreeMap<_, _> =
        requests.into_iter().chain(responses.take_definitions(true)).collect();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Adjutant",
            "description": "Manages tasks for coding agents: create, assign, follow, review.",
            "license": { "name": "Apache-2.0" },
            "version": env!("CARGO_PKG_VERSION"),
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "cookie": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "adjutant",
                    "description": "The cookie of a browser that signed in. Its name differs by project and port. Requests that change something must also send X-CSRF-Token.",
                },
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The operator's token, or the token of a run.",
                },
            },
        },
        "security": [{ "token": [] }, { "cookie": [] }],
    })
}

/// Replaces the formats of unsigned integers: client generators know only `int32` and `int64`.
fn use_signed_format(schema: &mut Schema) {
    let signed = match schema.get("format").and_then(Value::as_str) {
        Some("uint16" | "uint32") => "int32",
        Some("uint64") => "int64",
        _ => return,
    };
    schema.insert("format".to_owned(), signed.into());
}

/// Serves the document. It contains nothing of the project, so it needs no token.
pub(super) async fn show() -> Json<Value> {
    Json(document())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Returns every operation with its method and path.
    fn operations(document: &Value) -> Vec<(String, &Value)> {
        let paths = document["paths"].as_object().expect("an object");
        let of_path = |(path, methods): (&String, _)| {
            let methods = Value::as_object(methods).expect("an object");
            methods
                .iter()
                .map(|(method, one)| (format!("{method} {path}"), one))
                .collect::<Vec<_>>()
        };
        paths.iter().flat_map(of_path).collect()
    }

    #[test]
    fn openapi_operation_ids_are_unique() {
        let document = document();
        let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (place, operation) in operations(&document) {
            let id = operation["operationId"].as_str().expect("an id");
            places.entry(id).or_default().push(place);
        }
        places.retain(|_, places| places.len() > 1);
        assert_eq!(places, BTreeMap::new());
    }

    #[test]
    fn openapi_responses_have_descriptions() {
        let document = document();
        for (place, operation) in operations(&document) {
            let responses = operation["responses"].as_object().expect("an object");
            assert!(responses.contains_key("default") && responses.len() > 1, "{place}");
            for (status, response) in responses {
                let description = response["description"].as_str().unwrap_or_default();
                assert!(!description.is_empty(), "{place}: {status}");
            }
        }
    }
}
