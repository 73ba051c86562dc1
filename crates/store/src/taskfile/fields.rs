//! The fields of a task as they are in its front matter.

use adjutant_model::{Actor, Task};
use serde_json::{Map, Value, json};

use super::SCHEMA_VERSION;

/// The parts of the front matter whose fields are edited one by one.
const NESTED: [&str; 2] = ["routing", "metadata"];

/// The path of a field in the front matter, and its value; `None` removes the field.
pub(super) type FieldChange = (Vec<String>, Option<Value>);

/// Returns the whole front matter of a new file.
pub(super) fn front_matter(task: &Task) -> Map<String, Value> {
    let mut fields = Map::from_iter([("schemaVersion".to_owned(), SCHEMA_VERSION.into())]);
    fields.extend(object(task));
    fields
}

/// Returns the fields in which `after` differs from `before`, in the order a new file has them.
pub(super) fn changes(before: &Task, after: &Task) -> Vec<FieldChange> {
    // Most changes leave the metadata as it was, which is most of a task.
    let (mut was, will) = if has_same_metadata(before, after) {
        (object(&without_metadata(before)), object(&without_metadata(after)))
    } else {
        (object(before), object(after))
    };
    let mut changes = Vec::new();
    for (key, value) in will {
        let old = was.remove(&key);
        if old.as_ref() == Some(&value) {
            continue;
        }
        if NESTED.contains(&&*key) {
            nested_changes(&key, old, value, &mut changes);
        } else {
            changes.push((vec![key], Some(value)));
        }
    }
    for (key, value) in was {
        if NESTED.contains(&&*key) {
            nested_changes(&key, Some(value), json!({}), &mut changes);
        } else {
            changes.push((vec![key], None));
        }
    }
    changes
}

fn has_same_metadata(one: &Task, other: &Task) -> bool {
    one.review == other.review
        && one.depth == other.depth
        && one.last_run == other.last_run
        && one.reported_by == other.reported_by
        && one.reported_fence == other.reported_fence
        && one.feedback == other.feedback
        && one.history == other.history
        && one.origin == other.origin
}

fn without_metadata(task: &Task) -> Task {
    Task {
        title: task.title.clone(),
        state: task.state.clone(),
        priority: task.priority,
        updated_at: task.updated_at,
        last_transition_at: task.last_transition_at,
        created_by: task.created_by.clone(),
        routing: task.routing.clone(),
        parent: task.parent.clone(),
        depends_on: task.depends_on.clone(),
        resource: task.resource.clone(),
        due_by: task.due_by,
        ..Task::new(task.id.clone(), "", &Actor::System, task.created_at)
    }
}

fn nested_changes(parent: &str, was: Option<Value>, will: Value, changes: &mut Vec<FieldChange>) {
    let (mut was, will) = (into_object(was.unwrap_or_default()), into_object(will));
    for (key, value) in will {
        let old = was.remove(&key);
        if old.as_ref() != Some(&value) {
            changes.push((vec![parent.to_owned(), key], Some(value)));
        }
    }
    changes.extend(was.into_iter().map(|(key, _)| (vec![parent.to_owned(), key], None)));
}

fn object(task: &Task) -> Map<String, Value> {
    let mut fields = into_object(json!(task));
    // Documents come last in a file, because they are long.
    if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
        for key in ["mission", "delegation"] {
            if let Some(document) = metadata.shift_remove(key) {
                metadata.insert(key.to_owned(), document);
            }
        }
    }
    fields
}

fn into_object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
