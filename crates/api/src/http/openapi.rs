//! The `OpenAPI` document of the HTTP interface.

use std::collections::BTreeMap;

use axum::Json;
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::{Value, json};

use super::routes;

/// Returns the `OpenAPI` document of the HTTP interface.
pub fn document() -> Value {
    // OpenAPI 3.1 uses JSON Schema 2020-12.
    let mut schemas = SchemaSettings::draft2020_12()
        .with(|settings| settings.definitions_path = "/components/schemas".into())
        .with_transform(RecursiveTransform(use_signed_format))
        .into_generator();
    let mut paths = BTreeMap::new();
    for operation in routes::operations() {
        operation.add_description(&mut paths, &mut schemas);
    }
    let schemas: BTreeMap<_, _> = schemas.take_definitions(true).into_iter().collect();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Adjutant",
            "description": "Tasks for a crew of coding agents: work orders out, reports in.",
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
                    "description": "What a browser has after it signed in, under a name that differs from project to project; calls that change something also send X-CSRF-Token",
                },
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The operator's token, or the token of a run",
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
