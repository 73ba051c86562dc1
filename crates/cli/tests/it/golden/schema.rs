//! `adjutant schema KIND` for every kind, and the `OpenAPI` document.

use adjutant_test_support::golden::GoldenFolder;
use serde_json::Value;

use super::help::possible_values;
use super::project::GoldenProject;

/// The kind whose golden file is `docs/openapi.json`.
const OPENAPI: &str = "openapi";

/// Returns the checked-in description of the HTTP interface.
pub(super) fn published_openapi() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    std::fs::read_to_string(path).expect("the document is checked in")
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
            assert_eq!(schema, published_openapi(), "`adjutant schema openapi` renews it");
        } else {
            folder.add(format!("{kind}.json"), schema);
        }
    }
    folder.check();
}
