//! Golden files of `adjutant schema KIND` for every kind, and of the `OpenAPI` document.

use adjutant_test_support::golden::{GoldenFolder, RENEW_VARIABLE};
use serde_json::Value;

use super::help::possible_values;
use super::project::GoldenProject;

/// The kind whose golden file is `docs/openapi.json`.
const OPENAPI: &str = "openapi";

/// Compares the `OpenAPI` document with the one that is published with the documentation.
fn check_openapi(schema: &str) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    if std::env::var_os(RENEW_VARIABLE).is_some() {
        std::fs::write(path, schema).expect("the document can be written");
    }
    let published = std::fs::read_to_string(path).expect("the document is checked in");
    assert!(schema == published, "{path} is outdated; `cargo xtask golden` renews it");
}

#[test]
fn schema_of_every_kind_matches_golden_files() {
    let project = GoldenProject::empty();
    let mut folder = GoldenFolder::new("schema");
    let kinds = possible_values(&project.ok("schema --help"));
    assert!(kinds.contains(&OPENAPI.to_owned()), "{kinds:?}");
    for kind in kinds {
        let schema = project.ok(&format!("schema {kind}"));
        let value: Value = serde_json::from_str(&schema).expect("a schema is JSON");
        assert_eq!(project.ok(&format!("schema {kind} --json")), format!("{value}\n"), "{kind}");
        if kind == OPENAPI {
            check_openapi(&schema);
        } else {
            folder.add(format!("{kind}.json"), schema);
        }
    }
    folder.check();
}
