//! The schema of a task file's front matter, which people and other programs write too: the fields
//! of a task, read leniently.

use adjutant_model::Task;
use adjutant_model::schema::NOT_BLANK;
use adjutant_model::task::TITLE_CHARS_MAX;
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use serde_json::{Map, Value, json};

const DESCRIPTION: &str =
    "The front matter of a task file. Fields that are not listed are kept as they are.";

const METADATA: &str = "Data of Adjutant and other programs about the task. A value that is \
    not as described counts as absent, except for time limits, budgets and checks, which must be \
    valid.";

/// The fields under `metadata` that must be valid.
const STRICT_METADATA: [&str; 3] = ["budgetUsd", "budgetTokens", "checks"];

/// Returns the schema of a task as it is written, without the parts that a reader does not check.
pub(super) fn front_matter_schema() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let generator = settings.with(|settings| settings.inline_subschemas = true).into_generator();
    let mut schema = generator.into_root_schema_for::<Task>();
    RecursiveTransform(super::without_null).transform(&mut schema);
    schema.insert("description".into(), DESCRIPTION.into());
    let fields = properties(schema.ensure_object());
    fields.shift_insert(0, "schemaVersion".into(), schema_version());
    fields["title"]["maxLength"] = TITLE_CHARS_MAX.into();
    fields["title"]["pattern"] = NOT_BLANK.into();
    allow_empty(&mut fields["dependsOn"]);
    if let Value::Object(routing) = &mut fields["routing"] {
        allow_empty(&mut properties(routing)["tags"]);
        require_only(routing, &[]);
    }
    if let Value::Object(lease) = &mut fields["lease"] {
        for field in ["renewCount", "attempt", "fence", "nonce"] {
            accept_anything(&mut properties(lease)[field]);
        }
        require_only(lease, &["agent", "acquiredAt", "expiresAt"]);
    }
    if let Value::Object(metadata) = &mut fields["metadata"] {
        loosen_metadata(metadata);
    }
    require_only(schema.ensure_object(), &["id", "title", "status"]);
    schema
}

fn schema_version() -> Value {
    json!({
        "description": "The version of the format: Adjutant writes 1, and reads 2 as well.",
        "type": "integer",
        "enum": [1, 2],
    })
}

fn loosen_metadata(metadata: &mut Map<String, Value>) {
    metadata.insert("description".into(), METADATA.into());
    let fields = properties(metadata);
    let others = fields.iter_mut().filter(|(name, _)| !STRICT_METADATA.contains(&name.as_str()));
    others.for_each(|(_, field)| accept_anything(field));
    fields["budgetUsd"]["minimum"] = 0.into();
    let timeout = "The time limit of a run; the default is that of the agent.";
    fields.insert("timeout".into(), time_limit(timeout));
    let idle = "How long a run may print and report nothing; the default is that of the agent.";
    fields.insert("idleTimeout".into(), time_limit(idle));
    require_only(metadata, &[]);
}

fn time_limit(meaning: &str) -> Value {
    json!({
        "description": format!(
            "{meaning} A duration like 30s, 5m or 1h30m, or whole seconds; `off` for no limit."
        ),
        "anyOf": [
            {"type": "integer", "minimum": 1},
            {"type": "string", "pattern": "^(off|(?=.*[1-9])([0-9]+(ms|s|m|h|d))+)$"},
        ],
    })
}

fn properties(object: &mut Map<String, Value>) -> &mut Map<String, Value> {
    object["properties"].as_object_mut().expect("a struct has properties")
}

fn allow_empty(list: &mut Value) {
    list.as_object_mut().and_then(|list| list.shift_remove("minItems"));
}

/// Leaves only the description.
fn accept_anything(field: &mut Value) {
    *field = json!({"description": field["description"]});
}

/// Makes the other fields optional. A field that is null is absent.
fn require_only(object: &mut Map<String, Value>, required: &[&str]) {
    object.insert("required".into(), required.into());
    for (name, field) in properties(object) {
        let description = field["description"].take();
        if !required.contains(&name.as_str()) && field != &json!({"description": null}) {
            field.as_object_mut().and_then(|field| field.shift_remove("description"));
            *field = json!({"anyOf": [field, {"type": "null"}]});
        }
        field["description"] = description;
    }
}
